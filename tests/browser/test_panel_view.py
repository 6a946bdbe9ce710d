"""The panel in a real browser, fed by the Python side's own messages: what it shows, and what clicks and keys send."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import RequestedAction, TaskStatus
from chongming_task.notebook.feed import Feed
from tests.browser.harness import View, open_view
from tests.notebook.sample_tasks import ended, one_of_each, running, task

pytestmark = pytest.mark.browser

STATIC = Path(__file__).parents[2] / "src" / "chongming_task" / "notebook" / "static"
S = TaskStatus
SIGNALS = ["hello", "resync", "pong", "details", "waits"]  # what a view says and asks on its own, without a click


class Panel:
    """A mounted view, and the kernel's side of it."""

    def __init__(self, view: View, tasks: list[TaskSnapshot]) -> None:
        self.view = view
        self.page = view.page
        self.feed = Feed("nightly-etl", _now_ms())
        self.feed.absorb(tasks)
        self.cursor = self.feed.open()

    def reset(self) -> None:
        """Answers the view's hello."""
        self.view.deliver(self.cursor.reset(_now_ms()))
        while (message := self.cursor.patch(_now_ms())) is not None:
            self.view.deliver(message)
        self.root("live").wait_for()

    def change(self, *tasks: TaskSnapshot) -> None:
        """Tells the view what changed."""
        self.feed.absorb(tasks)
        message = self.cursor.patch(_now_ms())
        assert message is not None
        self.view.deliver(message)

    def root(self, life: str) -> Any:
        """The panel, in that state of its line to the kernel."""
        return self.page.locator(f"[data-testid=cmt-panel][data-life={life}]")

    def row(self, name: str) -> Any:
        """The row of a task, by what its name begins with."""
        return self.page.get_by_test_id("cmt-row").filter(
            has=self.page.locator(".cmt-name", has_text=re.compile("^" + re.escape(name)))
        )

    def names(self) -> list[str]:
        """The names of the rows that exist, from top to bottom."""
        rows = self.page.get_by_test_id("cmt-row").all()
        placed = [(row.bounding_box()["y"], row.locator(".cmt-name").inner_text()) for row in rows]
        return [name for _, name in sorted(placed)]

    def act(self, name: str, verb: str) -> Any:
        """A button of a row."""
        return self.row(name).get_by_test_id(f"cmt-act-{verb}")

    def requests(self) -> list[dict[str, Any]]:
        """What was sent for a click or a key: everything but the view's own signals and questions."""
        return [m for m in self.view.sent() if m["verb"] not in SIGNALS]

    def wait_requests(self, count: int) -> list[dict[str, Any]]:
        """All of them, when there are so many."""
        enough = "([signals, count]) => window.sent.filter(m => !signals.includes(m.verb)).length >= count"
        self.page.wait_for_function(enough, arg=[SIGNALS, count])
        return self.requests()

    def wait_request(self) -> dict[str, Any]:
        """The first of them, when it has been sent."""
        return self.wait_requests(1)[0]

    def answer(self, request: dict[str, Any], refused: dict[str, str] | None = None) -> None:
        """Answers a request; `refused` gives reasons by task id."""
        reasons = refused or {}
        results = [
            {"task": each, "ok": each not in reasons, "acted": each not in reasons, "error": reasons.get(each)}
            for each in request["ids"]
        ]
        self.view.deliver({"kind": "answer", "id": request["id"], "ok": True, "error": None, "results": results})

    def text(self, test_id: str) -> Any:
        """An element by its test id."""
        return self.page.get_by_test_id(test_id)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


Show = Callable[..., Panel]


@pytest.fixture
def show(page) -> Iterator[Show]:
    """Opens a panel of tasks, live; ends with a look whether the page raised anything."""
    opened: list[Panel] = []

    def show(tasks: list[TaskSnapshot] | None = None, *, live: bool = True, **options: Any) -> Panel:
        options.setdefault("theme", "light")
        state = options.pop("state", {"saved": {}})
        view = open_view(page, STATIC / "panel.js", STATIC / "panel.css", state, **options)
        panel = Panel(view, one_of_each(datetime.now(UTC)) if tasks is None else tasks)
        if live:
            panel.reset()
        opened.append(panel)
        return panel

    yield show
    for panel in opened:
        assert panel.view.errors == []


