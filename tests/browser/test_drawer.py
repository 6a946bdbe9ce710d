"""The drawer under a row, in a real browser, fed by the Python side's own answers."""

from __future__ import annotations

import pytest

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.states import TaskStatus
from tests.browser.drawer import Past, answer_details, at, failed_past
from tests.browser.test_panel_view import CONTRAST, Panel, now, show
from tests.notebook.sample_tasks import running, task

pytestmark = pytest.mark.browser

S = TaskStatus
__all__ = ["show"]  # the fixture


def open_drawer(panel: Panel, past: Past, tab: str = "overview") -> None:
    """Opens the drawer of a task at a page."""
    panel.row(past.task.name).get_by_test_id("cmt-open").click()
    answer_details(panel.view, past)
    panel.text(f"cmt-tab-{tab}").click()
    panel.text(f"cmt-page-{tab}").wait_for()


def test_the_drawer_tells_what_is_known_of_a_task(show):
    """Facts, attempts, each transition, output and traceback; the rows below make room."""
    panel = show()
    below = panel.row("train model").bounding_box()["y"]
    open_drawer(panel, failed_past())
    facts = panel.text("cmt-facts").inner_text()
    for fact in (
        "etl.parse",
        "4712",
        "process",
        "etl-1:4711:1764502000:1",
        '{"args": ["xml"], "kwargs": {"strict": true}}',
    ):
        assert fact in facts
    drawer = panel.text("cmt-drawer").bounding_box()
    assert panel.row("train model").bounding_box()["y"] > below + 200
    assert drawer["y"] >= panel.row("parse xml/").bounding_box()["y"] + 27
    panel.text("cmt-tab-attempts").click()
    panel.text("cmt-page-attempts").wait_for()
    rows = panel.text("cmt-page-attempts").locator("tbody tr").all_inner_texts()
    assert len(rows) == 3
    assert "ValueError: bad header" in rows[0]
    assert "paused 1.5 s" in rows[1]
    panel.text("cmt-tab-history").click()
    newest = panel.text("cmt-page-history").locator("tbody tr").first.inner_text()
    for word in ("running", "failed", "retry:exhausted", "engine", "ValueError: bad header"):
        assert word in newest
    panel.text("cmt-tab-error").click()
    assert panel.text("cmt-trace").inner_text().startswith("Traceback (most recent call last)")


def test_output_follows_and_can_be_searched(show):
    """New lines are asked for from the last one; a reader at the end stays there; gaps are told."""
    past = failed_past()
    past.task = running(1, "parse json/2026-11-30", 24, now())
    panel = show()
    open_drawer(panel, past, "output")
    output = panel.text("cmt-output")
    assert "… 120 lines left out …" in output.inner_text()
    past.write(*[f"row {n}" for n in range(200)])
    request = answer_details(panel.view, past, 1)
    assert (request["after"], request["seen"] != "") == (125, True)
    output.get_by_text("row 199").wait_for()
    assert output.evaluate("e => e.scrollHeight - e.scrollTop - e.clientHeight") < 24
    output.evaluate("e => { e.scrollTop = 0; }")
    past.write("much later")
    answer_details(panel.view, past, 2)
    output.get_by_text("much later").wait_for(state="attached")
    assert output.evaluate("e => e.scrollTop") == 0
    panel.text("cmt-output-search").fill("ROW 19")
    panel.text("cmt-page-output").get_by_text("11 of 206 lines").wait_for()


def test_a_closed_drawer_asks_no_more(show, page):
    """And gives the keyboard back to its row."""
    page.clock.install()
    panel = show()
    open_drawer(panel, failed_past())
    page.keyboard.press("Escape")
    panel.text("cmt-drawer").wait_for(state="detached")
    assert "cmt-row" in page.evaluate("document.activeElement.className")
    asked = len(panel.view.sent())
    page.clock.run_for(30_000)
    assert [m["verb"] for m in panel.view.sent()[asked:] if m["verb"] == "details"] == []


