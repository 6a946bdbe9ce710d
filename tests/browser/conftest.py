"""Pages for tests marked `browser`. A browser lives as long as a test module: while Playwright's synchronous API is
up, its thread counts as running an event loop, which tests of asyncio elsewhere could not bear."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import chromium
from tests.support.requirements import MISSING, required

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.lab import Lab

# These modules name Playwright's types: without it they cannot be imported, so they are left out, and the end of the
# run says so. Where browsers are required, the failing import stands.
UNUSABLE = MISSING["browser"]() if importlib.util.find_spec("playwright") is None else None
collect_ignore_glob = ["test_*.py"] if UNUSABLE and "browser" not in required() else []

ARTIFACTS = Path(__file__).parents[1] / "artifacts"  # git-ignored


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says why no test of this folder ran."""
    if collect_ignore_glob:
        terminalreporter.write_line(f"tests/browser left out: {UNUSABLE}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails leaves a picture of its page in tests/artifacts/."""
    report = yield
    page = getattr(item, "funcargs", {}).get("page")
    if report.failed and report.when == "call" and page is not None:
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / f"failed-{item.name}.png")
    return report


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with chromium.browser() as browser:
        yield browser


@pytest.fixture
def page(chromium_browser: Browser) -> Iterator[Page]:
    """A new page in a context of its own."""
    context = chromium_browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    context.set_default_timeout(15_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def artifacts() -> Path:
    """The folder for pictures that tests take."""
    ARTIFACTS.mkdir(exist_ok=True)
    return ARTIFACTS


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A running JupyterLab."""
    from tests.browser.lab import running_lab

    with running_lab() as lab:
        yield lab