def now() -> datetime:
    """The kernel's present."""
    return datetime.now(UTC)


def test_every_kind_of_row_says_what_it_is(show):
    """Status by word, not by colour alone; the default order; failures, losses and counts."""
    panel = show()
    assert panel.names()[:5] == [
        "warm up", "load <img src=x onerror=alert(1)> & <b>bold</b>", "parse http/", "parse json/2026-11-30",
        "parse audio/",
    ]  # fmt: skip
    cells = {name: panel.row(name).locator(".cmt-col-status").inner_text() for name in panel.names()[:13]}
    assert cells["parse http/"] == "pausing…"
    assert re.fullmatch(r"stopping…( \d s)?", cells["parse email/"])
    assert re.fullmatch(r"cancelling…( \d s)?", cells["parse audio/"])
    assert cells["parse xml/"] == "failed"
    assert "still running in the background" in panel.row("parse idle/").inner_text()
    assert "ValueError: bad header in <b>file</b> 3" in panel.row("parse xml/").inner_text()
    assert "72%" in panel.row("parse json/").inner_text()
    assert panel.text("cmt-summary").inner_text().startswith("5/27 done")
    assert panel.text("cmt-chip-failed").inner_text().split() == ["Failed", "2"]
    assert panel.row("parse json/").get_attribute("data-status") == "running"


def test_markup_in_texts_is_shown_as_text(show):
    """Nothing of it becomes an element, and nothing of it runs."""
    panel = show()
    name = panel.row("load <img").locator(".cmt-name")
    assert name.inner_text() == "load <img src=x onerror=alert(1)> & <b>bold</b>"
    assert panel.page.locator("#view img, #view b:has-text('bold'), #view i").count() == 0


def test_a_click_is_sent_shown_as_waiting_and_then_answered(show):
    """Until the kernel has answered, the row says that it waits; its status does not change before that is true."""
    panel = show()
    panel.act("parse json/", "pause").click()
    request = panel.wait_request()
    assert request == {"id": request["id"], "verb": "pause", "ids": [task(1, "").task_id], "args": {}}
    waiting = panel.row("parse json/").get_by_text("waiting for the kernel")
    waiting.wait_for()
    assert panel.row("parse json/").get_attribute("data-status") == "running"
    panel.act("parse json/", "pause").click()  # impatience sends nothing twice
    paused = running(1, "parse json/2026-11-30", 24, now(), status=S.PAUSING, requested_action=RequestedAction.PAUSE)
    panel.change(paused)
    panel.answer(request)
    waiting.wait_for(state="detached")
    panel.row("parse json/").get_by_text("pausing…").wait_for()
    assert len(panel.requests()) == 1
    assert panel.text("cmt-notice").inner_text() == ""


def test_a_change_of_mind_is_sent_before_the_first_word_is_answered(show):
    """A stop must never be swallowed because the answer to a resume is still on its way."""
    panel = show()
    panel.act("parse json/", "pause").click()
    request = panel.wait_request()
    panel.act("parse json/", "stop").click()
    assert [sent["verb"] for sent in panel.wait_requests(2)] == ["pause", "stop"]
    panel.answer(request)  # the second still waits, and is shown to
    panel.row("parse json/").get_by_text("waiting for the kernel").wait_for()


def test_a_refused_verb_tells_its_reason_below(show):
    """The kernel's own words."""
    panel = show()
    panel.act("parse json/", "stop").click()
    request = panel.wait_request()
    panel.answer(request, {request["ids"][0]: "cannot stop 'parse json/': it is succeeded"})
    panel.text("cmt-notice").get_by_text("cannot stop 'parse json/': it is succeeded").wait_for()


