"""An attached controller shows and steers the tasks of other processes, and never says more than is true."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from chongming_task import (
    Controller,
    ControllerClosed,
    InvalidTransition,
    NotWatched,
    StoreError,
    TaskSnapshot,
    TaskStatus,
    UnknownTask,
)
from chongming_task.api import attach_asking
from chongming_task.api.attach import Attached
from chongming_task.core.query import TaskQuery
from chongming_task.runtime.engine import Answer
from chongming_task.runtime.hosting import Notice, live_in
from chongming_task.stores.open import open_store
from chongming_task.testing import check_audit
from tests.support import neighbours
from tests.support.forge import Forge, Forged, forge
from tests.support.waiting import until

SCRIPT = Path(__file__).with_name("attach_workers.py")
PATIENCE = 20.0
S = TaskStatus

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where they meet."""
    return str(tmp_path / "runs.db") if request.param == "sqlite" else request.getfixturevalue("postgres_dsn")


@pytest.fixture(scope="module")
def workers() -> Iterator[Forge]:
    """Starts processes."""
    with forge(SCRIPT) as made:
        yield made


@pytest.fixture
def worker(workers: Forge, target: str) -> Iterator[Forged]:
    """A process with a controller."""
    made = workers.start("serve", target)
    assert made.readline() == "ready"
    yield made
    made.signal(signal.SIGKILL)
    made.wait()


@pytest.fixture
def attached(worker: Forged, target: str) -> Iterator[Attached]:
    """Attached to it. The audit trail is sound at the end."""
    with Controller.attach(target) as made:
        yield made
    with closing(open_store(target, read_only=True)) as store:
        check_audit(store)


class Follower:
    """What a view knows: the newest of every record that it was told.

    Args:
        attached: Whom it listens to.
    """

    def __init__(self, attached: Attached) -> None:
        self.tasks: dict[str, TaskSnapshot] = {}
        self._changed = threading.Condition()
        self.untap = attached.tap(self.take)
        self.take(attached.list_tasks())

    def take(self, tasks: Any) -> None:
        with self._changed:
            self.tasks.update((task.task_id, task) for task in tasks)
            self._changed.notify_all()

    def wait(self, true: Callable[[dict[str, TaskSnapshot]], object]) -> None:
        """Until what it knows satisfies."""
        with self._changed:
            assert self._changed.wait_for(lambda: true(self.tasks), PATIENCE), self.tasks

    def wait_status(self, task_id: str, status: str) -> TaskSnapshot:
        """Until a record is shown as that."""
        self.wait(lambda tasks: task_id in tasks and tasks[task_id].status == status)
        return self.tasks[task_id]


@pytest.fixture
def follower(attached: Attached) -> Iterator[Follower]:
    """A view."""
    made = Follower(attached)
    yield made
    made.untap()


def submitted(worker: Forged, what: str) -> str:
    """The id of a record that a worker has stored."""
    worker.tell(what)
    return worker.readline()


def asked(attached: Attached, verb: str, *ids: str) -> list[Answer]:
    """What a panel is told of a verb."""
    answers: list[Answer] = []
    came = threading.Event()
    attached.ask(verb, ids, actor="user:test", done=lambda found: (answers.extend(found), came.set()))
    assert came.wait(PATIENCE)
    return answers


def test_what_another_process_does_is_shown(worker, attached, follower):
    """New records, started or not; their status, progress, output, attempts and trail."""
    running, waiting = submitted(worker, "spin"), submitted(worker, "spin later")
    failed = submitted(worker, "fail_once")
    follower.wait_status(running, "running")
    follower.wait(lambda tasks: tasks[running].progress is not None and tasks[running].progress.done > 2)
    before = follower.tasks[running].progress.done
    follower.wait(lambda tasks: tasks[running].progress.done > before)  # beside any transition
    follower.wait_status(waiting, "pending")  # of which the feed tells nothing
    assert follower.wait_status(failed, "failed").failure.message == "once"
    assert attached.get(running).status == "running"
    until(lambda: [line.text for line in attached.output(running)] == ["it spins"], "its output is there")
    assert [each.attempt for each in attached.attempts(failed)] == [1]
    assert [str(edge.to_status) for edge in attached.transitions(failed)] == ["queued", "starting", "running", "failed"]
    assert {task.task_id for task in attached.list_tasks()} == {running, waiting, failed}
    counted = {status: count for status, count in attached.counts().items() if count}
    assert counted == {S.RUNNING: 1, S.PENDING: 1, S.FAILED: 1}
    with pytest.raises(UnknownTask):
        attached.get("nothing")


