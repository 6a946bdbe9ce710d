"""Pages for tests marked `browser`. A browser lives as long as a test module: while Playwright's synchronous API is
up, its thread counts as running an event loop, which tests of asyncio elsewhere could not bear."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARTIFACTS = Path(__file__).parents[1] / "artifacts"  # git-ignored
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remembers a failure, so that the page's fixture can take a picture of it."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with chromium.browser() as browser:
        yield browser


@pytest.fixture
def page(chromium_browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A new page in a context of its own; a failed test leaves its picture in tests/artifacts/."""
    context = chromium_browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-US")
    context.set_default_timeout(15_000)
    page = context.new_page()
    yield page
    if request.node.stash.get(FAILED, False):
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / f"failed-{request.node.name}.png")
    context.close()


@pytest.fixture
def artifacts() -> Path:
    """The folder for pictures that tests take."""
    ARTIFACTS.mkdir(exist_ok=True)
    return ARTIFACTS