def test_what_the_table_refuses_is_not_sent(show):
    """The button says why: as a tooltip, to screen readers, and below when it is pressed all the same."""
    panel = show([ended(1, "finished", S.SUCCEEDED, 5, now())])
    pause = panel.act("finished", "pause")
    assert (pause.get_attribute("aria-disabled"), pause.get_attribute("title")) == ("true", "cannot pause: done")
    assert pause.get_attribute("aria-label") == "Pause finished"
    pause.click(force=True)
    panel.text("cmt-notice").get_by_text("finished: cannot pause: done").wait_for()
    assert panel.requests() == []


def test_a_pause_offers_to_resume(show):
    """Also one that has not come true yet."""
    panel = show()
    for name in ("parse http/", "held at a checkpoint"):
        assert panel.act(name, "resume").get_attribute("aria-disabled") == "false"
    panel.act("parse http/", "resume").click()
    assert panel.wait_request()["verb"] == "resume"


def test_a_retry_past_the_last_try_is_forced_and_a_second_copy_is_asked_for(show):
    """A click on a failed row is asking enough; running two copies at once is not taken for granted."""
    panel = show()
    panel.act("parse xml/", "retry").click()
    assert panel.wait_request()["args"] == {"force": True}
    panel.act("parse idle/", "retry").click()
    question = panel.text("cmt-question")
    question.get_by_text("still runs in the background. Run a second copy beside it?").wait_for()
    assert len(panel.requests()) == 1
    panel.text("cmt-keep").click()
    question.wait_for(state="detached")
    panel.act("parse idle/", "retry").click()
    panel.text("cmt-confirm").click()
    _, second = panel.wait_requests(2)
    assert second["args"] == {"force": True}


def test_a_stop_without_grace_is_asked_first(show):
    """It may end in a lost task."""
    panel = show()
    panel.act("parse email/", "stop").click()
    panel.text("cmt-question").get_by_text("Stop parse email/ at once?").wait_for()
    panel.text("cmt-confirm").click()
    assert panel.wait_request()["args"] == {"graceful": False}


def test_several_are_stopped_after_one_question(show):
    """What cannot be stopped is said before, what happened afterwards; no browser dialog appears."""
    panel = show()
    panel.page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    for name in ("parse json/", "held at a checkpoint", "parse xml/"):
        panel.row(name).get_by_role("checkbox").check()
    panel.text("cmt-selection").get_by_text("3 selected").wait_for()
    panel.text("cmt-bulk-stop").click()
    panel.text("cmt-question").get_by_text("Stop 2 tasks? 1 cannot be stopped.").wait_for()
    assert panel.requests() == []
    panel.text("cmt-confirm").click()
    request = panel.wait_request()
    assert len(request["ids"]) == 2
    stopping = {"status": S.STOPPING, "requested_action": RequestedAction.STOP}
    panel.change(running(1, "parse json/2026-11-30", 24, now(), **stopping))
    held = next(each for each in request["ids"] if each != task(1, "").task_id)
    panel.answer(request, {held: "its owner is gone"})
    panel.text("cmt-notice").get_by_text("1 stopping, 1 refused (its owner is gone)").wait_for()
    panel.text("cmt-selection").wait_for(state="detached")


def test_chips_and_text_filter(show):
    """And a way back from nothing."""
    panel = show()
    panel.text("cmt-chip-failed").click()
    panel.row("parse json/").wait_for(state="detached")
    assert panel.names() == ["parse xml/", "train model"]
    assert panel.text("cmt-chip-failed").get_attribute("aria-pressed") == "true"
    panel.text("cmt-search").fill("清洗")
    panel.text("cmt-no-match").get_by_role("button").click()
    panel.row("清洗").wait_for()
    assert panel.text("cmt-search").input_value() == ""
    panel.text("cmt-search").fill("db")  # a tag
    panel.row("train model").wait_for(state="detached")
    assert panel.names() == ["parse json/2026-11-30"]


