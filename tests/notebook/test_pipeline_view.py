"""The graph of a run without a browser: `notebook/pipeline_view.py`, on real runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chongming_task import AggregationPolicy, Controller, Pipeline, PipelineRun, task
from chongming_task.errors import ConfigurationError, UnknownTask
from chongming_task.notebook.inbound import RunVerb
from chongming_task.notebook.pipeline_view import PipelineView, pipeline_view
from tests.notebook.sample_runs import half_way
from tests.notebook.sample_tasks import FakeController
from tests.notebook.test_panel import Wire


@task
def work(ctx: Any, *above: Any) -> int:
    """Ends when somebody asks it to."""
    while True:
        ctx.sleep(0.01)


@task
def done(*above: Any) -> int:
    """Quick."""
    return 1


class Gate:
    """A task that fails until it is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self) -> int:
        if not self.open.is_set():
            raise ValueError("not yet")
        return 2


def threads() -> set[str]:
    """Those that a view needs."""
    names = {each.name for each in threading.enumerate()}
    return names & {"chongming-pump", "chongming-subscriber"}


@pytest.fixture
def controller() -> Iterator[Controller]:
    with Controller(name="etl") as controller:
        yield controller


def submitted(controller: Controller, gate: Gate) -> PipelineRun:
    """extract → load (fails until the gate opens) → report, and a branch that succeeds."""
    pipeline = Pipeline("nightly", on_failure=AggregationPolicy.all_settled)
    first = pipeline.add(done, name="extract")
    load = pipeline.add(gate.__call__, name="load", deps=[first])
    pipeline.add(done, name="report", deps=[load])
    pipeline.map(done, [1, 2, 3], name="parts", deps=[first])
    return pipeline.submit(controller)


def wired(view: PipelineView, monkeypatch: pytest.MonkeyPatch) -> Wire:
    """The view as if it were displayed."""
    wire = Wire(view, monkeypatch)  # type: ignore[arg-type]  # it needs a widget
    wire.say({"id": "v-0", "verb": "hello"})
    wire.wait_for(lambda message: message["kind"] == "reset")
    return wire


def told(wire: Wire, status: str) -> bool:
    """Whether the view has been told that the run has this status."""
    return bool(wire.wait_for(lambda message: message.get("run", {}).get("status") == status))


def test_what_failed_and_what_it_blocked_run_again_by_one_click(controller, monkeypatch):
    """Through the run; the view is told of each status of the whole, also the last."""
    gate = Gate()
    run = submitted(controller, gate)
    run.wait(10)
    view = run.view()
    wire = wired(view, monkeypatch)
    first = wire.messages[0]
    assert set(first["graph"]["names"]) == {"extract", "load", "report", "parts"}
    assert first["run"] == {"status": "failed", "paused": False}
    gate.open.set()
    wire.say({"id": "v-1", "verb": "run", "do": "retry_failed"})
    answer = wire.answer("v-1")
    assert (answer["ok"], answer["body"]["again"]) == (True, 2)
    assert told(wire, "succeeded")
    assert run.result("report") == 1
    assert {each.actor for each in controller.transitions(run["load"].id)} >= {"user:pipeline"}
    view.close()


def test_a_run_is_paused_resumed_and_stopped(controller, monkeypatch):
    """Each answers at once with how the run stands, and the view is told what came of it."""
    pipeline = Pipeline("long")
    pipeline.add(work, name="work")
    run = pipeline.submit(controller)
    view = run.view()
    wire = wired(view, monkeypatch)
    wire.wait_for(lambda m: bool(m.get("counts", {}).get("running")) or bool(m.get("run")))
    wire.say({"id": "v-1", "verb": "run", "do": "pause"})
    assert wire.answer("v-1")["ok"] is True
    assert told(wire, "paused")
    wire.say({"id": "v-2", "verb": "run", "do": "resume"})
    assert wire.answer("v-2")["ok"] is True
    assert [m["run"]["paused"] for m in wire.messages if "run" in m][-1] is False  # told before the answer
    wire.say({"id": "v-3", "verb": "run", "do": "stop"})
    assert wire.answer("v-3")["body"]["again"] is None
    assert told(wire, "stopped")
    view.close()


def test_a_closed_controller_says_so(monkeypatch):
    """The view stays and answers with the reason."""
    with Controller() as controller:
        run = submitted(controller, Gate())
        run.wait(10)
        view = run.view()
        wire = wired(view, monkeypatch)
    wire.say({"id": "v-1", "verb": "run", "do": "retry_failed"})
    answer = wire.answer("v-1")
    assert answer["ok"] is False
    assert "closed" in answer["error"]
    view.close()


