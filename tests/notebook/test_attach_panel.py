"""The panel of an attached controller: other processes' tasks in it, and clicks that reach them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chongming_task import Controller
from chongming_task.api.attach import Attached
from tests.notebook.test_panel import Wire
from tests.support.forge import Forge, Forged, forge
from tests.support.waiting import until

SCRIPT = Path(__file__).parents[1] / "integration" / "attach_workers.py"
PASSWORD = "geheim!"


@pytest.fixture(scope="module")
def workers() -> Iterator[Forge]:
    """Starts processes."""
    with forge(SCRIPT) as made:
        yield made


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where they meet; a server is told a password, which it does not ask for."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn.replace("postgres@", "postgres:geheim%21@")


@pytest.fixture
def worker(workers: Forge, target: str) -> Iterator[Forged]:
    """A process with a controller."""
    made = workers.start("serve", target)
    assert made.readline() == "ready"
    yield made
    made.kill()


@pytest.fixture
def attached(worker: Forged, target: str) -> Iterator[Attached]:
    """Attached to it."""
    with Controller.attach(target) as made:
        yield made


@pytest.fixture
def desk(attached: Attached, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """Its panel, displayed."""
    panel = attached.panel()
    wire = Wire(panel, monkeypatch)
    wire.say({"id": "v-0", "verb": "hello"})
    wire.wait_for(lambda message: message["kind"] == "reset")
    yield wire
    panel.close()


def submitted(worker: Forged, what: str) -> str:
    """The id of a record that the worker has stored."""
    worker.tell(what)
    return worker.readline()


def click(desk: Wire, number: int, **message: Any) -> dict[str, Any]:
    """What a click is answered with."""
    desk.say({"id": f"v-{number}", **message})
    return desk.answer(f"v-{number}")


def test_a_click_reaches_the_other_process_and_its_rows_follow(worker, desk, attached):
    """Verbs, the drawer, and a status that is set by hand."""
    task_id = submitted(worker, "spin")
    desk.wait_for(lambda message: message.get("counts") == {"running": 1})
    (paused,) = click(desk, 1, verb="pause", ids=[task_id], args={})["results"]
    assert paused == {"task": task_id, "ok": True, "acted": True, "error": None}
    desk.wait_for(lambda message: message.get("counts") == {"paused": 1})
    assert click(desk, 2, verb="resume", ids=[task_id], args={})["results"][0]["ok"]
    until(lambda: attached.output(task_id), "it has said something")
    body = click(desk, 3, verb="details", task=task_id, seen="", after=0)["body"]
    assert body["overview"]["owner"] == attached.get(task_id).owner
    assert [line[-1] for line in body["lines"]] == ["it spins"]
    assert [step["actor"] for step in body["history"] if step["trigger"] == "user:pause"] == ["user:panel"]
    forced = click(desk, 4, verb="force_transition", task=task_id, to="failed", reason="enough")
    assert forced["body"] == {"done": True}
    desk.wait_for(lambda message: message.get("counts") == {"failed": 1})


def test_a_dead_owner_leaves_no_row_that_runs(worker, desk):
    """And a click is told that nobody is there."""
    task_id = submitted(worker, "spin")
    desk.wait_for(lambda message: message.get("counts") == {"running": 1})
    worker.kill()
    desk.wait_for(lambda message: message.get("counts") == {"lost": 1})
    (answer,) = click(desk, 1, verb="retry", ids=[task_id], args={"force": True})["results"]
    assert not answer["ok"]
    assert "nobody watches it" in answer["error"]
    worker.kill = list  # it is gone


def test_its_panel_has_tables_for_front_ends_without_widgets(worker, attached):
    """As text and as HTML. Outside of a kernel, and closed, its last line is a line of text."""
    submitted(worker, "spin later")
    panel = attached.panel()
    data, _ = panel._repr_mimebundle_()
    panel.close()
    assert data["application/vnd.jupyter.widget-view+json"]
    assert "1 pending" in data["text/plain"]
    assert "<td>spin</td>" in data["text/html"]
    assert attached._repr_mimebundle_() is None
    assert repr(attached).endswith(": 1 pending>")
    attached.close()
    assert attached._repr_mimebundle_() is None


@pytest.mark.postgres
@pytest.mark.parametrize("target", ["postgres"], indirect=True)
def test_no_password_is_shown_or_saved(worker, attached, target, caplog):
    """Not in what stands in cells, in the state that a file keeps, or in the log."""
    assert "geheim%21" in target
    submitted(worker, "spin later")
    panel = attached.panel()
    told = [repr(attached), str(attached.name), str(attached.health), repr(attached._store), caplog.text]
    told += [json.dumps(panel.get_state(), default=str), json.dumps(panel._repr_mimebundle_(), default=str)]
    panel.close()
    assert not any(PASSWORD in text or "geheim" in text for text in told)