def test_headers_sort_one_way_the_other_and_back(show):
    """The direction is told to screen readers as well."""
    tasks = [running(n, name, 10 * n, now()) for n, name in ((1, "b 10"), (2, "a"), (3, "b 9"))]
    panel = show(tasks)
    name, header = panel.text("cmt-sort-name"), panel.page.get_by_role("columnheader", name="name")
    orders = []
    for direction in ("ascending", "descending", "none"):
        name.click()
        panel.page.locator(f".cmt-col-name[aria-sort={direction}]").wait_for()
        orders.append(panel.names())
        assert header.get_attribute("aria-sort") == direction
    assert orders == [["a", "b 9", "b 10"], ["b 10", "b 9", "a"], ["b 10", "a", "b 9"]]


def test_the_order_stands_still_under_the_pointer(show):
    """A row does not slip away under a click; its cells change all the same, and the order follows later."""
    panel = show([running(1, "first", 5, now()), running(2, "second", 9, now())])
    panel.row("first").hover()
    panel.change(ended(1, "first", S.SUCCEEDED, 0, now()))
    panel.row("first").get_by_text("done").wait_for()
    assert panel.names() == ["first", "second"]
    panel.text("cmt-fresh").get_by_text("order held under the pointer").wait_for()
    panel.page.mouse.move(1, 1)
    panel.page.wait_for_function(
        "[...document.querySelectorAll('[data-testid=cmt-row]')].find(r => r.dataset.status === 'running')"
        ".getBoundingClientRect().y < document.querySelector('[data-status=succeeded]').getBoundingClientRect().y"
    )
    assert panel.names() == ["second", "first"]


def test_a_gap_asks_for_everything_again(show):
    """A message that was lost on its way does not leave the view wrong."""
    panel = show([running(1, "a", 5, now()), task(2, "b")])
    panel.feed.absorb([ended(1, "a", S.FAILED, 0, now())])
    panel.cursor.patch(_now_ms())  # lost
    panel.change(running(2, "b", 0, now()))
    panel.page.wait_for_function("window.sent.some(m => m.verb === 'resync')")
    panel.view.deliver(panel.cursor.reset(_now_ms()))
    panel.row("a").get_by_text("failed").wait_for()
    panel.row("b").get_by_text("running").wait_for()


def test_pings_are_answered(show):
    """So that the kernel goes on sending."""
    panel = show()
    panel.view.deliver({"kind": "ping"})
    panel.page.wait_for_function("window.sent.some(m => m.verb === 'pong')")


def test_clocks_tick_in_the_browser(show, page):
    """Without a message from the kernel, on the kernel's clock whatever the browser's says."""
    page.clock.install(time=datetime(2030, 1, 1, tzinfo=UTC))
    panel = show([running(1, "a", 61, now())])
    assert panel.row("a").locator(".cmt-col-time").inner_text() == "1:01"
    page.clock.run_for(4_000)
    panel.row("a").get_by_text("1:05").wait_for()


def test_a_paused_clock_stands_still(show, page):
    """And tells the whole time when the task goes on, with a tooltip that the pause is in it."""
    page.clock.install(time=datetime(2030, 1, 1, tzinfo=UTC))
    at_work = running(1, "a", 61, now())
    panel = show([at_work])
    panel.change(at_work._replace(status=S.PAUSED))
    time_cell = panel.row("a").locator(".cmt-col-time")
    panel.row("a").get_by_text("paused").wait_for()
    page.clock.run_for(30_000)
    assert re.fullmatch(r"1:0[12]", time_cell.inner_text())
    assert time_cell.get_attribute("title") == "stands still while the task is paused"
    panel.change(at_work)
    panel.row("a").get_by_text("running").wait_for()
    assert time_cell.get_attribute("title") == "since its start, incl. pause"
    assert re.fullmatch(r"1:3\d", time_cell.inner_text())


def test_short_tasks_say_how_short(show):
    """Tenths once the time stands, whole seconds while it runs."""
    panel = show(
        [ended(1, "a", S.SUCCEEDED, 9, now(), started_at=now() - timedelta(seconds=9.42)), running(2, "b", 3, now())]
    )
    assert re.fullmatch(r"0\.4 s", panel.row("a").locator(".cmt-col-time").inner_text())
    assert re.fullmatch(r"\d s", panel.row("b").locator(".cmt-col-time").inner_text())


