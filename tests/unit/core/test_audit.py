"""The oracle finds every kind of history that cannot have happened. One that passes everything would prove nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import Write
from chongming_task.core.records import AttemptRecord, TaskSnapshot, Transition
from chongming_task.core.state_machine import StateMachine
from chongming_task.core.states import RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Dispatched, Elapsed, Ended, Forced, Held, Started, Timer
from chongming_task.stores.memory import MemoryTaskStore
from chongming_task.testing import AuditError, check_audit
from tests.unit.core.situations import NOW, policy

S = TaskStatus
BOOM = Failure(FailureKind.EXCEPTION, "boom", retryable=True)

LIVES: dict[str, list[Any]] = {
    "waits": [],
    "queued": [Asked(Verb.START)],
    "runs": [Asked(Verb.START), Dispatched(), Started(1)],
    "held": [Asked(Verb.START), Dispatched(), Started(1), Asked(Verb.PAUSE), Held(1, 4)],
    "pausing": [Asked(Verb.START), Dispatched(), Started(1), Asked(Verb.PAUSE)],
    "backs off": [Asked(Verb.START), Dispatched(), Started(1), Ended(1, failure=BOOM, seconds=2.0)],
    "succeeded": [
        *(Asked(Verb.START), Dispatched(), Started(1), Ended(1, failure=BOOM, seconds=2.0), Elapsed(Timer.RETRY, 1)),
        *(Dispatched(), Started(2), Ended(2, outcome=1, seconds=3.0, paused_seconds=1.0)),
    ],
    "failed": [
        *(Asked(Verb.START), Dispatched(), Ended(1, failure=Failure(FailureKind.RESULT_INVALID))),
    ],
    "reset": [Asked(Verb.START), Dispatched(), Started(1), Ended(1, outcome=1), Asked(Verb.RESET)],
    "overridden": [Asked(Verb.START), Dispatched(), Forced(S.LOST, "ops", "stuck")],
    "reset after an override": [Asked(Verb.START), Forced(S.FAILED, "ops", "x"), Asked(Verb.RESET)],
}


class Life:
    """A true history, to be falsified."""

    def __init__(self, name: str) -> None:
        machine = StateMachine(TaskSnapshot("t1", name, NOW, max_attempts=3), lambda: NOW, policy())
        for trigger in LIVES[name]:
            machine.apply(trigger)
        self.task, self.trail, self.attempts = machine.snapshot, machine.history, dict(machine.attempts)

    def change(self, **changes: Any) -> None:
        self.task = self.task._replace(**changes)

    def change_edge(self, number: int, /, **changes: Any) -> None:
        self.trail[number - 1] = self.trail[number - 1]._replace(**changes)

    def change_attempt(self, number: int, **changes: Any) -> None:
        self.attempts[number] = self.attempts[number]._replace(**changes)

    def store(self) -> MemoryTaskStore:
        store = MemoryTaskStore()
        write = Write(self.task, None, tuple(self.trail), tuple(self.attempts.values()))
        assert not store.commit([write])
        return store


@pytest.mark.parametrize("name", LIVES)
def test_a_true_history_passes(name):
    """Every one of them, so that what the next test plants is the only fault."""
    assert check_audit(Life(name).store()) == 1


EDGE = Transition("t1", 9, S.SUCCEEDED, S.PENDING, "user:reset", "user", None, NOW)

FAULTS: dict[str, tuple[str, Any, str]] = {
    "a version is missing": ("succeeded", lambda life: life.trail.pop(3), "versions are not 1 to 8"),
    "a version stands twice": ("succeeded", lambda life: life.change_edge(4, version=3), "versions are not 1 to 8"),
    "the trail is longer": ("succeeded", lambda life: life.trail.append(EDGE), "versions are not 1 to 8"),
    "the record is ahead": ("runs", lambda life: life.change(status_version=4), "versions are not 1 to 4"),
    "an edge does not join": (
        *("succeeded", lambda life: life.change_edge(4, from_status=S.STARTING)),
        "version 4 leaves starting, but the record was running",
    ),
    "an edge does not exist": (
        *("runs", lambda life: (life.change_edge(3, to_status=S.QUEUED), life.change(status=S.QUEUED, live=False))),
        "version 3: no edge starting → queued for worker:started",
    ),
    "an end is left without a verb": (
        *("reset", lambda life: life.change_edge(5, trigger="engine:reset")),
        "version 5: no edge succeeded → pending for engine:reset",
    ),
    "the trail ends elsewhere": ("runs", lambda life: life.change(status=S.STARTING), "the trail ends in running"),
    "an edge is another record's": ("runs", lambda life: life.change_edge(2, task_id="t2"), "version 2 belongs to t2"),
    "an override is not marked": ("overridden", lambda life: life.change(overridden=False), "overridden is False"),
    "a mark has no override": ("runs", lambda life: life.change(overridden=True), "overridden is True"),
    "it runs without a worker": ("runs", lambda life: life.change(live=False), "holds no worker"),
    "it waits with a worker": ("queued", lambda life: life.change(live=True), "holds a worker"),
    "it runs since never": ("runs", lambda life: life.change(started_at=None), "runs without started_at"),
    "it succeeded with a failure": ("succeeded", lambda life: life.change(failure=BOOM), "succeeded with a failure"),
    "it failed for nothing": ("failed", lambda life: life.change(failure=None), "has no failure"),
    "it ended at no time": ("succeeded", lambda life: life.change(ended_at=None), "ended_at is None"),
    "it ended and goes on": ("runs", lambda life: life.change(ended_at=NOW), "ended_at is 2030"),
    "it backs off for ever": ("backs off", lambda life: life.change(retry_at=None), "retry_at is None"),
    "it backs off no more": ("queued", lambda life: life.change(retry_at=NOW), "retry_at is 2030"),
    "it had too many attempts": ("succeeded", lambda life: life.change(max_attempts=1), "attempt 2 of 1"),
    "it ended and is still asked": (
        *("succeeded", lambda life: life.change(requested_action=RequestedAction.STOP)),
        "still asked to stop",
    ),
    "it pauses unasked": ("pausing", lambda life: life.change(requested_action=None), "is asked to None"),
    "it runs and is asked": (
        *("runs", lambda life: life.change(requested_action=RequestedAction.PAUSE)),
        "is asked to pause",
    ),
    "an attempt is missing": ("succeeded", lambda life: life.attempts.pop(1), "attempts are not 1 to 2: [2]"),
    "an attempt is too many": (
        *("queued", lambda life: life.attempts.update({1: AttemptRecord("t1", 1, S.LOST, NOW, NOW)})),
        "attempts are not 1 to 0: [1]",
    ),
    "the counter is behind": ("succeeded", lambda life: life.change(attempt=1), "attempts are not 1 to 1: [1, 2]"),
    "attempts outlive a reset": (
        *("reset", lambda life: life.attempts.update({1: AttemptRecord("t1", 1, S.LOST, NOW, NOW)})),
        "attempts are not 1 to 0: [1]",
    ),
    "an attempt began unseen": (
        *("runs", lambda life: life.change_edge(2, trigger="worker:started")),
        "0 starts, 1 attempts",
    ),
    "two attempts at once": ("succeeded", lambda life: life.change_attempt(1, ended_at=None), "without an end: [1]"),
    "a live attempt has ended": (
        *("runs", lambda life: life.change_attempt(1, ended_at=NOW, status=S.LOST)),
        "attempts without an end: []",
    ),
    "a held attempt has ended": (
        *("held", lambda life: life.change_attempt(1, ended_at=NOW, status=S.LOST)),
        "attempts without an end: []",
    ),
    "an attempt ended in no way": (
        *("succeeded", lambda life: life.change_attempt(1, status=S.RUNNING)),
        "attempt 1 is running, its ended_at 2030",
    ),
    "a live attempt has a result": (
        *("runs", lambda life: life.change_attempt(1, status=S.FAILED)),
        "attempt 1 is failed, its ended_at None",
    ),
    "it succeeded by a failed attempt": (
        *("succeeded", lambda life: life.change_attempt(2, status=S.FAILED)),
        "succeeded, its last attempt did not",
    ),
    "an attempt is another record's": (
        *("succeeded", lambda life: life.change_attempt(1, task_id="t2")),
        "attempt 1 belongs to t2",
    ),
    "time ran back": ("succeeded", lambda life: life.change_attempt(1, seconds=-1.0), "attempt 1 took -1.0 s"),
    "it paused longer than it took": (
        *("succeeded", lambda life: life.change_attempt(2, paused_seconds=9.0)),
        "attempt 2 took 3.0 s, 9.0 s of it paused",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault):
    """And named, with the record it is on."""
    name, plant, words = FAULTS[fault]
    life = Life(name)
    plant(life)
    with pytest.raises(AuditError) as caught:
        check_audit(life.store())
    assert words in str(caught.value)
    assert f"{name} t1 (" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "settled"),
    [("waits", True), ("queued", True), ("held", True), ("succeeded", True), ("runs", False), ("pausing", False)],
)
def test_settled_means_that_nothing_is_under_way(name, settled):
    """What is paused in place is at rest."""
    store = Life(name).store()
    assert check_audit(store) == 1
    if settled:
        assert check_audit(store, settled=True) == 1
    else:
        with pytest.raises(AuditError, match="is still under way"):
            check_audit(store, settled=True)


def test_all_faults_of_all_records_are_told():
    """Fifty of them, and how many there are."""
    store = MemoryTaskStore()
    for number in range(60):
        task = TaskSnapshot(f"t{number}", "demo", NOW, status=S.RUNNING, ended_at=NOW + timedelta(1))
        store.commit([Write(task, None)])
    with pytest.raises(AuditError) as caught:
        check_audit(store)
    lines = str(caught.value).splitlines()
    assert lines[0] == "240 faults in 60 records:"
    assert len(lines) == 51
    assert check_audit(MemoryTaskStore()) == 0
