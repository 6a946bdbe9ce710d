"""What a timeline is told beyond the rows: `notebook/past.py`, and whether it is asked for where it must be."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from chongming_task import Controller, Pipeline, RetryPolicy, task
from chongming_task.core.records import AttemptRecord, Transition
from chongming_task.core.states import OCCUPIED, VERB_TABLE, TaskStatus
from chongming_task.core.triggers import Forced
from chongming_task.errors import ConfigurationError, UnknownTask
from chongming_task.notebook.inbound import MAX_PASTS, PastRequest, Refusal, parse
from chongming_task.notebook.past import ATTEMPTS_SHOWN, ENTRIES_SHOWN, past_of, stretches
from chongming_task.notebook.pipeline_view import PipelineView
from chongming_task.notebook.rows import Row, make_row, status_of
from chongming_task.notebook.timeline import Timeline
from tests.notebook.sample_tasks import NOW, FakeController, ago, ended
from tests.notebook.test_panel import Wire
from tests.property.test_rules_machine import OneRecord

EPOCH = round(NOW.timestamp() * 1000)
S = TaskStatus


@task
def until_told(ctx: Any, end: threading.Event) -> None:
    """Reaches a checkpoint every few milliseconds."""
    while not end.wait(0.005):
        ctx.checkpoint()


@task(retry=RetryPolicy(max_attempts=3, backoff="none"))
def third_time(ctx: Any) -> int:
    """Fails twice."""
    if ctx.attempt < 3:
        raise OSError(f"try {ctx.attempt}")
    return int(ctx.attempt)


def epoch_of(controller: Controller, task_id: str) -> int:
    """The start of a feed that began with the task."""
    return round(controller.get(task_id).created_at.timestamp() * 1000)


# ---- what is told


def test_every_attempt_is_told_with_its_own_end():
    """In the clock of the rows."""
    with Controller() as controller:
        handle = controller.submit(third_time)
        handle.wait(timeout=10)
        epoch = epoch_of(controller, handle.id)
        told = json.loads(json.dumps(past_of(controller, [handle.id], epoch)))[handle.id]
        row = make_row(controller.get(handle.id), epoch)
    assert [(number, status) for number, _, _, status in told["attempts"]] == [
        (1, "failed"),
        (2, "failed"),
        (3, "succeeded"),
    ]
    times = [time for _, started, over, _ in told["attempts"] for time in (started, over)]
    assert times == sorted(times)
    assert (row.started, row.ended) == tuple(told["attempts"][2][1:3])
    assert (told["paused"], told["cut"]) == ([], 0)
    assert row.past == told["version"] > 0


def test_a_pause_is_told_from_its_beginning_to_its_end():
    """The one that lasts has no end; the attempt neither."""
    end = threading.Event()
    with Controller() as controller:
        handle = controller.submit(until_told, end)
        handle.wait_for("running", timeout=10)
        assert handle.pause()
        handle.resume()
        assert handle.pause()
        told = past_of(controller, [handle.id], epoch_of(controller, handle.id))[handle.id]
        trail = controller.transitions(handle.id)
        end.set()
        handle.resume()
    assert [over is None for _, over in told["paused"]] == [False, True]
    at = [round(step.at.timestamp() * 1000) for step in trail if step.from_status is S.PAUSED]
    begun = [round(step.at.timestamp() * 1000) for step in trail if step.to_status is S.PAUSED]
    assert told["paused"][0] == [begun[0] - epoch_of(controller, handle.id), at[0] - epoch_of(controller, handle.id)]
    assert [each[2] for each in told["attempts"]] == [None]


def test_only_a_pause_in_place_that_came_true_is_a_stretch():
    """Not one before the start, not one that was withdrawn, not one by hand."""

    def walk(*steps: tuple[TaskStatus, str]) -> list[Any]:
        before, trail = S.QUEUED, []
        for number, (after, trigger) in enumerate(steps):
            trail.append(Transition("t", number + 1, before, after, trigger, "ana", None, ago(100 - number)))
            before = after
        return list(stretches(trail))

    assert walk((S.PAUSED, "user:pause"), (S.QUEUED, "user:resume")) == []
    assert walk((S.RUNNING, "x"), (S.PAUSING, "user:pause"), (S.RUNNING, "pause:timeout")) == []
    assert walk((S.PAUSING, "user:pause"), (S.PAUSED, "force:override"), (S.QUEUED, "user:resume")) == []
    held = (S.PAUSING, "user:pause"), (S.PAUSED, "worker:held")
    assert walk(*held) == [(ago(99), None)]
    assert walk(*held, (S.LOST, "reconcile:orphan")) == [(ago(99), ago(98))]


class Tried(FakeController):
    """Each of its tasks was tried so often."""

    tries = 3

    def get(self, task_id: str) -> Any:
        """A record, or the error of a controller."""
        if all(each.task_id != task_id for each in self.tasks):
            raise UnknownTask(f"no task {task_id}")
        return super().get(task_id)

    def attempts(self, task_id: str) -> list[AttemptRecord]:
        """Five seconds each."""
        start = [ago(9_000 - 10 * n) for n in range(self.tries)]
        return [AttemptRecord(task_id, n + 1, S.FAILED, at, at + timedelta(seconds=5)) for n, at in enumerate(start)]


def test_a_message_stays_small():
    """The newest attempts of each task, and as many tasks as fit; a task that is gone is told as gone."""
    tasks = [ended(n, f"part {n}", S.FAILED, 1, attempt=400) for n in range(MAX_PASTS)]
    controller = Tried(tasks)
    controller.tries = 400
    ids = [each.task_id for each in tasks]
    told = past_of(controller, ["gone", *ids], EPOCH)
    assert told["gone"] is None
    assert len(told) == 1 + ENTRIES_SHOWN // ATTEMPTS_SHOWN
    first = told[ids[0]]
    assert ([each[0] for each in first["attempts"]], first["cut"]) == (list(range(351, 401)), 350)
    assert len(json.dumps(told)) < 80_000


# ---- when it is asked for


def certain(row: Row) -> bool:
    """As `js/src/timeline/bars.ts` has it: the row's own times are those of its last attempt."""
    told = status_of(row) in OCCUPIED | {S.SUCCEEDED, S.FAILED, S.LOST} or VERB_TABLE[row.situation].in_place is True
    return row.past == 0 or (told and not row.by_hand)