@pytest.mark.parametrize(
    ("width", "message"), [(700, "bad header, no 'id'"), (1100, "bad header in part 3, expected 'id'")]
)
def test_a_failure_takes_the_room_that_a_short_name_leaves(show, page, width, message):
    """Up to the next column; a text that fits its column stays in line with the others; a long name keeps its place."""
    page.set_viewport_size({"width": width, "height": 640})
    why = Failure(FailureKind.EXCEPTION, message, exception_type="builtins.ValueError")
    panel = show(
        [
            ended(1, "a", S.FAILED, 5, now(), failure=why),
            ended(2, "b", S.FAILED, 5, now(), failure=Failure(FailureKind.LOST, "gone")),
            ended(3, "c" * 200, S.FAILED, 5, now(), failure=why),
            running(4, "d", 5, now(), progress=Progress(50, 100)),
        ]
    )

    def box(name: str, column: str) -> Any:
        return panel.row(name).locator(f".cmt-col-{column}").bounding_box()

    told = panel.row("a").locator(".cmt-words")
    assert told.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert told.get_attribute("title") == f"ValueError: {message}"
    for name in "abc":
        for column in ("status", "name", "try", "time", "actions"):
            assert abs(box(name, column)["x"] - box("d", column)["x"]) < 1, (name, column)
    for name in "bc":
        assert abs(box(name, "progress")["x"] - box("d", "progress")["x"]) < 1
    assert box("a", "progress")["x"] < box("d", "progress")["x"]


def test_the_lines_of_header_and_rows_end_alike(show):
    """No gutter stands open where nothing scrolls; a scrollbar goes on below the header's own ground."""
    panel = show([task(n, f"part {n}") for n in range(3)])
    measure = "[...document.querySelectorAll('.cmt-titles, .cmt-body')].map(e => getComputedStyle(e).scrollbarGutter)"
    assert panel.page.evaluate(measure) == ["auto", "auto"]
    panel.change(*[task(n, f"part {n}") for n in range(3, 40)])
    panel.page.wait_for_function(f"{measure}.join() === 'stable,stable'")
    grounds = "[...document.querySelectorAll('.cmt-titles, .cmt-body')].map(e => getComputedStyle(e).backgroundColor)"
    assert len(set(panel.page.evaluate(grounds))) == 1


def test_an_earlier_worker_that_still_runs_is_told_whatever_the_status(show):
    """A retry that runs beside the attempt that was given up: in words where there is room, else as a tooltip."""
    beside = "an earlier worker still runs in the background"
    half = Progress(50, 100, None, None, now())
    panel = show([running(1, "a", 5, now(), abandoned=True), running(2, "b", 5, now(), abandoned=True, progress=half)])
    assert panel.row("a").locator(".cmt-col-progress").inner_text() == beside
    assert panel.row("b").locator(".cmt-progress").get_attribute("title") == f"50/100 · 10/s · {beside}"
    for name in ("a", "b"):
        assert panel.row(name).locator(".cmt-status").get_attribute("title") == beside
        assert panel.row(name).get_by_test_id("cmt-abandoned").get_attribute("aria-label") == beside


def test_a_stopped_task_says_how_far_it_came(show):
    """The reason that repeats its status is a tooltip."""
    came = Progress(7, 1_914, "files", None, now())
    why = Failure(FailureKind.CANCELLED, "stopped at a checkpoint")
    panel = show([ended(1, "a", S.STOPPED, 5, now(), progress=came, failure=why)])
    cell = panel.row("a").locator(".cmt-col-progress")
    assert cell.inner_text() == "7/1,914 files"
    assert cell.locator("[title]").get_attribute("title") == "7/1,914 files · stopped at a checkpoint"


