"""What all tests share: how hard Hypothesis tries, the second layer, which skips count as failures, and fixtures."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from fastmetrics.base.plugin_files import LOADED, REGISTRIES
from fastmetrics.kernels.jit import sources
from fastmetrics.metrics.metric import REGISTRY
from fastmetrics.metrics.plugins import forget
from tests.support.goldens import Golden
from tests.support.loopback import Server, s3_server
from tests.support.optional_parts import ALLOWED, DATA, NEEDS
from tests.support.postgres import Database, Postgres, postgres_server
from tests.support.program import ENVIRONMENT, ROOT

# Hypothesis uses the same examples in every run; examples found by random runs are added with @example
settings.register_profile(
    "fastmetrics",
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
    database=None,
)
settings.register_profile(
    "random", settings.get_profile("fastmetrics"), max_examples=300, derandomize=False, print_blob=True
)
settings.register_profile("full", settings.get_profile("fastmetrics"), max_examples=80)
settings.register_profile("thorough", settings.get_profile("random"), max_examples=2000)

EXAMPLES = {"test_docs.py", "test_recipes.py", "test_shipped_rows.py"}
"""The files of tests that run the examples of pages, and score the rows that are shipped."""

LARGE = {"driver", "postgres_process", "s3_process"}
"""The fixtures that start a browser or a server; the tests that use them are of the second layer."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of continuous integration."""
    parser.addoption("--complete", action="store_true", help="fail where a test is skipped for want of a package")
    parser.addoption(
        "--golden", action="store_true", help="write the golden files anew, by the tests that compare them"
    )
    parser.addoption("--full", action="store_true", help="run the second layer of tests too")


class OwnDeclarations:
    """Metrics, tokenizers and model clients that a test or a docstring's example declares are gone when it ends."""

    @pytest.fixture(autouse=True)
    def forget_own_declarations(self) -> Iterator[None]:
        metrics = set(REGISTRY)
        declarations = {id(registry): dict(registry) for registry in REGISTRIES}
        yield
        for registry in REGISTRIES:
            # a registry that the test imported first was empty before
            before = declarations.get(id(registry), {})
            registry.clear()
            registry.update(before)
        for metric in [metric for name, metric in REGISTRY.items() if name not in metrics]:
            # those of the package itself are declared once, whichever test imports them
            if not metric.function.__module__.startswith("fastmetrics."):
                forget(metric)
                LOADED.pop(metric.function.__module__, None)


def pytest_configure(config: pytest.Config) -> None:
    """Fixtures for all items: those of a conftest.py serve its own folder, and examples in docstrings lie elsewhere.

    Hypothesis tries a few examples in the first layer and ten times as many in the second.
    """
    config.pluginmanager.register(OwnDeclarations())
    profile = "full" if config.option.full else "fastmetrics"
    settings.load_profile(os.environ.get("FASTMETRICS_HYPOTHESIS", profile))


WARM = """
import sys, tempfile
from pathlib import Path
import fastmetrics as fm
from bench.kernels import BENCHES, Rows
from fastmetrics.kernels.jit import sources
from fastmetrics.metrics.metric import REGISTRY
from tests.sources.test_shipped_rows import FILE, MEASURED
families = sorted({REGISTRY[name].function.__module__ for name in MEASURED})[int(sys.argv[1]) :: 2]
fm.score(FILE, [name for name in MEASURED if REGISTRY[name].function.__module__ in families], threads=1)
with tempfile.TemporaryDirectory() as folder:
    rows = Rows(24, Path(folder))
    for call in [call for calls in BENCHES.values() for call in calls.values()][int(sys.argv[1]) :: 2]:
        call(rows)
"""
"""Compiles the kernels of every other family of metrics and of every other benchmark, and leaves them on disk."""

MOST_KERNELS = 300
"""So many kernels are on disk after a run of all tests, or more."""


def cold() -> bool:
    """Whether most kernels of this source are to be compiled."""
    return sum(1 for _ in (ROOT / "fastmetrics").rglob(f"*.{sources()[:16]}-*.nbi")) < MOST_KERNELS


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before several processes run all tests, compile most kernels once, and not in each of them."""
    config = session.config
    several = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if several and config.args_source is pytest.Config.ArgsSource.TESTPATHS and cold():
        commands = [[sys.executable, "-c", WARM, half] for half in "01"]
        for running in [subprocess.Popen(command, env=ENVIRONMENT, cwd=ROOT) for command in commands]:
            assert running.wait(1800) == 0, "the kernels of the metrics cannot be compiled"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that use a fixture which needs an optional part are marked with it, and those of a server as ``full``.

    Those of the second layer are left out, unless they are asked for.  Examples in docstrings and pages have no notes
    on their rows.
    """
    for item in items:
        if item.path.name in EXAMPLES or isinstance(item, pytest.DoctestItem):
            item.add_marker(pytest.mark.filterwarnings("error::fastmetrics.ScoreWarning"))
        fixtures = set(getattr(item, "fixturenames", ()))
        for fixture in NEEDS.keys() & fixtures:
            item.add_marker(NEEDS[fixture])
        if LARGE & fixtures or (config.option.full and "full" in fixtures):
            item.add_marker(pytest.mark.full)
    if not config.option.full:
        large = [item for item in items if item.get_closest_marker("full") is not None]
        items[:] = [item for item in items if item not in large]
        config.hook.pytest_deselected(items=large)
    if config.option.golden:
        items[:] = [item for item in items if "golden" in getattr(item, "fixturenames", ())]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Docstrings of tests hold no examples: looking for some takes as long as all other collecting."""
    collectors = yield
    return [collector for collector in collectors if type(collector) is pytest.Module]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that collecting makes is garbage: looking for some takes a fifth of its time, and some of tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """With ``--complete``, a file that is skipped is an error."""
    report = yield
    _complete(collector.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With ``--complete``, a test that is skipped fails, unless what it needs cannot be installed."""
    report = yield
    _complete(item.config, report)
    return report


def _complete(config: pytest.Config, report: pytest.CollectReport | pytest.TestReport) -> None:
    if config.getoption("complete") and report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason not in ALLOWED:
            report.outcome, report.longrepr = "failed", f"skipped: {reason}"


@pytest.fixture
def hears_interrupts() -> Iterator[None]:
    """A process that hears interrupts, as do those it starts: a shell has what runs in its background ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the second layer runs too: then a test is as large as it can be."""
    return bool(request.config.option.full)


@pytest.fixture
def golden(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Golden:
    """The golden files of the test's room; the test runs in an empty folder, so that messages have no paths."""
    monkeypatch.chdir(tmp_path)
    return Golden(request.path.parent, tmp_path, request.config.option.golden)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real rows and other tools' numbers; tests that use it are skipped where there is none."""
    assert DATA is not None
    return DATA


@pytest.fixture(scope="session")
def s3_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real S3 server on this machine, for all tests."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_process() -> Iterator[Postgres]:
    """A real PostgreSQL server with pgvector, for all tests."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres(postgres_process: Postgres) -> Database:
    """An empty database of the server."""
    return postgres_process.new_database()


@pytest.fixture
def s3(s3_process: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    """The server where the usual chain of credentials leads to, and a cache folder that nobody else has."""
    for name, value in s3_process.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return s3_process
