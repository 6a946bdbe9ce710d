"""Hooks: called off the engine, in order for each record, and nobody's trouble but their own."""

from __future__ import annotations

import threading

import pytest

from chongming_task import (
    ConfigurationError,
    Controller,
    Hooks,
    Pipeline,
    PipelineRunStatus,
    RetryPolicy,
    TaskStatus,
    task,
)
from chongming_task.core.hooks import moment_of, run_moment_of
from chongming_task.core.states import REVIVABLE, TRANSITIONS
from chongming_task.runtime.serial import Serial

PATIENCE = 10


class Notes:
    """Hooks that write down what they were called with."""

    def __init__(self, who: str = "") -> None:
        self.told: list[tuple[str, str, str]] = []
        self.threads: set[str] = set()
        self.hooks: Hooks = Hooks(
            **{
                moment: self._note(f"{who}{moment}")
                for moment in ("on_start", "on_success", "on_failure", "on_retry", "on_cancel")
            }
        )

    def _note(self, moment):
        def note(subject):
            self.threads.add(threading.current_thread().name)
            self.told.append((moment, subject.name, str(subject.status)))

        return note

    @property
    def moments(self) -> list[str]:
        """What was called, in order."""
        return [moment for moment, _, _ in self.told]


def test_a_task_s_life_in_hooks():
    """Started, tried again, started, succeeded; each with the record as it was then, off the engine."""
    notes, tries, snapshots = Notes(), [], []

    def failed_once(snapshot):
        snapshots.append(snapshot)

    @task(retry=RetryPolicy(max_attempts=2), hooks=notes.hooks)
    def shaky():
        tries.append(1)
        if len(tries) < 2:
            raise ValueError("not yet")
        return 5

    with Controller(hooks=Hooks(on_retry=failed_once)) as controller:
        controller.submit(shaky)
    assert notes.told == [
        ("on_start", "shaky", "running"),
        ("on_retry", "shaky", "retry_wait"),
        ("on_start", "shaky", "running"),
        ("on_success", "shaky", "succeeded"),
    ]
    assert notes.threads == {"chongming-aside"}
    (seen,) = snapshots
    assert (seen.attempt, seen.failure.message) == (1, "not yet")


def test_failure_is_told_once_and_cancelling_too():
    """When no attempt follows; stopped and cancelled alike."""
    notes = Notes()

    def wrong():
        raise ValueError("x")

    with Controller(hooks=notes.hooks) as controller:
        controller.submit(wrong).wait(PATIENCE)
        controller.submit(len, "abc", name="stopped", start=False).stop()
        controller.submit(len, "abc", name="cancelled", start=False).cancel()
        controller.submit(len, "abc", name="skipped", start=False).skip()
    assert [each for each in notes.told if each[1] == "wrong"] == [
        ("on_start", "wrong", "running"),
        ("on_failure", "wrong", "failed"),
    ]
    assert {each for each in notes.told if each[1] != "wrong"} == {
        ("on_cancel", "stopped", "stopped"),
        ("on_cancel", "cancelled", "cancelled"),
    }


def test_the_task_s_own_hooks_come_first():
    """Then the pipeline's, then the controller's."""
    told = []

    def hook(who):
        return Hooks(on_success=lambda subject: told.append(who))

    @task(hooks=hook("task"))
    def step():
        return 1

    pipeline = Pipeline("one", hooks=hook("run"), node_hooks=hook("node"))
    pipeline.add(step)
    with Controller(hooks=hook("controller")) as controller:
        pipeline.submit(controller).wait(PATIENCE)
    assert [who for who in told if who != "run"] == ["task", "node", "controller"]
    assert "run" in told


def test_a_run_as_a_whole():
    """Its hooks are handed the run: as it begins, fails, is tried again and succeeds."""
    notes, tries, runs = Notes(), [], []

    def shaky():
        tries.append(1)
        if len(tries) < 2:
            raise ValueError("not yet")

    pipeline = Pipeline("shaky", hooks=notes.hooks)
    pipeline.add(shaky)
    quiet = Pipeline("quiet", hooks=Hooks(on_success=runs.append))
    quiet.add(len, "abc")
    with Controller() as controller:
        run = pipeline.submit(controller)
        assert run.wait(PATIENCE) == "failed"
        run.retry_failed()
        assert run.wait(PATIENCE) == "succeeded"
        other = quiet.submit(controller)
        other.wait(PATIENCE)
    assert notes.moments == ["on_start", "on_failure", "on_retry", "on_success"]
    assert [run.id for run in runs] == [other.id]


def test_every_task_of_a_map_has_the_pipeline_s_hooks():
    """And the map's own record."""
    notes = Notes()
    pipeline = Pipeline("maps", node_hooks=notes.hooks)
    pipeline.map(abs, [1, 2], name="each")
    with Controller() as controller:
        pipeline.submit(controller).wait(PATIENCE)
    assert sorted(name for moment, name, _ in notes.told if moment == "on_success") == ["each", "each[0]", "each[1]"]


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_hook_that_raises_is_logged_and_changes_nothing(error, caplog):
    """The next ones are called, and the record stands."""
    told = []

    def broken(snapshot):
        raise error("mine")

    @task(hooks=Hooks(on_start=broken, on_success=broken))
    def fine():
        return 1

    with Controller(hooks=Hooks(on_success=told.append)) as controller:
        handle = controller.submit(fine)
    assert handle.status == "succeeded"
    assert [each.task_id for each in told] == [handle.id]
    assert caplog.text.count("of 'fine' raised") == 2