def test_bars_show_what_their_percentages_say(show):
    """At once: a transition lags behind reports that come eight times a second."""
    panel = show([running(1, "a", 5, now(), progress=Progress(10, 100))])
    panel.row("a").get_by_text("10%").wait_for()
    panel.change(running(1, "a", 5, now(), progress=Progress(90, 100)))
    panel.page.wait_for_function("document.querySelector('.cmt-percent').textContent === '90%'")
    part = panel.page.evaluate(
        "document.querySelector('.cmt-fill').offsetWidth / document.querySelector('.cmt-meter').offsetWidth"
    )
    assert part == pytest.approx(0.9, abs=0.02)
    moving = (
        "[...document.querySelectorAll('.cmt-panel *')].filter(e => getComputedStyle(e).transitionDuration !== '0s')"
    )
    assert panel.page.evaluate(f"{moving}.length") == 0


def test_a_silent_kernel_is_called_gone_and_buttons_say_so(show, page):
    """After its pings stayed away and a call was not answered."""
    page.clock.install()
    panel = show()
    page.clock.run_for(50_000)
    panel.text("cmt-gone").wait_for()
    minutes, seconds = panel.row("parse json/").locator(".cmt-col-time").inner_text().split(":")
    assert 23 <= int(minutes) * 60 + int(seconds) < 40  # not the minute that went by
    assert re.fullmatch(r"Kernel gone: last known state, \d\d:\d\d", panel.text("cmt-gone").inner_text())
    assert panel.act("parse json/", "pause").get_attribute("title") == "the kernel is gone"
    assert {m["verb"] for m in panel.view.sent()[1:]} - {"waits"} == {"hello"}
    panel.reset()
    panel.text("cmt-gone").wait_for(state="detached")


def test_a_saved_notebook_shows_its_last_known_table(show, page):
    """Without a kernel: the rows of the saved state, their clocks standing still, and since when."""
    page.clock.install()
    then = now() - timedelta(days=2)
    saved = Feed("nightly-etl", round(then.timestamp() * 1000))
    saved.absorb(one_of_each(then))
    panel = show(live=False, state={"saved": saved.saved_table(saved.epoch_ms)})
    panel.row("parse json/").wait_for()
    page.clock.run_for(20_000)
    panel.text("cmt-gone").wait_for()
    assert re.search(r"last known state, \d{4}-\d\d-\d\d \d\d:\d\d", panel.text("cmt-gone").inner_text())
    assert panel.row("parse json/").locator(".cmt-col-time").inner_text() == "0:24"
    assert panel.text("cmt-summary").inner_text() == "5/27 done"  # no pace, no time left: nobody knows


def test_a_view_that_cannot_be_heard_yet_follows_the_saved_table(show):
    """A kernel that runs a cell may hear no hello; the trait still arrives."""
    panel = show([running(1, "a", 5, now())], live=False)
    panel.view.set(saved=panel.feed.saved_table(_now_ms()))
    panel.row("a").get_by_text("running").wait_for()
    panel.feed.absorb([ended(1, "a", S.FAILED, 0, now())])
    panel.view.set(saved=panel.feed.saved_table(_now_ms()))
    panel.row("a").get_by_text("failed").wait_for()
    assert "waiting for the kernel" in panel.text("cmt-fresh").inner_text()


def test_an_empty_table_says_how_to_begin(show):
    """And a filter that leaves nothing says that."""
    panel = show([])
    assert panel.text("cmt-empty").inner_text() == "No tasks yet. controller.submit(my_task) starts one."
    panel.change(task(1, "a"))
    panel.row("a").wait_for()
    assert panel.text("cmt-empty").count() == 0