class Rows(OneRecord):
    """Whatever happens to a record, what its row tells alone is what the store tells."""

    @rule(to=st.sampled_from(TaskStatus))
    @precondition(lambda self: self.machine.snapshot.status_version % 5 == 4)  # seldom: much else happens
    def by_hand(self, to: TaskStatus) -> None:
        """An override, on the row alone: the rest of the machine does not know of them."""
        forced = type(self.machine)(self.machine.snapshot, self.clock.now, self.machine.policy)
        forced.history, forced.attempts = list(self.machine.history), dict(self.machine.attempts)
        forced.apply(Forced(to, "ana", "known"))
        self.compare(forced)

    @invariant()
    def rows_are_true(self) -> None:
        """Of the record as it stands."""
        self.compare(self.machine)

    def compare(self, machine: Any) -> None:
        """The row's own bar with that of the records."""
        epoch = EPOCH
        row = make_row(machine.snapshot, epoch)
        attempts = list(machine.attempts.values())
        if row.past == 0:
            assert len(attempts) == min(row.attempt, 1)
            assert list(stretches(machine.history)) == [] or row.attempt == 0
        if not attempts:
            assert row.attempt == 0
        elif certain(row):
            last = attempts[-1]
            times = [t and round(t.timestamp() * 1000) - epoch for t in (last.started_at, last.ended_at)]
            assert [row.attempt, row.started, row.ended] == [last.attempt, *times]


TestRows = Rows.TestCase
TestRows.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_most_rows_need_no_past():
    """A task that ran through is not asked for; with or without something it came after."""
    pipeline = Pipeline("plain")
    first = pipeline.add(len, "abc")
    pipeline.add(pow, first, 2)
    with Controller() as controller:
        pipeline.submit(controller).wait(timeout=10)
        rows = [make_row(each, EPOCH) for each in controller.list_tasks()]
    assert [(row.attempt, row.past, row.by_hand) for row in rows] == [(1, 0, False)] * 2


# ---- on the wire


def test_a_past_is_asked_for_tasks_that_were_shown():
    """Each once; what was not shown is left out."""
    assert parse({"id": "v", "verb": "past", "ids": ["t1", "tX", "t1"]}, {"t1"}) == PastRequest("v", ("t1",))


