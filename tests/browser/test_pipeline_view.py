"""The graph of a run in a real browser, fed by the Python side's own messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import expect

from chongming_task.core.records import Progress
from chongming_task.core.states import RequestedAction, TaskStatus
from chongming_task.notebook.details import details_of
from chongming_task.notebook.run_feed import Standing
from tests.browser.drawer import failed_past
from tests.browser.harness import open_view
from tests.browser.pipeline import STATIC, Graph, Show
from tests.browser.test_accessibility import AXE, RUN
from tests.browser.test_panel_view import CONTRAST
from tests.notebook.sample_runs import at_work, chain, finished, half_way, id_of, map_tasks, ran, record, tangled, wide
from tests.notebook.sample_tasks import ago

pytestmark = pytest.mark.browser

S = TaskStatus
RUNNING = Standing("running")


@pytest.fixture
def show(page) -> Iterator[Show]:
    """Opens a graph of records, live; ends with a look whether the page raised anything."""
    opened: list[Graph] = []

    def show(tasks: list[Any] | None = None, standing: Standing = RUNNING, **options: Any) -> Graph:
        state = {"saved": {}, **options.pop("state", {})}
        live = options.pop("live", True)
        options.setdefault("theme", "light")
        view = open_view(page, STATIC / "pipeline.js", STATIC / "pipeline.css", state, **options)
        graph = Graph(view, half_way(datetime.now(UTC)) if tasks is None else tasks, standing)
        opened.append(graph)
        if live:
            graph.reset()
        return graph

    yield show
    for graph in opened:
        assert graph.view.errors == []


def boxes(graph: Graph) -> dict[str, Any]:
    """Where each box is on the screen."""
    return {key: graph.unit(key).bounding_box() for key in graph.units()}


def tell_details(graph: Graph) -> None:
    """Answers the newest request for details with the past of a task that failed."""
    graph.page.wait_for_function("window.sent.some(m => m.verb === 'details')")
    request = [m for m in graph.view.sent() if m["verb"] == "details"][-1]
    past = failed_past()
    graph.answer(request, details_of(past, past.task.task_id, seen="", after=0))


# ---- what it shows


def test_nodes_stand_from_left_to_right_and_say_how_they_are(show):
    """By word and glyph, not by colour alone; names are text."""
    graph = show()
    places = boxes(graph)
    assert len(places) == 12
    for above, below in (("extract orders", "clean"), ("clean", "load"), ("load", "report"), ("report", "发送日报")):
        assert places[above]["x"] + places[above]["width"] < places[below]["x"]
    assert graph.unit("clean").get_attribute("aria-label") == "clean 1:04 done"
    failed = graph.unit("extract <b>prices</b>").get_attribute("aria-label")
    assert failed.startswith("extract <b>prices</b> 0:12 failed · ValueError: bad header in <b>file</b> 3")
    assert re.fullmatch(r"train forecast 1:3\d 72% running", graph.unit("train forecast").get_attribute("aria-label"))
    assert "running · reading part 3" in graph.unit("profile").inner_text()
    assert "cancelled · upstream" in graph.unit("convert currencies").inner_text()
    assert graph.page.locator(".cmt-edge").count() == 14
    assert graph.page.locator(".cmt-edge.cmt-broken").count() == 2  # to what the failed node has blocked
    expect(graph.text("cmt-run-status")).to_have_text("running")
    expect(graph.text("cmt-summary")).to_contain_text("315/492 done")
    assert graph.page.locator("b", has_text="prices").count() == 1  # of the line that tells what failed


def test_a_map_is_one_stack_with_counts_that_hold_while_its_tasks_still_come(show):
    """Counted by the kernel; and it opens as a list, what failed first."""
    graph = show([], live=False)
    graph.feed.absorb(
        [ran("a", 300, 1), record("load", after=["a"]), *map_tasks("load", {S.SUCCEEDED: 4_000, S.FAILED: 3})]
    )
    graph.view.deliver(graph.cursor.reset(1))
    expect(graph.unit("load")).to_contain_text("×4,003")
    expect(graph.unit("load")).to_contain_text("4,000 done, 3 failed")
    graph.unit("load").click()
    expect(graph.text("cmt-members")).to_contain_text("more to come")
    graph.catch_up()
    expect(graph.text("cmt-members")).not_to_contain_text("more to come")
    rows = graph.text("cmt-member")
    assert rows.count() < 30
    assert [row.get_attribute("data-status") for row in rows.all()[:4]] == ["failed", "failed", "failed", "succeeded"]
    graph.change(ran("load[7]", 3, 1, status=S.LOST))
    expect(graph.unit("load")).to_contain_text("3,999 done, 3 failed, 1 lost")
    assert sorted(row.get_attribute("data-status") for row in rows.all()[:4]) == ["failed"] * 3 + ["lost"]


def test_a_map_has_a_record_of_its_own(show):
    """Its details and buttons, beside the list of its tasks."""
    graph = show()
    graph.unit("load").click()
    graph.text("cmt-own-record").click()
    expect(graph.text("cmt-chosen")).to_contain_text("load")
    expect(graph.text("cmt-chosen")).to_have_attribute("data-status", "blocked")
    graph.text("cmt-drawer-close").click()
    expect(graph.text("cmt-own-record")).to_be_focused()
    graph.text("cmt-member-open").first.click()
    expect(graph.text("cmt-chosen")).to_have_count(0)  # its line is in the list


def test_the_graph_grows_and_moves_with_the_run(show):
    """New nodes, a node that turns out to be a map, progress, a request that waits."""
    graph = show([ran("a", 300, 1), record("b", S.QUEUED, ["a"], queued_at=ago(1))])
    assert graph.units() == ["a", "b"]
    now = datetime.now(UTC)
    graph.change(at_work("b", 2, ["a"], now, progress=Progress(1, 4, None, None, now)), record("c", after=["b"]))
    expect(graph.unit("b")).to_contain_text("25%")
    expect(graph.unit("c")).to_contain_text("blocked")
    asked = at_work("b", 2, ["a"], now, requested_action=RequestedAction.PAUSE, status=S.PAUSING)
    graph.change(asked, *map_tasks("c", {S.QUEUED: 3}))
    expect(graph.unit("b")).to_contain_text("pausing…")
    expect(graph.unit("c")).to_contain_text("×3")


def test_the_critical_path_of_a_finished_run_can_be_lit(show):
    """Not while it runs."""
    graph = show(finished(datetime.now(UTC)), Standing("succeeded"))
    graph.text("cmt-critical").click()
    expect(graph.text("cmt-critical")).to_have_attribute("aria-pressed", "true")
    expect(graph.text("cmt-critical")).to_contain_text("2:55")
    lit = graph.page.locator(".cmt-unit.cmt-lit").evaluate_all("all => all.map(e => e.dataset.unit)")
    assert set(lit) == {"extract", "train", "evaluate", "report"}
    assert graph.page.locator(".cmt-edge.cmt-lit").count() == 3
    graph.change(at_work("report", 1, ["load", "evaluate"]))
    expect(graph.text("cmt-critical")).to_have_count(0)
    assert graph.page.locator(".cmt-lit").count() == 0


# ---- when it went wrong


def test_what_failed_is_found_shown_and_run_again(show):
    """At two in the morning: the first failure and why, its traceback in one click, all of it again in another."""
    graph = show(wide(60, 4, datetime.now(UTC)), Standing("failed"))
    trouble = graph.text("cmt-trouble")
    expect(trouble).to_contain_text("part 30 step 1")
    expect(trouble).to_contain_text("ValueError: bad header in <b>file</b> 3")
    expect(trouble).to_contain_text("3 nodes after it did not run")
    graph.text("cmt-show-trouble").click()
    tell_details(graph)
    expect(graph.text("cmt-trace")).to_contain_text("raise ValueError")
    open_row = graph.page.locator(".cmt-member.cmt-open")
    expect(open_row).to_contain_text("part 30 step 1")
    graph.text("cmt-run-retry_failed").click()
    request = graph.wait_request()
    assert (request["verb"], request["do"]) == ("run", "retry_failed")
    expect(graph.text("cmt-run-retry_failed")).to_have_attribute("aria-busy", "true")
    graph.change(standing=RUNNING)
    graph.answer(request, {"again": 4})
    expect(graph.text("cmt-notice")).to_have_text("4 tasks run again")
    expect(graph.text("cmt-run-status")).to_have_text("running")
    graph.change(at_work("part 30 step 1", 1, ["part 30 step 0"]))
    expect(trouble).to_have_count(0)


def test_the_failures_are_gone_through_one_by_one(show):
    """A task of a map in the list of its map."""
    graph = show()
    seen = []
    for place in range(1, 5):
        graph.text("cmt-show-trouble").click()
        expect(graph.text("cmt-show-trouble")).to_have_text("Next")
        expect(graph.text("cmt-trouble")).to_contain_text(f"{place} of 4")
        seen.append(graph.text("cmt-trouble").locator("b").inner_text())
    assert seen[0] == "extract <b>prices</b>"
    assert sorted(seen[1:]) == ["load[312]", "load[313]", "load[314]"]
    assert graph.page.locator(".cmt-member.cmt-open").inner_text().split("\n")[1] == seen[3]


def test_a_failed_node_is_retried_by_its_own_button(show):
    """With what it needs: all its tries are used."""
    graph = show()
    graph.unit("extract <b>prices</b>").click()
    graph.text("cmt-chosen").get_by_test_id("cmt-act-retry").click()
    request = graph.wait_request()
    assert (request["verb"], request["ids"]) == ("retry", [id_of("extract <b>prices</b>")])
    assert request["args"] == {"force": True}
    expect(graph.unit("extract <b>prices</b>")).to_contain_text("waiting for the kernel")


# ---- the run as a whole


def test_a_stop_is_asked_about_and_a_pause_is_not(show):
    """The buttons follow what is asked of the run."""
    graph = show()
    graph.text("cmt-run-pause").click()
    request = graph.wait_request()
    assert (request["verb"], request["do"]) == ("run", "pause")
    graph.change(standing=Standing("running", paused=True))
    graph.answer(request, {"again": None})
    expect(graph.text("cmt-run-status")).to_have_text("pausing…")
    graph.text("cmt-run-resume").click()
    graph.answer(graph.wait_request(1), error="this controller is closed; make a new one")
    expect(graph.text("cmt-notice")).to_have_text("this controller is closed; make a new one")
    graph.text("cmt-run-stop").click()
    expect(graph.text("cmt-question")).to_contain_text("Stop the whole run? Not ended yet: 171 tasks.")
    graph.page.keyboard.press("Escape")
    expect(graph.text("cmt-question")).to_have_count(0)
    assert len(graph.requests()) == 2
    graph.text("cmt-run-stop").click()
    graph.text("cmt-confirm").click()
    assert graph.wait_request(2)["do"] == "stop"
    graph.change(standing=Standing("stopping"))
    expect(graph.text("cmt-run-status")).to_have_text("stopping…")
    expect(graph.text("cmt-run-stop")).to_have_count(0)


def test_a_run_of_another_process_is_steered_by_its_nodes(show):
    """There is no status of the whole to show; the verbs go to the tasks, and are asked about."""
    graph = show(standing=Standing())
    assert graph.text("cmt-run-status").count() == 0
    graph.text("cmt-run-retry_failed").click()
    expect(graph.text("cmt-question")).to_contain_text("Retry 4 tasks?")
    graph.text("cmt-confirm").click()
    request = graph.wait_request()
    assert (request["verb"], len(request["ids"])) == ("retry", 4)


# ---- large ones


def test_a_long_chain_and_many_branches_become_a_few_stacks(show):
    """Counts are of all; a stack can be unfolded and folded again."""
    graph = show(chain(1_000, datetime.now(UTC)))
    assert len(graph.units()) == 6
    assert "166 done, 1 running" in "".join(graph.text("cmt-unit").all_inner_texts())
    expect(graph.text("cmt-summary")).to_contain_text("333/1,000 done")
    graph.text("cmt-unit").first.click()
    expect(graph.text("cmt-members")).to_contain_text("×167")
    graph.text("cmt-unfold").click()
    expect(graph.text("cmt-unit")).to_have_count(173)
    graph.text("cmt-fold-again").click()
    expect(graph.text("cmt-unit")).to_have_count(6)


@pytest.mark.parametrize("tasks", [tangled(20, 15), chain(6_000), wide(100, 3)], ids=["tangled", "6000", "wide"])
def test_however_large_it_is_drawn_soon(show, tasks):
    """And says what is left out."""
    graph = show(tasks, Standing("succeeded"))
    assert 0 < len(graph.units()) <= 60
    left = graph.text("cmt-left-out")
    if len(tasks) == 6_000:
        expect(left).to_have_text("3,000 of 6,000 nodes are not drawn")
        expect(graph.text("cmt-summary")).to_contain_text("2,000/6,000 done")
    else:
        expect(left).to_have_count(0)


# ---- the keyboard, and what is seen


def test_arrows_walk_and_enter_opens(show):
    """The keyboard comes back to the box; what is walked to is seen."""
    graph = show()
    page = graph.page
    graph.unit("extract orders").focus()
    page.keyboard.press("ArrowRight")
    expect(graph.unit("clean")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("End")
    expect(graph.unit("发送日报")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(graph.text("cmt-drawer")).to_be_visible()
    page.keyboard.press("Escape")
    expect(graph.text("cmt-drawer")).to_have_count(0)
    graph.unit("load").focus()
    page.keyboard.press("Enter")
    graph.text("cmt-member-open").first.focus()
    page.keyboard.press("ArrowDown")
    expect(graph.text("cmt-member-open").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(graph.text("cmt-drawer")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(graph.text("cmt-members")).to_have_count(0)
    expect(graph.unit("load")).to_be_focused()
    stops = page.locator("[data-testid=cmt-unit][tabindex='0']")
    expect(stops).to_have_count(1)


def test_it_is_zoomed_and_moved_and_fits_again(show):
    """By buttons, keys, Ctrl and the wheel, and the pointer; a plain wheel is the page's."""
    graph = show()
    page = graph.page
    box = graph.unit("clean").bounding_box()
    graph.text("cmt-zoom-plus").click()
    page.wait_for_function(
        f"document.querySelector('[data-unit=clean]').getBoundingClientRect().width > {box['width'] * 1.2}"
    )
    graph.unit("clean").focus()
    page.keyboard.press("0")
    page.wait_for_function(
        f"document.querySelector('[data-unit=clean]').getBoundingClientRect().width < {box['width'] + 1}"
    )
    canvas = graph.text("cmt-canvas").bounding_box()
    empty = (canvas["x"] + 8, canvas["y"] + canvas["height"] - 6)
    page.mouse.move(*empty)
    page.mouse.down()
    page.mouse.move(empty[0] + 60, empty[1] - 20)
    page.mouse.up()
    page.wait_for_function(f"document.querySelector('[data-unit=clean]').getBoundingClientRect().x > {box['x'] + 57}")
    moved = graph.unit("clean").bounding_box()
    assert moved["x"] == pytest.approx(box["x"] + 60, abs=2)
    assert moved["y"] == pytest.approx(box["y"] - 20, abs=2)
    page.mouse.wheel(0, 200)
    assert graph.unit("clean").bounding_box()["width"] == pytest.approx(moved["width"])
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function(
        f"document.querySelector('[data-unit=clean]').getBoundingClientRect().width > {moved['width'] + 9}"
    )