def test_a_run_can_still_be_looked_at_when_its_controller_is_closed(monkeypatch):
    """Its records are in memory; a with statement in the cell above has closed it."""
    with Controller() as controller:
        run = submitted(controller, Gate())
        run.wait(10)
    view = run.view()
    first = wired(view, monkeypatch).messages[0]
    assert first["run"]["status"] == "failed"
    assert sum(first["counts"].values()) == 7
    view.close()


@pytest.mark.parametrize("do", [None, "eval", "cancel", 3, ["pause"], {"pause": 1}, ""])
def test_no_other_word_reaches_the_run(controller, monkeypatch, do):
    """It is refused with what may be asked."""
    run = submitted(controller, Gate())
    view = run.view()
    wire = wired(view, monkeypatch)
    monkeypatch.setattr(view, "_steer", lambda request: pytest.fail("it was asked"))
    wire.say({"id": "v-1", "verb": "run", "do": do})
    answer = wire.answer("v-1")
    assert (answer["ok"], answer["error"]) == (False, f"do is one of {', '.join(RunVerb)}")
    view.close()


def test_another_view_has_no_run_to_ask(controller, monkeypatch):
    """A panel refuses the verb of a run."""
    panel = controller.panel()
    wire = wired(panel, monkeypatch)  # type: ignore[arg-type]
    wire.say({"id": "v-1", "verb": "run", "do": "stop"})
    assert wire.answer("v-1")["error"] == "this view does not show a pipeline run"
    panel.close()


def test_a_run_of_another_process_is_shown_from_the_store(tmp_path: Path, monkeypatch):
    """Its graph is in its records; as a whole it cannot be steered, and says so. Its nodes can."""
    gate = Gate()
    with Controller(store=tmp_path / "runs.db") as leader:
        run = submitted(leader, gate)
        run.wait(10)
        with Controller.attach(tmp_path / "runs.db") as attached:
            view = attached.run_view(run.id)
            wire = wired(view, monkeypatch)
            first = wire.messages[0]
            assert set(first["graph"]["names"]) == {"extract", "load", "report", "parts"}
            assert list(first["maps"].values()) == [{"succeeded": 3}]
            assert first["run"] == {"status": None, "paused": False}
            wire.say({"id": "v-1", "verb": "run", "do": "stop"})
            assert "another process leads this run" in wire.answer("v-1")["error"]
            gate.open.set()
            wire.say({"id": "v-2", "verb": "retry", "ids": [run["load"].id], "args": {"force": True}})
            assert wire.answer("v-2")["results"][0]["ok"] is True
            run.wait(10)
            assert run.status == "succeeded"  # with what it had blocked
            view.close()


def test_where_there_is_no_kernel_a_run_is_what_its_repr_says(controller):
    """No widget is made."""
    run = submitted(controller, Gate())
    run.wait(10)
    assert run._repr_mimebundle_() is None
    assert not threads()
    assert repr(run).startswith("<PipelineRun 'nightly' failed: ")


def test_a_run_that_is_not_there_is_named(controller):
    """With what its id looks like."""
    with pytest.raises(UnknownTask, match="no run 'nightly:x' here"):
        pipeline_view(controller, "nightly:x")
    with pytest.raises(ConfigurationError, match="language is"):
        submitted(controller, Gate()).view(language="fr")


def test_front_ends_without_widgets_get_tables():
    """The nodes come first in them."""
    view = pipeline_view(FakeController(half_way()), "nightly-etl:01939e2c-1111-7000-8000-000000000001")
    data, _ = view._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/plain", "text/html"}
    lines = data["text/plain"].splitlines()
    assert lines[0].startswith("nightly-etl: 492 tasks, 3 blocked, 158 queued, 10 running")
    assert "load[" not in "".join(lines[:15])
    assert "<b>prices" not in data["text/html"]
    view.close()


def test_closing_lets_go_of_the_run(controller):
    """Of the subscription to its status, and of the tap."""
    run = submitted(controller, Gate())
    view = run.view()
    bus = controller._link.engine.bus
    assert threads() == {"chongming-pump", "chongming-subscriber"}
    listening = [each for each in threading.enumerate() if each.name == "chongming-subscriber"]
    view.close()
    view.close()
    for thread in listening:
        thread.join(10)
    assert not threads()
    assert not bus._taps
    run.wait(10)