@pytest.mark.parametrize("ids", [None, "t1", {"t1": 1}, [1], [""], [None], [["t1"]], ["x" * 65], ["t1"] * 101])
def test_what_is_asked_wrongly_is_refused(ids):
    """Types and sizes."""
    message = parse({"id": "v", "verb": "past", "ids": ids}, {"t1"})
    assert isinstance(message, Refusal)
    assert message.error == "ids is a list of at most 100 task ids"


@pytest.fixture
def controller():
    with Controller(name="real") as controller:
        yield controller


def test_a_timeline_answers_and_steers(controller, monkeypatch):
    """Nonsense is refused, a past is told, and a click is in the trail as the timeline's."""
    end = threading.Event()
    tried, held = controller.submit(third_time), controller.submit(until_told, end)
    tried.wait(timeout=10)
    held.wait_for("running", timeout=10)
    view = controller.timeline(language="zh")
    assert isinstance(view, Timeline)
    wire = Wire(view, monkeypatch)
    wire.say({"id": "v-0", "verb": "hello"})
    heading = wire.wait_for(lambda message: message["kind"] == "reset")
    for number, ids in enumerate(["all", [3], [None], {"a": 1}, ["x" * 65]]):
        wire.say({"id": f"bad-{number}", "verb": "past", "ids": ids})
        assert wire.answer(f"bad-{number}")["ok"] is False
    wire.say({"id": "v-1", "verb": "past", "ids": [tried.id, "somebody-elses"]})
    body = wire.answer("v-1")["body"]
    assert list(body) == [tried.id]
    first = controller.attempts(tried.id)[0]
    assert body[tried.id]["attempts"][0][1] + heading["epoch"] == round(first.started_at.timestamp() * 1000)
    wire.say({"id": "v-2", "verb": "stop", "ids": [held.id], "args": {}})
    assert wire.answer("v-2")["ok"]
    held.wait(timeout=10)
    assert "user:timeline" in {step.actor for step in controller.transitions(held.id)}
    view.close()


def test_a_store_that_fails_is_told(controller, monkeypatch):
    """And the view lives on."""
    handle = controller.submit(third_time)
    handle.wait(timeout=10)
    view = controller.timeline()
    wire = Wire(view, monkeypatch)
    wire.say({"id": "v-0", "verb": "hello"})
    monkeypatch.setattr(Controller, "attempts", lambda *_: 1 / 0)
    wire.say({"id": "v-1", "verb": "past", "ids": [handle.id]})
    assert wire.answer("v-1")["error"] == "division by zero"
    monkeypatch.undo()
    view.close()


def test_a_run_has_a_timeline_of_its_own_tasks(controller):
    """Headed with its name."""
    controller.submit(len, "abc").wait(timeout=10)
    pipeline = Pipeline("nightly")
    pipeline.add(len, "abcd", name="count")
    run = pipeline.submit(controller)
    run.wait(timeout=10)
    view = run.timeline()
    (block,) = view.saved["blocks"]
    assert (view.saved["title"], block["cols"]["name"]) == ("nightly", ["count"])
    view.close()


@pytest.mark.parametrize(("run", "error"), [("nope", UnknownTask), ("", UnknownTask), (3, ConfigurationError)])
def test_a_run_that_is_none_is_refused(run, error):
    """By the timeline and by the graph."""
    with Controller() as controller:
        for view in (Timeline, PipelineView):
            with pytest.raises(error, match="run"):
                view(controller, run)


def test_tasks_of_another_process_have_one_too(tmp_path, monkeypatch):
    """By the store alone."""
    with Controller(store=tmp_path / "runs.db") as controller:
        handle = controller.submit(third_time)
        handle.wait(timeout=10)
        with Controller.attach(tmp_path / "runs.db") as attached:
            view = attached.timeline()
            wire = Wire(view, monkeypatch)
            wire.say({"id": "v-0", "verb": "hello"})
            wire.wait_for(lambda message: message["kind"] == "reset")
            wire.say({"id": "v-1", "verb": "past", "ids": [handle.id]})
            assert [each[3] for each in wire.answer("v-1")["body"][handle.id]["attempts"]] == [
                "failed",
                "failed",
                "succeeded",
            ]
            view.close()