def test_every_verb_is_carried_out_and_confirmed(worker, attached, follower):
    """By the process that watches the record; in its trail stands who asked."""
    first, second, failed = (submitted(worker, what) for what in ("spin", "spin later", "fail_once"))
    follower.wait_status(first, "running")
    follower.wait_status(failed, "failed")
    assert attached.pause(first, actor="ada", reason="a look")
    assert attached.get(first).status == "paused"
    follower.wait_status(first, "paused")
    assert attached.resume(first)
    assert attached.stop(first)
    assert attached.get(first).status == "stopped"
    assert attached.start(second)
    assert attached.cancel(second)
    assert attached.get(second).status == "cancelled"
    assert attached.retry(failed, force=True)
    follower.wait_status(failed, "succeeded")
    assert attached.reset(failed, confirm=True)
    assert attached.skip(failed)
    assert attached.force_transition(failed, "succeeded", reason="it is", actor="ada")
    follower.wait(lambda tasks: tasks[failed].overridden)
    pause = next(edge for edge in attached.transitions(first) if edge.trigger == "user:pause")
    assert (pause.actor, pause.reason) == ("ada", "a look")
    assert all(command.outcome["ok"] for command in attached.commands(first))


def test_waiting_for_an_answer_leaves_the_kernel_free(worker, attached):
    """The answer of another process may take seconds: whoever hosts the thread is told, as for every long wait."""

    class Kernel:
        def __init__(self) -> None:
            self.waits = 0

        def block(self, notice: Notice, seconds: float | None, /) -> bool:
            self.waits += 1
            return notice.wait(seconds)

        def awaiting(self) -> nullcontext[None]:
            return nullcontext()

    kernel = Kernel()
    task_id = submitted(worker, "spin")
    live_in(kernel)
    try:
        assert attached.stop(task_id, wait=False) in {True, False}
    finally:
        live_in(None)
    assert kernel.waits == 1


def test_refusals_are_told_as_in_their_own_process(worker, attached, follower):
    """What the stored record refuses at once; what only its controller knows, in its words."""
    failed = submitted(worker, "fail_once")
    follower.wait_status(failed, "failed")
    with pytest.raises(InvalidTransition, match=r"cannot stop 'fail_once': it has failed") as caught:
        attached.stop(failed)
    assert (caught.value.current, caught.value.requested) == ("failed", "stop")
    assert attached.can(failed, "stop") == (False, str(caught.value))
    assert attached.can(failed, "retry", force=True) == (True, None)
    assert attached.commands(failed) == []
    with pytest.raises(UnknownTask):
        attached.stop("nothing")


def test_many_are_asked_at_once_and_each_is_answered(worker, attached, follower):
    """In order, what was done as well as what was refused."""
    running = [submitted(worker, "spin") for _ in range(3)]
    failed = submitted(worker, "fail_once")
    for task_id in running:
        follower.wait_status(task_id, "running")
    follower.wait_status(failed, "failed")
    answers = asked(attached, "stop", running[0], failed, running[1], "nothing", running[2])
    assert [answer.task_id for answer in answers] == [running[0], failed, running[1], "nothing", running[2]]
    assert [(answer.ok, answer.acted) for answer in answers] == [
        (True, True), (False, False), (True, True), (False, False), (True, True),
    ]  # fmt: skip
    assert isinstance(answers[3].error, UnknownTask)
    for task_id in running:
        follower.wait_status(task_id, "stopped")
    (again,) = asked(attached, "stop", running[0])
    assert (again.ok, again.acted) == (True, False)