def test_one_question_at_a_time_and_again_when_the_row_changes(show, page):
    """However often the table changes, and sooner than the clock would."""
    page.clock.install()
    past = failed_past()
    panel = show()
    open_drawer(panel, past)
    panel.change(past.task._replace(status=S.QUEUED, attempt=3, ended_at=None))
    page.clock.run_for(3_000)
    details = [m for m in panel.view.sent() if m["verb"] == "details"]
    assert len(details) == 2  # the second is not answered yet
    page.clock.run_for(21_000)  # it was lost: the next
    assert len([m for m in panel.view.sent() if m["verb"] == "details"]) == 3


def test_keys_open_walk_and_close_the_drawer(show, page):
    """Enter on a row; arrows between the pages; Escape closes, and what is typed in it stays in it."""
    past = failed_past()
    panel = show()
    panel.row("parse xml/").focus()
    page.keyboard.press("Enter")
    answer_details(panel.view, past)
    panel.text("cmt-tab-overview").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    panel.text("cmt-page-history").wait_for()
    assert page.evaluate("document.activeElement.dataset.testid") == "cmt-tab-history"
    assert panel.text("cmt-tab-history").get_attribute("aria-selected") == "true"
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    panel.text("cmt-output-search").focus()
    page.keyboard.type("row d d ")
    assert panel.text("cmt-output-search").input_value() == "row d d "
    page.keyboard.press("Escape")
    page.wait_for_function("document.querySelector('[data-testid=cmt-output-search]').value === ''")
    page.keyboard.press("Escape")
    panel.text("cmt-drawer").wait_for(state="detached")


def test_a_status_is_set_by_hand_with_a_reason(show, page):
    """Without one nothing is sent; a refusal is told below."""
    past = failed_past()
    panel = show()
    open_drawer(panel, past)
    panel.text("cmt-by-hand").click()
    panel.text("cmt-by-hand-to").select_option("skipped")
    panel.text("cmt-by-hand-set").click(force=True)
    assert panel.requests() == []
    panel.text("cmt-by-hand-reason").fill("the file is empty on purpose")
    page.keyboard.press("Enter")
    sent = panel.wait_request()
    assert sent["verb"] == "force_transition"
    assert (sent["task"], sent["to"], sent["reason"]) == (past.task.task_id, "skipped", "the file is empty on purpose")
    panel.view.deliver({"kind": "answer", "id": sent["id"], "ok": False, "error": "it was pruned", "results": []})
    panel.text("cmt-notice").get_by_text("it was pruned").wait_for()