def test_all_of_it_is_seen_on_opening(show, page):
    """At any width; nothing sticks out."""
    for width in (480, 700, 1100):
        page.set_viewport_size({"width": width, "height": 900})
        graph = show()
        canvas = graph.text("cmt-canvas").bounding_box()
        for box in boxes(graph).values():
            assert canvas["x"] <= box["x"]
            assert box["x"] + box["width"] <= canvas["x"] + canvas["width"]
            assert canvas["y"] <= box["y"]
            assert box["y"] + box["height"] <= canvas["y"] + canvas["height"]
        for part in ("cmt-zoom-frame", "cmt-summary", "cmt-show-trouble"):
            box = graph.text(part).bounding_box()
            assert box["x"] + box["width"] <= canvas["x"] + canvas["width"], part
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


# ---- without a kernel, in other languages, for everybody


def test_a_saved_graph_is_shown_without_a_kernel(show):
    """As it was last known; what its rows do not tell is not made up; nothing can be asked."""
    graph = show(live=False)
    state = graph.feed.saved_table(1)
    graph.view.set(saved=state)
    expect(graph.unit("clean")).to_contain_text("done")
    expect(graph.unit("load")).to_contain_text("×480")
    graph.unit("load").click()
    expect(graph.text("cmt-members")).to_contain_text("more to come")


