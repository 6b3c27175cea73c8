"""The browser that reads the reports."""

from collections.abc import Iterator

import pytest

from tests.support.browser import browser, width


@pytest.fixture(scope="module")
def driver() -> Iterator[object]:
    """A headless Chromium with a window of 1,280 pixels; where there is none, the tests are skipped."""
    with browser() as window:
        width(window, 1280)
        yield window
