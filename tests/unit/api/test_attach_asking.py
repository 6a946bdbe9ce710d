"""Verbs on their way to another process, and what its silence means. The owner is played by hand, and so is time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from chongming_task import (
    AttemptsExhausted,
    ControllerClosed,
    InvalidTransition,
    MemoryTaskStore,
    NotWatched,
    StoreError,
    TaskError,
    UnknownTask,
)
from chongming_task.api.attach_asking import Asking, Unanswered
from chongming_task.core.commands import done as accepted
from chongming_task.core.commands import refused
from chongming_task.core.ports import Write
from chongming_task.core.records import OwnerLease
from chongming_task.core.states import TaskStatus, Verb
from chongming_task.core.triggers import Asked
from chongming_task.runtime.engine import Answer
from chongming_task.testing import FakeClock
from chongming_task.testing.contract_records import a_record
from tests.support.waiting import until

STOP = Asked(Verb.STOP, "ada")


class Desk:
    """Somebody who asks, and the owner who is asked."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryTaskStore()
        self.asking = Asking(self.store, self.clock)
        self.answers: list[Answer] = []
        self.told = threading.Event()
        self.lives()
        tasks = [a_record(f"t{n}", status=TaskStatus.QUEUED, owner="a") for n in range(3)]
        self.store.commit([Write(task, None) for task in tasks])

    def lives(self, seconds: float = 1e6) -> None:
        """The owner renews its lease."""
        until = self.clock.now() + timedelta(seconds=seconds)
        self.store.renew_owner(OwnerLease("a", None, until))

    def ask(self, *ids: str) -> None:
        """Ask all of them to stop, and wait until those that are sent are there."""

        def done(answers: list[Answer]) -> None:
            self.answers = answers
            self.told.set()

        self.asking.post(ids, STOP, done)
        for task_id in ids:
            until(lambda task_id=task_id: self.store.commands(task_id) or self.told.is_set(), "it is sent")

    def answer(self, outcome: Any, *ids: str) -> None:
        """The owner answers what it was asked of these."""
        for command in self.store.claim_commands("a", now=self.clock.now(), lease_seconds=0.0):
            if command.task_id in ids:
                assert self.store.complete_command(command.id, "a", now=self.clock.now(), outcome=outcome)

    def heard(self, count: int) -> None:
        """Wait until so many answers have come."""
        until(lambda: len(self.asking._open[0].answers) == count, f"{count} are heard")

    def what(self) -> list[Answer]:
        """What was told in the end."""
        assert self.told.wait(20)
        return self.answers


@pytest.fixture
def desk() -> Iterator[Desk]:
    """With three records of an owner that lives."""
    made = Desk()
    yield made
    made.asking.stop()()


def test_patience_begins_anew_with_every_answer(desk):
    """Of many, each may take its time."""
    desk.ask("t0", "t1", "t2")
    for count, task_id in enumerate(("t0", "t1"), 1):
        desk.clock.advance(9)
        desk.answer(accepted(TaskStatus.STOPPED, acted=True), task_id)
        desk.heard(count)
    desk.clock.advance(9)
    desk.answer(accepted(TaskStatus.STOPPED, acted=False), "t2")
    assert [(each.task_id, each.ok, each.acted) for each in desk.what()] == [
        ("t0", True, True), ("t1", True, True), ("t2", True, False),
    ]  # fmt: skip


def test_silence_is_told_as_such_and_what_was_answered_as_that(desk):
    """Whoever is silent may still do it."""
    desk.ask("t0", "t1")
    desk.answer(accepted(TaskStatus.STOPPED, acted=True), "t1")  # out of order: it is looked for at the end
    desk.clock.advance(10)
    first, second = desk.what()
    assert isinstance(first.error, Unanswered)
    assert "may still do it" in str(first.error)
    assert second.ok


def test_an_owner_whose_lease_runs_out_is_gone(desk):
    """It is looked for twice: one that is being closed answers a moment later."""
    desk.ask("t0")
    desk.lives(0)
    desk.clock.advance(3)
    until(lambda: desk.asking._open[0].missing, "it is missed")
    assert not desk.told.is_set()
    desk.clock.advance(3)
    (answer,) = desk.what()
    assert isinstance(answer.error, NotWatched)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (InvalidTransition("no", current="running", requested="stop"), InvalidTransition),
        (AttemptsExhausted("no", current="failed", requested="stop"), AttemptsExhausted),
        (ControllerClosed("no"), ControllerClosed),
        (StoreError("no"), StoreError),
        (TaskError("no"), TaskError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_refusal_comes_back_as_what_it_was(desk, error, kind):
    """The class, the words, and for a state the one that the record is in."""
    desk.ask("t0")
    desk.answer(refused(error), "t0")
    (answer,) = desk.what()
    assert type(answer.error) is kind
    assert str(answer.error) == "no"
    assert getattr(answer.error, "current", "queued") == "queued"


@pytest.mark.parametrize("outcome", [None, "yes", {}, {"ok": False}, {"error": "exit", "message": 3}])
def test_an_answer_that_makes_no_sense_is_a_refusal(desk, outcome):
    """Anybody can write one."""
    desk.ask("t0")
    desk.answer(outcome, "t0")
    (answer,) = desk.what()
    assert type(answer.error) is TaskError


def test_a_record_that_is_dropped_meanwhile_is_unknown(desk):
    """By a prune."""
    desk.ask("t0")
    ended = desk.store.get("t0").evolve({"status": TaskStatus.STOPPED})
    desk.store.commit([Write(ended, 0)])
    desk.store.prune(0)
    (answer,) = desk.what()
    assert isinstance(answer.error, UnknownTask)


def test_closing_answers_whoever_waits(desk):
    """And what comes after is refused."""
    desk.ask("t0")
    desk.asking.stop()()
    (answer,) = desk.what()
    assert isinstance(answer.error, ControllerClosed)
    with pytest.raises(ControllerClosed):
        desk.asking.post(["t1"], STOP, print)


def test_a_store_that_fails_is_the_answer_to_what_has_none(desk, monkeypatch):
    """Also in a way that it should not fail; and the next verb is sent."""

    def fail(*args: Any) -> Callable[..., Any]:
        raise StoreError("away")

    with monkeypatch.context() as patch:
        patch.setattr(desk.store, "submit_command", fail)
        desk.ask("t0", "nothing")
        first, second = desk.what()
        assert str(first.error) == str(second.error) == "away"
    desk.told.clear()
    desk.ask("t0")
    desk.answer(accepted(TaskStatus.STOPPED, acted=True), "t0")
    assert desk.what()[0].ok


def test_what_was_sent_before_a_store_failed_may_still_be_done(desk, monkeypatch):
    """It is not said to have failed: its owner hears of it as soon as the store is back."""
    send, sent = desk.store.submit_command, []

    def send_one(command: Any) -> None:
        if sent:
            raise StoreError("away")
        sent.append(command.task_id)
        send(command)

    with monkeypatch.context() as patch:
        patch.setattr(desk.store, "submit_command", send_one)
        desk.ask("t0", "t1", "t2")
        answers = {answer.task_id: answer.error for answer in desk.what()}
    assert isinstance(answers[sent[0]], Unanswered)
    assert "(away), and it may still do it" in str(answers[sent[0]])
    others = [error for task_id, error in answers.items() if task_id != sent[0]]
    assert [(type(error), str(error)) for error in others] == [(StoreError, "away")] * 2
    assert len(desk.store.commands(sent[0])) == 1
