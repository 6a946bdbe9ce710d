"""What a drawer is told: `notebook/details.py` on a real controller, and its way through the panel."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from chongming_task import Controller, task
from chongming_task.core.records import OutputLine
from chongming_task.core.states import TaskStatus
from chongming_task.notebook.details import LINES_CHARS, LINES_SHOWN, details_of, waits_of
from chongming_task.notebook.errands import MOST_WAITING, Errands
from tests.notebook.sample_tasks import NOW, FakeController, ended, one_of_each, running
from tests.notebook.test_panel_controller import Desk


@task
def talks(word: str) -> str:
    """Prints, and fails when it is told to."""
    print(f"hello {word}")
    if word == "bad":
        raise ValueError("no such word")
    return word


def test_a_task_that_failed_is_told_whole():
    """Facts, attempts, trail, output and traceback, in JSON."""
    with Controller() as controller:
        handle = controller.submit(talks, "bad")
        handle.wait(timeout=10)
        told = json.loads(json.dumps(details_of(controller, handle.id, seen="", after=0), allow_nan=False))
    assert told["overview"]["created"] <= told["overview"]["ended"]
    assert [(each["attempt"], each["status"]) for each in told["attempts"]] == [(1, "failed")]
    assert [each["to"] for each in told["history"]] == ["queued", "starting", "running", "failed"]
    assert told["failure"]["title"] == "ValueError: no such word"
    assert "Traceback" in told["failure"]["traceback"]
    assert [line[-1] for line in told["lines"]] == ["hello bad"]


def test_what_was_seen_is_not_told_again():
    """Until something changes; and only lines that are new."""
    with Controller() as controller:
        handle = controller.submit(talks, "bad")
        handle.wait(timeout=10)
        first = details_of(controller, handle.id, seen="", after=0)
        again = details_of(controller, handle.id, seen=first["seen"], after=first["lines"][-1][0])
        assert again == {"seen": first["seen"], "waits": None, "heard": first["heard"], "lines": []}
        handle.retry(force=True)
        handle.wait(timeout=10)
        changed = details_of(controller, handle.id, seen=first["seen"], after=first["lines"][-1][0])
    assert len(changed["attempts"]) == 2
    assert [line[-1] for line in changed["lines"]] == ["hello bad"]


def test_a_heartbeat_alone_tells_nothing_again():
    """A task at work is asked for every second: its past is not sent with every beat."""
    one = running(1, "a", 1)
    first = details_of(FakeController([one]), one.task_id, seen="", after=0)
    beats = FakeController([one._replace(last_heartbeat_at=NOW)])
    again = details_of(beats, one.task_id, seen=first["seen"], after=0)
    assert set(again) == {"seen", "waits", "heard", "lines"}
    assert again["heard"] == round(NOW.timestamp() * 1000)


def test_a_queued_task_says_which_limit_is_full(monkeypatch):
    """And nothing while it only waits for its turn."""
    end = threading.Event()
    with Controller(max_parallel_per_bucket=1) as controller:
        first = controller.submit(end.wait, bucket_key="acme")
        first.wait_for("running", timeout=10)
        second = controller.submit(end.wait, bucket_key="acme")
        waits = waits_of(controller, second.id)
        assert waits is not None
        assert [each[-5:] for each in waits["limits"]] == ["(1/1)"]
        assert waits_of(controller, first.id) is None
        end.set()


def test_a_blocked_task_names_what_it_waits_for():
    """What has ended is not waited for any more."""
    before = [running(n, f"extract {n}", 1) for n in range(5)]
    done = ended(9, "done", TaskStatus.SUCCEEDED, 1)
    blocked = running(10, "load", 0, status=TaskStatus.BLOCKED, depends_on=tuple(t.task_id for t in [done, *before]))
    controller = FakeController([*before, done, blocked])
    assert waits_of(controller, blocked.task_id) == {
        "after": ["extract 0", "extract 1", "extract 2"],
        "more": 2,
    }


def test_a_message_stays_small():
    """Whatever a task prints: the newest lines that fit."""
    one = running(1, "a", 1)
    lines = [OutputLine(one.task_id, 1, n + 1, "stdout", "x" * 5_000, NOW) for n in range(1_000)]
    controller = FakeController([one], lines=lines)
    told = details_of(controller, one.task_id, seen="", after=0)["lines"]
    assert told[-1][0] == 1_000
    assert sum(len(line[-1]) for line in told) <= LINES_CHARS
    assert all("characters left out" in line[-1] for line in told)
    short = FakeController([one], lines=[line._replace(text="x") for line in lines])
    assert len(details_of(short, one.task_id, seen="", after=0)["lines"]) == LINES_SHOWN


def test_a_panel_answers_on_a_thread_that_is_neither_the_engine_nor_the_comms(monkeypatch):
    """And a store that fails is told as an error."""
    with Controller() as controller:
        desk = Desk(controller, monkeypatch)
        handle = controller.submit(talks, "good")
        desk.wait_shown(succeeded=1)
        asked: list[str] = []
        real = Controller.transitions

        def transitions(self: Controller, *args: Any, **options: Any) -> Any:
            asked.append(threading.current_thread().name)
            return real(self, *args, **options)

        monkeypatch.setattr(Controller, "transitions", transitions)
        desk.wire.say({"id": "d-1", "verb": "details", "task": handle.id, "seen": "", "after": 0})
        assert desk.wire.answer("d-1")["body"]["overview"]["result"] == '"good"'
        assert asked == ["chongming-errands"]
        monkeypatch.setattr(Controller, "transitions", lambda *_: 1 / 0)
        desk.wire.say({"id": "d-2", "verb": "details", "task": handle.id, "seen": "", "after": 0})
        assert desk.wire.answer("d-2")["error"] == "division by zero"
        desk.wire.say({"id": "d-3", "verb": "waits", "ids": [handle.id]})
        assert desk.wire.answer("d-3")["body"] == {handle.id: None}
        desk.panel.close()
    assert "chongming-errands" not in [thread.name for thread in threading.enumerate()]


def test_a_status_set_by_hand_is_in_the_trail(monkeypatch):
    """With the reason, and the panel as who did it."""
    with Controller() as controller:
        desk = Desk(controller, monkeypatch)
        handle = controller.submit(talks, "bad")
        desk.wait_shown(failed=1)
        force = {"verb": "force_transition", "task": handle.id, "to": "skipped"}
        desk.wire.say({"id": "f-1", **force, "reason": "known to be empty"})
        assert desk.wire.answer("f-1")["body"] == {"done": True}
        last = controller.transitions(handle.id)[-1]
        assert (last.to_status, last.actor, last.reason) == ("skipped", "user:panel", "known to be empty")
        desk.panel.close()


def test_too_many_errands_are_refused_and_a_fault_ends_none(caplog):
    """A flood of questions fills nothing."""
    errands, begun, go, done = Errands(), threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        go.wait(10)

    def fail() -> None:
        raise RuntimeError("a fault")

    errands.post(hold)
    assert begun.wait(10)
    assert errands.post(fail)
    assert errands.post(done.set)
    assert sum(errands.post(lambda: None) for _ in range(100)) == MOST_WAITING - 2
    go.set()
    assert done.wait(10)
    errands.close()
    assert not errands.post(lambda: None)
    assert "an errand of the panel failed" in caplog.text


def test_a_drawer_may_be_asked_of_every_kind_of_task():
    """No snapshot makes it raise."""
    controller = FakeController(one_of_each())
    assert len(controller.tasks) > 0
    for each in controller.tasks:
        told = details_of(controller, each.task_id, seen="", after=0)
        assert "overview" in told
        json.dumps(told, allow_nan=False)


@pytest.mark.parametrize("value", [float("nan"), {"a": [1, "ü"]}, "x" * 10_000])
def test_values_are_told_as_text(value):
    """On one line when short, cut when long."""
    one = running(1, "a", 1, outcome=value)
    result = details_of(FakeController([one]), one.task_id, seen="", after=0)["overview"]["result"]
    assert isinstance(result, str)
    assert len(result) <= 4_000