def test_a_hook_that_blocks_holds_up_its_own_record_only(caplog):
    """Tasks end, other records' hooks run, and closing waits no longer than its timeout."""
    release, told, entered, others = threading.Event(), [], threading.Event(), threading.Event()

    def block(snapshot):
        entered.set()
        assert release.wait(30)

    def note(snapshot):
        told.append(snapshot.name)
        if snapshot.name == "other":
            others.set()

    stuck = task(hooks=Hooks(on_start=block))(len)
    controller = Controller(hooks=Hooks(on_success=note))
    handle = controller.submit(stuck, "abc")
    assert entered.wait(PATIENCE)
    assert handle.result(PATIENCE) == 3
    controller.submit(len, args=("abc",), name="other")
    assert others.wait(PATIENCE)
    controller.close(timeout=0.05)
    assert told == ["other"]
    assert "hooks were still running" in caplog.text
    release.set()


def test_closing_waits_for_the_hooks_that_are_due():
    """A script that ends right after its tasks still tells."""
    told = []
    gate = threading.Event()

    def slow(snapshot):
        gate.wait(0.05)  # takes its time
        told.append(snapshot.name)

    with Controller(hooks=Hooks(on_success=slow)) as controller:
        for _ in range(5):
            controller.submit(len, "abc")
    assert len(told) == 5


def test_a_hook_may_steer_and_submit():
    """It is no part of the engine, so it can wait for it; closing from within one does not wait for itself."""
    closed = threading.Event()
    controller = Controller()

    def again(snapshot):
        follow = controller.submit(len, args=("ab",), name="follow-up")
        assert follow.result(PATIENCE) == 2
        controller.close()
        closed.set()

    controller.submit(task(hooks=Hooks(on_success=again))(len), "abc")
    assert closed.wait(PATIENCE)


def test_no_hook_no_events(rig, monkeypatch):
    """Without hooks nobody listens; with those of one task, all is told, and only they are called."""
    assert rig.engine.bus.narrator is None
    notes = Notes()
    rig.submit(task(hooks=notes.hooks)(len), args=("abc",))
    assert rig.engine.bus.narrator is not None
    other, worker = rig.running()
    worker.finish()
    rig.settle()
    assert other.status == "succeeded"
    assert notes.told == []


def test_an_event_that_others_have_followed_shows_the_record_as_it_was(rig):
    """Start and end may be stored together: the hook of the start is told of a record that runs."""
    seen, both = [], threading.Event()

    def note(snapshot):
        seen.append(snapshot)
        if len(seen) == 2:
            both.set()

    handle = rig.submit(task(hooks=Hooks(on_start=note, on_success=note))(len), args=("abc",))
    worker = rig.worker(handle)
    worker.begin()
    worker.finish(3)
    rig.settle()
    assert both.wait(PATIENCE)
    assert [(each.status, each.outcome, each.ended_at is None) for each in seen] == [
        ("running", None, True),
        ("succeeded", 3, False),
    ]


async def coroutine(snapshot):
    """No hook."""


@pytest.mark.parametrize("hook", ["notify", coroutine])
def test_what_is_no_hook_is_refused(hook):
    """At once, with what to write."""
    with pytest.raises(ConfigurationError, match="on_failure"):
        Hooks(on_failure=hook)
    for make in (
        lambda: task(hooks=hook)(len),
        lambda: task(len).with_options(hooks=hook),
        lambda: Pipeline("p", hooks=hook),
        lambda: Pipeline("p", node_hooks=hook),
        lambda: Controller(hooks=hook),
    ):
        with pytest.raises(ConfigurationError, match="Hooks"):
            make()


def test_every_edge_has_its_moment():
    """Each end calls one hook but SKIPPED; nothing else calls any, but starts and retries."""
    moments = {}
    for before, targets in TRANSITIONS.items():
        for after in targets:
            moments.setdefault(moment_of(before, after), set()).add(after)
    assert moments["on_success"] == {TaskStatus.SUCCEEDED}
    assert moments["on_failure"] == {TaskStatus.FAILED, TaskStatus.LOST}
    assert moments["on_cancel"] == {TaskStatus.STOPPED, TaskStatus.CANCELLED}
    assert moments["on_retry"] == {TaskStatus.RETRY_WAIT}
    assert {moment_of(ended, TaskStatus.QUEUED) for ended in REVIVABLE} == {"on_retry"}
    assert moments["on_start"] == {TaskStatus.RUNNING}
    assert TaskStatus.SKIPPED in moments[None]
    for before in PipelineRunStatus:
        for after in PipelineRunStatus:
            assert (run_moment_of(before, after) is not None) >= after.is_terminal


def test_calls_of_a_key_keep_their_order():
    """However many threads serve; and a crowd is warned of once."""
    serial, told = Serial(), {}
    for number in range(3_000):
        key = str(number % 7)
        serial.post(key, lambda key=key, number=number: told.setdefault(key, []).append(number))
    assert serial.wait(PATIENCE) == 0
    serial.close()
    assert all(each == sorted(each) for each in told.values())
    assert sum(map(len, told.values())) == 3_000


def test_very_many_that_wait_are_told_once(monkeypatch, caplog):
    """Something blocks: the log says so."""
    monkeypatch.setattr("chongming_task.runtime.serial._MANY", 10)
    serial, release = Serial(), threading.Event()
    for _ in range(50):
        serial.post("one", lambda: release.wait(PATIENCE))
    assert caplog.text.count("hooks wait for their turn") == 1
    release.set()
    assert serial.wait(PATIENCE) == 0
    serial.close()