def test_a_killed_owner_is_seen_and_what_it_left_is_shown_as_it_is(workers, target, worker, attached, follower):
    """Lost what ran; what waits says that nobody will start it; and no verb is said to have gone through."""
    running = [submitted(worker, "spin") for _ in range(4)]
    queued, kept = submitted(worker, "spin"), submitted(worker, "spin later")
    for task_id in running:
        follower.wait_status(task_id, "running")
    worker.kill()
    for task_id in running:
        lost = follower.wait_status(task_id, "lost")
        assert "is gone, and nobody has reconciled" in lost.failure.message
        assert not lost.live
        assert lost.ended_at is not None
    follower.wait(lambda tasks: tasks[queued].progress and "nobody will start it" in tasks[queued].progress.message)
    assert attached.get(kept).status == "pending"
    assert {task.task_id for task in attached.list_tasks(status="lost")} == set(running)
    assert attached.list_tasks(status="running") == []
    assert attached.list_tasks(status=["lost", "pending"], limit=1)[0].task_id == kept
    assert attached.counts()[S.LOST] == 4
    for verb in ("stop", "retry", "pause", "cancel"):
        with pytest.raises(NotWatched, match=f"cannot {verb} 'spin': nobody watches it"):
            getattr(attached, verb)(running[0])
        assert not attached.can(running[0], verb)[0]
    with pytest.raises(NotWatched):
        attached.force_transition(queued, "failed", reason="why", actor="ada")
    assert {type(answer.error) for answer in asked(attached, "stop", running[1], queued)} == {NotWatched}
    assert attached.commands(running[0]) == []

    successor = workers.start("serve", target, 1)
    assert successor.readline() == "ready"
    assert submitted(successor, "reconcile") == "4 2 0"
    follower.wait_status(queued, "running")  # taken over without a transition, and started
    follower.wait(lambda tasks: tasks[kept].progress is None)
    assert attached.get(running[0]).failure.message != lost.failure.message
    assert attached.stop(queued)
    successor.tell("close")
    assert successor.readline() == "closed"


def test_an_owner_that_is_silent_is_not_believed_to_have_heard(worker, attached, follower, monkeypatch):
    """Asked and no more; it is done when it wakes up. One that never does so has not heard."""
    monkeypatch.setattr(attach_asking, "ANSWER_SECONDS", 0.5)
    first, second = submitted(worker, "spin"), submitted(worker, "spin")
    follower.wait_status(first, "running")
    follower.wait_status(second, "running")
    worker.signal(signal.SIGSTOP)
    assert attached.pause(first) is False
    (answer,) = asked(attached, "pause", second)
    assert not answer.ok
    assert "has not answered within" in str(answer.error)
    worker.signal(signal.SIGCONT)
    follower.wait_status(first, "paused")
    follower.wait_status(second, "paused")


def test_an_owner_that_dies_while_it_is_asked_has_not_answered(worker, attached, follower):
    """Which is said as soon as it is seen."""
    task_id = submitted(worker, "spin")
    follower.wait_status(task_id, "running")
    worker.signal(signal.SIGSTOP)
    answers: list[Answer] = []
    came = threading.Event()
    attached.ask("stop", [task_id], actor="ada", done=lambda found: (answers.extend(found), came.set()))
    until(lambda: attached.commands(task_id), "it is sent")
    worker.kill()
    assert came.wait(PATIENCE)
    assert isinstance(answers[0].error, NotWatched)
    assert "gone before it answered" in str(answers[0].error)


def test_it_owns_nothing_and_runs_nothing(worker, attached, follower, target):
    """Neither a lease nor a record is its own; of two that are attached, both see and steer."""
    task_id = submitted(worker, "spin")
    follower.wait_status(task_id, "running")
    with Controller.attach(target) as second:
        other = Follower(second)
        assert second.pause(task_id)
        follower.wait_status(task_id, "paused")
        assert attached.resume(task_id)
        other.wait_status(task_id, "running")
        with closing(open_store(target, read_only=True)) as store:
            (lease,) = store.owner_leases()
            assert lease.owner == attached.get(task_id).owner
            assert store.bucket_leases() == []
        other.untap()
    assert follower.tasks[task_id].owner == lease.owner


