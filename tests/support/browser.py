"""Chromium without a window, driven as a reader would: pages, what they complain of, and what they ask for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from tests.support.optional_parts import CHROMIUM, DRIVER

_FLAGS = (
    "headless=new no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
    "disable-component-update disable-sync disable-dev-shm-usage"
)


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """A browser that keeps what pages complain of and ask for."""
    assert CHROMIUM, "Chromium is not installed: apt-get install chromium chromium-driver"
    assert DRIVER, "chromedriver is not installed: apt-get install chromium-driver"
    options = Options()
    options.binary_location = CHROMIUM
    for flag in _FLAGS.split():
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def width(driver: webdriver.Chrome, pixels: int) -> None:
    """Show pages as on a screen of this width."""
    size = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": pixels < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def visible_texts(driver: webdriver.Chrome, selector: str) -> list[str]:
    """The texts of all elements that a selector names, read at one moment: a page may draw its rows again meanwhile."""
    script = "return [...document.querySelectorAll(arguments[0])].map((element) => element.innerText)"
    return driver.execute_script(script, selector)


def complaints(driver: webdriver.Chrome) -> list[str]:
    """What the console holds since it was asked last."""
    return [entry["message"] for entry in driver.get_log("browser")]  # type: ignore[no-untyped-call]


def requests(driver: webdriver.Chrome, page: Path) -> list[str]:
    """What was asked for beside the page itself since this was asked last."""
    log = driver.get_log("performance")  # type: ignore[no-untyped-call]
    sent: list[Any] = [json.loads(entry["message"])["message"] for entry in log]
    urls = [message["params"]["request"]["url"] for message in sent if message["method"] == "Network.requestWillBeSent"]
    return [url for url in urls if not url.startswith((page.as_uri(), "data:", "blob:"))]
