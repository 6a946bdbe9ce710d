"""Rules for every test: needs are met or told (`tests/support/requirements.py`), nothing is left behind
(`tests/support/leaks.py`)."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator

import pytest

from tests.support import postgres
from tests.support.leaks import held, leaks
from tests.support.requirements import MISSING, required


def pytest_configure(config: pytest.Config) -> None:
    required()  # a misspelt name is told before the first test
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A job in the background inherits an ignored interrupt, and its children would: tests press Ctrl-C in both.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test whose need is not met."""
    for name, missing in MISSING.items():
        if item.get_closest_marker(name) and (reason := missing()):
            pytest.skip(f"{name}: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a skip into a failure where the run says that this kind of test is required."""
    report = yield
    needs = sorted(name for name in required() if item.get_closest_marker(name))
    if report.skipped and needs and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"required in this run ({', '.join(needs)}), yet skipped: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def nothing_is_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a thread, a child process or many file descriptors behind."""
    before = held()
    yield
    found = leaks(before, check_threads=request.node.get_closest_marker("abandons_threads") is None)
    assert not found, f"left behind by {request.node.name}: {'; '.join(found)}"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The DSN of a server that lives as long as the run."""
    with postgres.cluster() as dsn:
        yield dsn


@pytest.fixture
def postgres_dsn(postgres_server: str) -> Iterator[str]:
    """The DSN of an empty schema of this test's own. Mark the test `postgres`."""
    with postgres.schema(postgres_server) as dsn:
        yield dsn