def test_keys_reach_everything_and_nothing_leaks_to_the_front_end(show):
    """One row is a tab stop; arrows walk, space selects; plain keys never reach JupyterLab's shortcuts."""
    panel = show()
    page = panel.page
    page.evaluate(
        "window.leaked = []; document.addEventListener('keydown', e => window.leaked.push(e.key), { capture: true })"
    )
    panel.text("cmt-search").focus()
    for _ in range(7):  # the box that selects all, then five titles that sort, then the rows
        page.keyboard.press("Tab")
    focused = "document.activeElement.dataset.taskId"
    assert page.evaluate(focused) == task(8, "").task_id
    page.keyboard.press("ArrowDown")
    page.wait_for_function(f"{focused} === {task(5, '').task_id!r}")
    page.keyboard.press("Space")
    panel.text("cmt-selection").wait_for()
    for key in ("d", "d", "x"):
        page.keyboard.press(key)
    page.keyboard.press("End")
    last = page.locator("[data-testid=cmt-row]:focus")
    last.get_by_text("skipped").wait_for()
    assert last.bounding_box()["y"] < page.get_by_test_id("cmt-notice").bounding_box()["y"]
    page.keyboard.press("Escape")
    panel.text("cmt-selection").wait_for(state="detached")
    page.keyboard.press("Home")
    page.wait_for_function(f"{focused} === {task(8, '').task_id!r}")
    for _ in range(4):  # its box, its details, then pause, then stop
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert panel.wait_request()["verb"] == "stop"
    page.keyboard.press("Control+s")
    assert page.evaluate("window.leaked") == ["Control", "s"]


def test_a_question_takes_the_keyboard_and_gives_it_back(show):
    """Escape is a no."""
    panel = show()
    panel.act("parse email/", "stop").focus()
    panel.page.keyboard.press("Enter")
    panel.text("cmt-question").wait_for()
    assert panel.page.evaluate("document.activeElement.dataset.testid") == "cmt-keep"
    panel.page.keyboard.press("Escape")
    panel.text("cmt-question").wait_for(state="detached")
    assert panel.page.evaluate("document.activeElement.dataset.testid") == "cmt-act-stop"
    panel.row("parse json/").get_by_role("checkbox").check()
    panel.row("parse http/").get_by_role("checkbox").check()
    panel.text("cmt-bulk-stop").focus()
    panel.page.keyboard.press("Enter")  # this button makes room for the question
    panel.text("cmt-question").wait_for()
    panel.page.keyboard.press("Escape")
    panel.text("cmt-question").wait_for(state="detached")
    assert panel.page.evaluate("document.activeElement.dataset.testid") == "cmt-row"
    assert panel.requests() == []


def test_only_rows_in_sight_exist_and_any_can_be_scrolled_to(show):
    """Twenty thousand rows, thirty elements."""
    panel = show([task(n, f"part {n:05}") for n in range(20_000)])
    assert panel.page.get_by_test_id("cmt-row").count() < 40
    panel.text("cmt-sort-name").click()
    panel.row("part 00000").wait_for()
    body = panel.page.locator(".cmt-body")
    body.evaluate("body => { body.scrollTop = body.scrollHeight; }")
    panel.row("part 19999").wait_for()
    assert panel.page.get_by_role("grid").get_attribute("aria-rowcount") == "20001"
    assert panel.row("part 19999").get_attribute("aria-rowindex") == "20001"
    assert panel.row("part 19999").bounding_box()["height"] == 28


def test_a_busy_table_does_not_lose_focus_or_scroll(show):
    """Patches arrive all the time; what the reader does must survive them."""
    tasks = [running(n, f"part {n:03}", n, now()) for n in range(200)]
    panel = show(tasks)
    panel.text("cmt-sort-name").click()
    panel.row("part 000").wait_for()
    panel.page.locator(".cmt-body").evaluate("body => { body.scrollTop = 1400; }")
    panel.act("part 055", "stop").focus()
    for done in range(20):
        panel.change(*[running(n, f"part {n:03}", n, now(), progress=Progress(done, 20)) for n in range(200)])
    panel.row("part 055").get_by_text("95%").wait_for()
    focused = "document.activeElement.closest('[data-testid=cmt-row]').dataset.taskId"
    assert panel.page.evaluate(focused) == task(55, "").task_id
    assert panel.page.locator(".cmt-body").evaluate("body => body.scrollTop") == 1400


