"""What all tests share: how hard Hypothesis tries, what comes first, and where the evaluation data lies."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.loopback import Server, s3_server

# Hypothesis uses the same examples in every run; examples found by random runs are added with @example
settings.register_profile(
    "fastmetrics",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
    database=None,
)
settings.register_profile(
    "random", settings.get_profile("fastmetrics"), max_examples=300, derandomize=False, print_blob=True
)
settings.register_profile("brief", settings.get_profile("fastmetrics"), max_examples=8)
settings.register_profile("thorough", settings.get_profile("random"), max_examples=2000)
settings.load_profile(os.environ.get("FASTMETRICS_HYPOTHESIS", "fastmetrics"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files marked ``slow`` come first, so that of several processes none is left alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture
def hears_interrupts() -> Iterator[None]:
    """A process that hears interrupts, as do those it starts: a shell has what runs in its background ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real rows and other tools' numbers, where there is one."""
    if "FASTMETRICS_DATA" not in os.environ:
        pytest.skip("FASTMETRICS_DATA is not set")
    return Path(os.environ["FASTMETRICS_DATA"])


@pytest.fixture(scope="session")
def s3_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real S3 server on this machine, for all tests."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3(s3_process: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    """The server where the usual chain of credentials leads to, and a cache folder that nobody else has."""
    for name, value in s3_process.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return s3_process