def test_it_speaks_chinese(show):
    """All of it."""
    graph = show(state={"language": "zh"})
    expect(graph.text("cmt-run-pause")).to_have_text("暂停")
    expect(graph.text("cmt-run-retry_failed")).to_have_text("重试失败")
    expect(graph.unit("load")).to_contain_text("312 成功, 3 失败")
    expect(graph.text("cmt-trouble")).to_contain_text("其后 2 个节点未运行")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_read_and_use_it(show, theme):
    """No serious fault for axe, contrast of 4.5 : 1: the graph, a list, a drawer, a question, the lit path."""
    graph = show(theme=theme)
    graph.page.add_script_tag(content=AXE.read_text())

    def check() -> None:
        assert graph.page.evaluate(RUN) == []
        contrast = graph.page.evaluate(CONTRAST.replace(".cmt-panel", ".cmt-pipeline"))
        assert {key: ratio for key, ratio in contrast.items() if ratio < 4.5} == {}

    check()
    graph.unit("load").click()
    graph.text("cmt-member-open").first.click()
    tell_details(graph)
    expect(graph.text("cmt-page-overview")).to_be_visible()
    check()
    graph.text("cmt-run-stop").click()
    expect(graph.text("cmt-question")).to_be_visible()
    check()
    graph.text("cmt-keep").click()
    graph.change(standing=Standing("failed"))
    check()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [700, 1100])
def test_pictures(show, page, theme, width, artifacts):
    """To look at, in tests/artifacts: a run in its middle, and one that has ended with its longest way lit."""
    page.set_viewport_size({"width": width, "height": 820})
    graph = show(theme=theme)
    page.screenshot(path=artifacts / f"pipeline-{theme}-{width}.png")
    graph.text("cmt-show-trouble").click()
    tell_details(graph)
    expect(graph.text("cmt-trace")).to_be_visible()
    page.screenshot(path=artifacts / f"pipeline-trouble-{theme}-{width}.png")
    done = show(finished(datetime.now(UTC)), Standing("succeeded"), theme=theme)
    done.text("cmt-critical").click()
    expect(done.text("cmt-critical")).to_have_attribute("aria-pressed", "true")
    page.screenshot(path=artifacts / f"pipeline-lit-{theme}-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