def test_a_closed_view_cleans_up(show, page):
    """Its elements, its timers and its listeners: it answers nothing and asks for nothing any more."""
    page.clock.install()
    panel = show()
    panel.view.close()
    assert panel.page.locator("#view *").count() == 0
    sent = panel.view.sent()
    assert {m["verb"] for m in sent} - {"waits"} == {"hello"}
    panel.view.deliver({"kind": "ping"})
    page.clock.run_for(60_000)  # an open view asks again what tasks wait for, and whether the kernel is still there
    assert panel.view.sent() == sent


CONTRAST = """() => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const part = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = {};
  for (const element of document.querySelectorAll('.cmt-panel *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const style = getComputedStyle(element);
    if (!own || element.closest('.cmt-hidden') || element.closest('[aria-disabled=true]')) continue;
    const [a, b] = [light(rgba(style.color)), light(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const key = `${element.className} ${element.parentElement.className}`;
    if (!(key in found) || found[key] > ratio) found[key] = Math.round(ratio * 100) / 100;
  }
  return found;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_in_both_themes(show, theme, artifacts):
    """At least 4.5 : 1 for every text there is: plain, selected, hovered, in questions, notices and placeholders."""
    panel = show(theme=theme)
    panel.row("parse xml/").get_by_role("checkbox").check()
    panel.row("parse http/").get_by_role("checkbox").check()
    panel.row("parse idle/").hover()
    worst = {}
    worst.update(panel.page.evaluate(CONTRAST))
    panel.text("cmt-bulk-stop").click()
    panel.text("cmt-question").wait_for()
    worst.update({f"asked {key}": ratio for key, ratio in panel.page.evaluate(CONTRAST).items()})
    panel.text("cmt-keep").click()
    panel.text("cmt-bulk-resume").click()
    panel.text("cmt-confirm").click()
    request = panel.wait_request()
    panel.answer(request, {request["ids"][0]: "refused"})
    panel.text("cmt-notice").get_by_text("refused").wait_for()
    worst.update({f"told {key}": ratio for key, ratio in panel.page.evaluate(CONTRAST).items()})
    assert len(worst) > 40
    assert {key: ratio for key, ratio in worst.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 700, 1100])
def test_nothing_overflows_at_any_width(show, page, theme, width, artifacts):
    """And leaves a picture to look at."""
    page.set_viewport_size({"width": width, "height": 640})
    panel = show(theme=theme)
    panel.row("warm up").wait_for()
    page.screenshot(path=artifacts / f"panel-{theme}-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator(".cmt-body").evaluate("body => body.scrollWidth <= body.clientWidth")
    for title in ("status", "name", "progress", "try", "time"):
        head = page.locator(f".cmt-titles .cmt-col-{title}").bounding_box()
        cell = panel.row("warm up").locator(f".cmt-col-{title}").bounding_box()
        assert abs(head["x"] - cell["x"]) < 1, title


def test_the_themes_follow_jupyterlab(show):
    """Also when it is switched while the panel is open."""
    panel = show()
    read = "getComputedStyle(document.querySelector('.cmt-title')).color"
    light = panel.page.evaluate(read)
    panel.view.theme("dark")
    panel.page.wait_for_function(f"{read} !== {light!r}")


def test_what_may_be_behind_is_not_called_up_to_date(show, artifacts):
    """The store's trouble is said above the rows for as long as it lasts; rows go on changing under it."""
    panel = show()
    assert panel.text("cmt-fresh").inner_text() == "up to date"
    panel.feed.trouble = "3 changes wait: the store has failed since 12:03:07 UTC (disk full)"
    panel.view.deliver(panel.cursor.patch(_now_ms()))
    panel.text("cmt-trouble").wait_for()
    assert panel.text("cmt-trouble").inner_text().startswith("This may be behind: 3 changes wait: the store has failed")
    assert panel.text("cmt-fresh").inner_text() == "may be behind"
    panel.page.screenshot(path=artifacts / "panel-trouble.png")
    panel.reset()
    panel.text("cmt-trouble").wait_for()
    panel.feed.trouble = None
    panel.view.deliver(panel.cursor.patch(_now_ms()))
    panel.text("cmt-trouble").wait_for(state="detached")
    assert panel.text("cmt-fresh").inner_text() == "up to date"
