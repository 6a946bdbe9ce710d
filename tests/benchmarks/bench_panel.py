"""What a panel costs: a hundred thousand rows in a real Chromium, and two thousand changes a second in the kernel.

make bench ARGS="-k panel -s"      prints the figures
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.notebook.feed import Feed
from chongming_task.notebook.panel import Panel
from tests.browser.harness import View, open_view
from tests.notebook.sample_tasks import FakeController, ended, running, task
from tests.support import chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

STATIC = Path(__file__).parents[2] / "src" / "chongming_task" / "notebook" / "static"
ROWS = 100_000
CHANGES = 2_000  # a second
SECONDS = 10
S = TaskStatus

# Each runs in the page and gives milliseconds: from the call to the second frame, when the first has been painted.
PAINTED = "const painted = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));"
FIRST = f"""async () => {{ {PAINTED}
  const began = performance.now();
  window.deliver(window.messages[0]);
  await painted();
  return performance.now() - began;
}}"""
ALL = f"""async () => {{ {PAINTED}
  const began = performance.now();
  for (const message of window.messages.slice(1)) window.deliver(message);
  await painted();
  return performance.now() - began;
}}"""
ACT = f"""async act => {{ {PAINTED}
  const began = performance.now();
  new Function(act)();
  await painted();
  return performance.now() - began;
}}"""
SCROLL = """async frames => {
  const body = document.querySelector('.cmt-body');
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let frame = 0; frame < frames; frame += 1) {
    body.scrollTop += frame % 40 === 0 ? 40000 : 160;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  return times;
}"""
FILTER = """
  const box = document.querySelector('.cmt-search');
  box.value = %s;
  box.dispatchEvent(new Event('input', { bubbles: true }));
"""
SORT = "document.querySelectorAll('.cmt-sort')[%d].click();"


def many(rows: int) -> list[TaskSnapshot]:
    """Half done, a few that run or failed, the rest in the queue."""
    now = datetime.now(UTC)
    kinds = [
        lambda n: ended(n, f"load part {n}", S.SUCCEEDED, n % 4000, now),
        lambda n: task(n, f"parse part {n}", tags=frozenset({"parse"})),
    ]
    few = [
        lambda n: running(n, f"crunch part {n}", 24, now, progress=Progress(n % 97, 100, "rows", None, now)),
        lambda n: ended(n, f"read part {n}", S.FAILED, n % 4000, now),
    ]
    return [few[n % 2](n) if n % 1000 < 2 else kinds[n % 2](n) for n in range(rows)]


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with chromium.browser() as browser:
        yield browser


@pytest.fixture
def large(chromium_browser: Browser) -> Iterator[View]:
    """A page that has the messages of a large table, and has been given none."""
    page = chromium_browser.new_page(viewport={"width": 1100, "height": 700})
    view = open_view(page, STATIC / "panel.js", STATIC / "panel.css", {"saved": {}})
    now_ms = time.time_ns() // 1_000_000
    feed = Feed("nightly-etl", now_ms)
    feed.absorb(many(ROWS))
    cursor = feed.open()
    messages = [cursor.reset(now_ms)]
    while (patch := cursor.patch(now_ms)) is not None:
        messages.append(patch)
    for start in range(0, len(messages), 20):
        page.evaluate(
            "text => { window.messages = [...(window.messages ?? []), ...JSON.parse(text)]; }",
            json.dumps(messages[start : start + 20]),
        )
    yield view
    page.close()


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def bench_panel_of_a_hundred_thousand_rows(large: View, benchmark: Any) -> None:
    """First paint, all pages, scrolling, filter and sort."""
    page = large.page
    first = page.evaluate(FIRST)
    rest = page.evaluate(ALL)
    frames = page.evaluate(SCROLL, 300)
    page.evaluate("document.querySelector('.cmt-body').scrollTop = 0")
    acts = {
        "filter by text": [FILTER % json.dumps(f"part {n}") for n in (7, 77, 777, 7777)],
        "filter taken away": [FILTER % '""'],
        "filter by a chip": ["document.querySelectorAll('.cmt-chip')[3].click();"] * 4,
        "sort by name": [SORT % 1] * 3,
        "sort by time": [SORT % 4] * 3,
    }
    print(f"\nfirst message to screen    {first:7.0f} ms")
    print(f"all {ROWS:,} rows to screen {rest:7.0f} ms")
    print(f"scrolling, p95 of a frame  {_p95(frames):7.1f} ms (median {statistics.median(frames):.1f})")
    for name, scripts in acts.items():
        times = [page.evaluate(ACT, script) for script in scripts]
        print(f"{name:26s} {max(times):7.0f} ms at most of {len(times)}")
    assert large.errors == []
    benchmark.pedantic(lambda: page.evaluate(ACT, SORT % 1), rounds=4)


class Counted(Panel):
    """A panel that counts what it sends."""

    def deliver(self, message: dict[str, Any]) -> None:
        """Through JSON, as a comm does."""
        sent.append((time.monotonic(), message["kind"], len(json.dumps(message, separators=(",", ":")))))


sent: list[tuple[float, str, int]] = []


def bench_panel_under_two_thousand_changes_a_second(benchmark: Any) -> None:
    """Messages a second, bytes a row, and processor time of the thread that sends."""
    controller = FakeController(many(5_000))
    panel = Counted(controller)
    panel._handle_custom_msg({"id": "v-0", "verb": "hello"}, [])
    while not sent:
        time.sleep(0.01)
    time.sleep(4.0)  # the pages of the table
    thread = next(each for each in threading.enumerate() if each.name == "chongming-pump")
    sent.clear()

    def seconds_of_the_pump() -> float:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))

    def changes() -> None:
        began, before = time.monotonic(), seconds_of_the_pump()
        numbers = count()
        now = datetime.now(UTC)
        pongs = count(1)
        while (passed := time.monotonic() - began) < SECONDS:
            batch = []
            for _ in range(CHANGES // 100):
                n = next(numbers)
                batch.append(
                    running(n % 5_000, f"part {n % 5_000}", 24, now, progress=Progress(n, 10**6, "rows", None, now))
                )
            for tap in controller.taps:
                tap(batch)
            if int(passed) % 5 == 0:
                panel._handle_custom_msg({"id": f"p-{next(pongs)}", "verb": "pong"}, [])
            time.sleep(max(began + next(numbers) / CHANGES - time.monotonic(), 0.0))
        share = (seconds_of_the_pump() - before) / (time.monotonic() - began)
        patches = [size for _, kind, size in sent if kind == "patch"]
        most = max(sum(at <= other < at + 1 for other, _, _ in sent) for at, _, _ in sent)
        told = next(numbers)
        print(f"\n{told / SECONDS:,.0f} changes/s: {len(sent) / SECONDS:.1f} messages/s, at most {most} in a second")
        print(f"processor time of the sender {share:.1%} of a core; {sum(patches) / told:.0f} bytes a change")

    benchmark.pedantic(changes, rounds=1)
    panel.close()
