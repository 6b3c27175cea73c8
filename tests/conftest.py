"""What all tests share: how hard Hypothesis tries, and where the evaluation data lies."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fastmetrics",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("thorough", settings.get_profile("fastmetrics"), max_examples=2000)
settings.load_profile(os.environ.get("FASTMETRICS_HYPOTHESIS", "fastmetrics"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real rows and other tools' numbers, where there is one."""
    if "FASTMETRICS_DATA" not in os.environ:
        pytest.skip("FASTMETRICS_DATA is not set")
    return Path(os.environ["FASTMETRICS_DATA"])