def test_a_failure_is_copied_whole(show, page):
    """Also where the browser knows no clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel = show()
    open_drawer(panel, failed_past(), "error")
    panel.text("cmt-copy-error").click()
    panel.text("cmt-notice").get_by_text("copied").wait_for()
    assert "raise ValueError" in page.evaluate("navigator.clipboard.readText()")


HOSTILE = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script>\u202edesrever\u2066 "


def test_hostile_texts_are_shown_as_text_and_cut(show, page):
    """Markup, marks that turn the reading direction, and 100 kB: the layout stays."""
    past = failed_past()
    huge = HOSTILE + "x" * 100_000
    failure = Failure(FailureKind.EXCEPTION, huge, traceback=huge, exception_type="builtins.ValueError")
    past.task = past.task._replace(inputs={"args": [huge]}, outcome=huge, owner=HOSTILE, failure=failure)
    past.tries = [each._replace(failure=failure, note=huge) for each in past.tries]
    past.trail = [each._replace(actor=HOSTILE, reason=huge) for each in past.trail]
    past.write(huge, HOSTILE, "\x1b[31mred\x1b[0m")
    panel = show()
    title = page.title()
    open_drawer(panel, past)
    for tab in ("overview", "attempts", "history", "output", "error"):
        panel.text(f"cmt-tab-{tab}").click()
        shown = panel.text(f"cmt-page-{tab}").inner_text()
        assert "<img src=x onerror=" in shown, tab
        assert "characters left out" in shown, tab
        assert panel.page.locator("#view img, #view script").count() == 0
        assert panel.text("cmt-drawer").bounding_box()["height"] < 270
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), tab
    assert page.title() == title


def test_the_drawer_stays_in_place_when_rows_move(show, page):
    """What somebody reads does not slip away under the rows that come."""
    tasks = [running(n, f"part {n:03}", 1_000 + n, now()) for n in range(100)]
    panel = show(tasks)
    panel.page.locator(".cmt-body").evaluate("body => { body.scrollTop = 1000; }")
    panel.row("part 040").wait_for()
    open_drawer(panel, Past(tasks[40]))
    page.mouse.move(1, 1)
    before = panel.text("cmt-drawer").bounding_box()
    panel.change(*[running(200 + n, f"new {n}", n, now()) for n in range(10)])
    page.wait_for_function("document.querySelector('.cmt-body').scrollTop === 1280")
    assert panel.text("cmt-drawer").bounding_box() == before


def test_a_kernel_that_cannot_tell_says_why(show):
    """The drawer shows the error, and goes on asking."""
    panel = show()
    panel.row("parse xml/").locator(".cmt-col-status").click()
    panel.page.wait_for_function("window.sent.some(m => m.verb === 'details')")
    request = next(m for m in panel.view.sent() if m["verb"] == "details")
    panel.view.deliver({"kind": "answer", "id": request["id"], "ok": False, "error": "no such task", "results": []})
    panel.text("cmt-drawer").get_by_text("no such task").wait_for()


def test_why_a_task_waits_is_told_first(show):
    """The limit that is full."""
    past = Past(task(15, "parse csv/ part 7", created_at=at(0)), full=["tag db (4/4)"])
    panel = show()
    open_drawer(panel, past)
    assert "waits for tag db (4/4)" in panel.text("cmt-facts").inner_text()


def test_rows_in_sight_say_why_they_wait(show, page, artifacts):
    """Asked for them alone, one question at a time, and no more when none waits."""
    page.clock.install()
    page.set_viewport_size({"width": 700, "height": 640})
    tasks = [task(n, f"part {n:04}") for n in range(5_000)]
    panel = show([running(6_000, "left behind", 9, now(), abandoned=True), *tasks])
    page.clock.run_for(1_000)
    asked = [m for m in panel.view.sent() if m["verb"] == "waits"]
    assert len(asked) == 1
    assert len(asked[0]["ids"]) < 40
    first, second = asked[0]["ids"][:2]
    body = {first: {"limits": ["tag db (4/4)"]}, second: {"after": ["extract", "<b>load</b>"], "more": 2}}
    panel.view.deliver({"kind": "answer", "id": asked[0]["id"], "ok": True, "error": None, "results": [], "body": body})
    page.clock.run_for(100)
    page.locator(".cmt-body").get_by_text("waits for tag db (4/4)").wait_for()
    page.locator(".cmt-body").get_by_text("after extract, <b>load</b> and 2 more").wait_for()
    page.screenshot(path=artifacts / "waits.png")
    page.clock.run_for(3_000)
    assert len([m for m in panel.view.sent() if m["verb"] == "waits"]) == 2


def test_nothing_is_asked_when_no_row_waits(show, page):
    """A table at rest costs the kernel nothing."""
    page.clock.install()
    panel = show([running(1, "a", 5, now())])
    page.clock.run_for(9_000)
    assert [m for m in panel.view.sent() if m["verb"] == "waits"] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [700, 1100])
def test_every_page_is_readable_at_any_width(show, page, theme, width, artifacts):
    """In both themes, at least 4.5 : 1; and leaves pictures to look at."""
    page.set_viewport_size({"width": width, "height": 860})
    past = failed_past()
    panel = show(theme=theme)
    open_drawer(panel, past)
    panel.text("cmt-by-hand").click()
    worst = {}
    for tab in ("overview", "attempts", "history", "output", "error"):
        panel.text(f"cmt-tab-{tab}").click()
        panel.text(f"cmt-page-{tab}").wait_for()
        page.screenshot(path=artifacts / f"drawer-{tab}-{theme}-{width}.png")
        worst.update({f"{tab} {key}": ratio for key, ratio in page.evaluate(CONTRAST).items()})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert {key: ratio for key, ratio in worst.items() if ratio < 4.5} == {}