@pytest.mark.slow
def test_after_much_has_happened_a_view_knows_what_the_store_knows(target, tmp_path):
    """Two controllers submit, run, fail and steer each other for a while; every record and every field agrees."""
    with forge(Path(neighbours.__file__)) as made:
        both = [made.start("live", target, tmp_path / "log", 4) for _ in range(2)]
        with closing(open_store(target)), Controller.attach(target) as attached:
            follower = Follower(attached)
            for each in both:
                assert each.readline(60) == "quiet"
            for each in both:
                each.tell("end")
                each.readline()
            with closing(open_store(target, read_only=True)) as store:
                stored = {task.task_id: task for task in store.query(TaskQuery())}
            assert len(stored) > 50
            until(lambda: follower.tasks == stored, "a view knows everything")
            follower.untap()


def test_a_file_that_is_taken_away_is_followed_again_when_it_is_back(workers, tmp_path, caplog):
    """Meanwhile it says so, once; what happened meanwhile is told, and so is another file in its place."""
    path, aside = tmp_path / "runs.db", tmp_path / "aside.db"
    worker = workers.start("serve", path)
    assert worker.readline() == "ready"
    task_id = submitted(worker, "spin")
    with Controller.attach(path) as attached:
        follower = Follower(attached)
        follower.wait_status(task_id, "running")
        path.rename(aside)
        until(lambda: not attached.health.ok, "it notices")
        assert "cannot be reached since" in str(attached.health)
        with pytest.raises(StoreError, match="put it back"):
            attached.list_tasks()
        assert "cannot be read" in repr(attached)
        (answer,) = asked(attached, "stop", task_id)
        assert isinstance(answer.error, StoreError)
        aside.rename(path)
        until(lambda: attached.health.ok, "it is back")
        assert str(attached.health) == "no trouble with the store is known"
        assert attached.stop(task_id)
        follower.wait_status(task_id, "stopped")
        worker.tell("close")
        worker.readline()
        for each in tmp_path.glob("runs.db*"):
            each.unlink()
        with Controller(path, echo=False) as other:
            handle = other.submit(pow, 2, 3)
            handle.wait(PATIENCE)
            follower.wait_status(handle.id, "succeeded")
        follower.untap()
    told = [record.getMessage() for record in caplog.records if "not followed until" in record.getMessage()]
    assert len(told) <= 3


@pytest.mark.postgres
def test_a_server_that_is_away_is_followed_again_when_it_is_back(workers):
    """And what happened meanwhile is told."""
    from tests.support.postgres import restartable

    with restartable() as server:
        worker = workers.start("serve", server.dsn)
        assert worker.readline() == "ready"
        task_id = submitted(worker, "spin")
        with Controller.attach(server.dsn) as attached:
            follower = Follower(attached)
            follower.wait_status(task_id, "running")
            server.stop()
            until(lambda: not attached.health.ok, "it notices")
            with pytest.raises(StoreError):
                attached.get(task_id)
            server.start()
            until(lambda: attached.health.ok, "it is back")
            seen = follower.tasks[task_id].progress
            follower.wait(lambda tasks: tasks[task_id].progress != seen)
            until(lambda: attached.stop(task_id), "the worker hears again")
            follower.wait_status(task_id, "stopped")
            follower.untap()
        worker.tell("close")
        worker.readline()


def test_closed_it_says_so_and_the_tasks_go_on(worker, target):
    """Twice is as good as once; and a forked child cannot use it."""
    task_id = submitted(worker, "spin")
    with Controller.attach(target) as attached:
        pid = os.fork()
        if pid == 0:
            try:
                attached.get(task_id)
            except ControllerClosed:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    attached.close()
    for ask in (
        lambda: attached.get(task_id),
        attached.list_tasks,
        lambda: attached.stop(task_id),
        lambda: attached.tap(print),
        attached.panel,
        attached.__enter__,
    ):
        with pytest.raises(ControllerClosed):
            ask()
    assert repr(attached).endswith(": closed>")
    with Controller.attach(target) as again:
        assert again.get(task_id).status == "running"
        assert again.stop(task_id)
