"""What a timeline of ten thousand attempts costs in a real Chromium: opening it, and panning at several scales.

make bench ARGS="-k timeline -s"      prints the figures
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.harness import open_view
from tests.browser.timeline import STATIC, TimelinePage, crowd
from tests.support import chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

ATTEMPTS = 10_000


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with chromium.browser() as browser:
        yield browser


@pytest.fixture
def timeline(chromium_browser: Browser) -> Iterator[TimelinePage]:
    """A page that waits for its tasks."""
    page = chromium_browser.new_page(viewport={"width": 1100, "height": 700})
    view = open_view(page, STATIC / "timeline.js", STATIC / "timeline.css", {"saved": {}})
    yield TimelinePage(view, crowd(ATTEMPTS))
    page.close()


def bench_timeline_of_ten_thousand_attempts(timeline: TimelinePage, benchmark: Any) -> None:
    """All pages to the screen; then to and fro at each scale."""
    began = time.perf_counter()
    timeline.reset()
    timeline.shows(ATTEMPTS)
    print(f"\nall {ATTEMPTS:,} attempts to screen {1000 * (time.perf_counter() - began):5.0f} ms")
    for zoom in range(7):
        if zoom > 0:
            timeline.text("cmt-zoom-in").click()
        frames, drawing = timeline.pan()
        print(f"panning at zoom {zoom}: a frame {_shown(frames)}, of it drawing {_shown(drawing)}")
    assert timeline.view.errors == []
    benchmark.pedantic(timeline.pan, rounds=2)


def _shown(times: list[float]) -> str:
    return f"{statistics.median(times):5.1f} ms (p95 {statistics.quantiles(times, n=20)[-1]:5.1f})"
