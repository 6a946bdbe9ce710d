"""Durable first, then told, then done; and a store that fails for a while."""

from __future__ import annotations

import itertools

import pytest

from chongming_task import InvalidTransition, MemoryTaskStore, StoreError, TaskStatus
from chongming_task.core.effects import StopReason
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.ports import CommandAnswer, Touch, Write
from chongming_task.core.records import TaskSnapshot, Transition
from chongming_task.runtime.journal import Journal
from chongming_task.testing import FakeClock, ManualExecutor, check_audit
from chongming_task.testing.contract_records import AT, a_command, a_record, an_edge, born
from tests.support.rig import job

LOST = Failure(FailureKind.LOST, "its process is gone")


class SpyingStore(MemoryTaskStore):
    """Writes down every call, and fails when told to."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls
        self.broken = False
        self.tried = 0

    def commit(self, writes):
        self.tried += 1
        if self.broken:
            raise StoreError("no space left on device")
        for write in writes:
            self.calls.append(("stored", write.snapshot.task_id, str(write.snapshot.status)))
        self.calls.append(("commit",))
        return super().commit(writes)

    def touch(self, touches):
        if self.broken:
            raise StoreError("no space left on device")
        super().touch(touches)


class SpyingExecutor(ManualExecutor):
    """Writes down every launch."""

    calls: list

    def launch(self, request, deliver):
        self.calls.append(("launched", request.task_id))
        return super().launch(request, deliver)


@pytest.fixture
def calls():
    return []


@pytest.fixture
def spied(make_rig, calls):
    executor = SpyingExecutor()
    executor.calls = calls
    return make_rig(SpyingStore(calls), executor)


def test_one_tick_is_one_commit(spied, calls):
    """However many records it touches."""
    handles = [spied.controller.submit(job) for _ in range(20)]
    spied.engine.tick()
    assert calls.count(("commit",)) == 1
    for handle in handles:
        spied.worker(handle).begin()
        spied.worker(handle).finish()
    spied.engine.tick()
    assert calls.count(("commit",)) == 2
    spied.engine.tick()
    assert calls.count(("commit",)) == 2  # nothing to store, nothing stored


def test_nothing_is_launched_or_told_before_it_is_stored(spied, calls):
    """STARTING is durable before the worker is asked for, and before any view hears of it."""
    spied.controller.tap(lambda changed: calls.extend(("told", t.task_id, str(t.status)) for t in changed))
    handle = spied.submit()
    assert calls == [
        ("stored", handle.id, "starting"),
        ("commit",),
        ("told", handle.id, "starting"),
        ("launched", handle.id),
    ]


def test_an_answer_means_stored(spied, calls):
    """When a verb returns, the store holds what it changed."""
    handle = spied.submit(start=False)
    handle.skip()
    assert spied.store.get(handle.id).status == "skipped"


def test_tasks_go_on_while_the_store_fails(spied):
    """Failures are told; on recovery everything is stored, in order, as if nothing had been."""
    before, worker = spied.running()
    spied.store.broken = True
    worker.finish("done")
    during = spied.submit()
    spied.worker(during).begin()
    spied.settle()
    assert (before.status, during.status) == ("succeeded", "running")
    assert "no space left" in spied.controller.persist_failures[0]
    assert spied.engine.journal.behind == 2
    assert spied.store.get(during.id) is None
    spied.worker(during).finish()
    spied.settle()
    spied.store.broken = False
    spied.advance(1)
    assert spied.engine.journal.behind == 0
    assert spied.trail(during) == ["queued", "starting", "running", "succeeded"]
    assert check_audit(spied.store, settled=True) == 2


def test_a_failing_store_is_not_pressed(spied, caplog):
    """It rests between tries, longer every time, whatever goes on meanwhile, and the log does not fill."""
    spied.store.broken = True
    for _ in range(50):
        spied.submit()
    assert spied.store.tried == 1
    tried = []
    for _ in range(200):
        spied.advance(0.125)
        if spied.store.tried > 1 + sum(count for _, count in tried):
            tried.append((spied.clock.monotonic(), spied.store.tried - 1 - sum(count for _, count in tried)))
    moments = [moment for moment, _ in tried]
    assert [after - before for before, after in itertools.pairwise(moments)] == [0.5, 1, 2, 4, 5, 5, 5]
    # Every third time it is found out whether it is the store: that takes three tries more, of one record each.
    assert [count for _, count in tried] == [1, 4, 1, 1, 4, 1, 1, 4]
    assert caplog.text.count("the task store failed") == 1
    spied.store.broken = False
    spied.advance(5)
    assert spied.engine.journal.behind == 0


def test_the_failures_told_are_bounded(spied):
    """A store that is broken for ever does not fill the memory."""
    spied.store.broken = True
    spied.submit()
    for _ in range(300):
        spied.advance(5)
    assert 0 < len(spied.controller.persist_failures) <= 100
    spied.store.broken = False
    spied.advance(5)


def test_the_end_stores_what_was_left_over(spied):
    """Closing does not wait for the rest to be over."""
    spied.store.broken = True
    handle = spied.submit(start=False)
    spied.store.broken = False
    report = spied.controller.close()
    assert report.stopped == (handle.id,)
    assert spied.store.get(handle.id).status == "stopped"


def test_the_end_of_a_given_up_worker_is_noted_although_the_store_failed(spied):
    """What becomes known too late is not news that newer news replaces."""
    handle, worker = spied.running()
    handle.stop(graceful=False)
    spied.store.broken = True
    worker.finish()
    spied.settle()
    spied.store.broken = False
    spied.advance(1)
    assert not spied.store.get(handle.id).abandoned
    assert "given up returned" in spied.store.attempts(handle.id)[0].note


def test_a_record_that_somebody_else_wrote_is_left_to_him(spied):
    """The conflict is told, ours is held back, its handle shows what is stored, and its worker is told to stop."""
    handle, worker = spied.running()
    task = spied.store.get(handle.id)
    theirs = task._replace(status=TaskStatus.LOST, status_version=4, live=False, ended_at=AT)
    edge = Transition(handle.id, 4, TaskStatus.RUNNING, TaskStatus.LOST, "reconcile:orphan", "theirs", None, AT)
    (attempt,) = spied.store.attempts(handle.id)
    closed = attempt._replace(status=TaskStatus.LOST, ended_at=AT)
    MemoryTaskStore.commit(spied.store, [Write(theirs, 3, (edge,), (closed,))])
    worker.report(1, 2)
    with pytest.raises(InvalidTransition, match="it was lost"):
        handle.pause(wait=False)
    assert handle.status == "lost"
    assert worker.stop_reason is StopReason.DETACHED
    worker.finish("ours")
    other = spied.submit()
    assert spied.controller.desynced_tasks == [handle.id]
    assert "expected version 3, found 4" in spied.controller.persist_failures[-1]
    worker.deliver_again(None)
    spied.settle()
    assert spied.store.get(handle.id) == theirs
    assert spied.store.get(other.id).status == "starting"
    handle.retry(force=True)  # nobody else watches it: it is taken back
    assert handle.status == "starting"
    assert spied.controller.desynced_tasks == []


def test_a_worker_that_cannot_be_stopped_holds_up_no_other_record(spied, caplog):
    """When its record turns out to be another controller's: the rest of the tick is stored and answered."""
    handle, worker = spied.running()
    task = spied.store.get(handle.id)
    theirs = task._replace(status=TaskStatus.LOST, status_version=4, live=False, ended_at=AT, failure=LOST)
    edge = Transition(handle.id, 4, TaskStatus.RUNNING, TaskStatus.LOST, "reconcile:orphan", "theirs", None, AT)
    (attempt,) = spied.store.attempts(handle.id)
    closed = attempt._replace(status=TaskStatus.LOST, ended_at=AT, failure=LOST)
    MemoryTaskStore.commit(spied.store, [Write(theirs, 3, (edge,), (closed,))])
    stop = worker.stop

    def broken(reason):
        stop(reason)
        raise RuntimeError("simulated")

    worker.stop = broken
    other = spied.controller.submit(job)  # in the same tick
    with pytest.raises(InvalidTransition, match="it was lost"):
        handle.pause(wait=False)
    assert (handle.status, other.status) == ("lost", "starting")
    assert spied.store.get(other.id).status == "starting"
    assert "could not stop a worker" in caplog.text


def test_progress_is_no_transaction_of_its_own_record(spied, calls):
    """It touches, moves no version, and is not kept while the store is behind."""
    handle, worker = spied.running()
    version = spied.store.get(handle.id).status_version
    commits = calls.count(("commit",))
    worker.report(5, 10, "rows")
    spied.settle()
    assert spied.store.get(handle.id).progress.done == 5
    assert spied.store.get(handle.id).status_version == version
    assert calls.count(("commit",)) == commits
    spied.store.broken = True
    worker.report(6, 10, "rows")
    spied.settle()
    assert (handle.progress.done, spied.store.get(handle.id).progress.done) == (6, 5)
    assert "touch" in spied.controller.persist_failures[-1]


def test_a_store_that_returns_nonsense_is_told(caplog):
    """A contract broken by a third party does not end the engine."""

    class Silent(MemoryTaskStore):
        def commit(self, writes):
            super().commit(writes)

    journal = Journal(Silent())
    journal.add([Write(TaskSnapshot("t1", "demo", FakeClock().now()), None)])
    assert journal.flush(0.0) == 0.25
    assert "TypeError" in journal.failures[0]
    assert not journal.due(0.2)
    assert journal.due(0.25)


def test_touches_of_a_foreign_record_are_left_out():
    """Not even progress is written into a record that is somebody else's."""
    store = MemoryTaskStore()
    task = TaskSnapshot("t1", "demo", FakeClock().now())
    store.commit([Write(task._replace(status_version=4), None)])
    journal = Journal(store)
    journal.add([Write(task, None)])
    assert journal.flush(0.0) is None
    journal.touch([Touch("t1", abandoned=True)])
    assert not store.get("t1").abandoned


class Forgetful(MemoryTaskStore):
    """Stores, and loses the answer: a connection that breaks just after the commit."""

    broken = False

    def commit(self, writes):
        found = super().commit(writes)
        if self.broken:
            raise StoreError("the server closed the connection")
        return found


def test_an_answer_that_was_lost_is_no_other_writer(make_rig):
    """What the store had taken is ours; only the rest is stored, and nothing is held back."""
    rig = make_rig(Forgetful())
    first, worker = rig.running()
    rig.store.broken = True
    worker.finish(1)  # taken, though the store raised
    fresh, idle = rig.submit(), rig.submit(start=False)
    idle_later = rig.submit(start=False)
    rig.advance(1)  # all taken by now, and raised again
    rig.worker(fresh).begin()
    rig.worker(fresh).finish(2)
    idle_later.skip()
    rig.settle()
    rig.store.broken = False
    rig.advance(1)
    assert rig.controller.desynced_tasks == []
    assert rig.engine.journal.behind == 0
    assert [rig.store.get(h.id).status for h in (first, fresh, idle, idle_later)] == [
        "succeeded", "succeeded", "pending", "skipped",
    ]  # fmt: skip
    assert rig.trail(fresh) == ["queued", "starting", "running", "succeeded"]


def test_another_writer_is_told_from_a_lost_answer(make_rig):
    """The trail in the store is not ours."""
    rig = make_rig(Forgetful())
    handle, worker = rig.running()
    theirs = rig.store.transitions(handle.id)[-1]._replace(version=4, actor="somebody else")
    MemoryTaskStore.commit(rig.store, [Write(rig.store.get(handle.id)._replace(status_version=4), 3, (theirs,))])
    worker.finish(1)
    rig.settle()
    assert rig.controller.desynced_tasks == [handle.id]
    with rig.store._lock:
        del rig.store._tasks[handle.id]


class Recording(MemoryTaskStore):
    """Keeps what it was given last, and fails when told to."""

    broken = True

    def commit(self, writes):
        self.given = list(writes)
        if self.broken:
            raise StoreError("no space left on device")
        return super().commit(writes)


def test_commands_that_a_waiting_write_carries_out_are_answered_with_it():
    """Two changes of one record that become one while the store fails bring both their answers."""
    store, now = Recording(), FakeClock().now()
    journal = Journal(store)
    task = TaskSnapshot("t1", "demo", now)
    answers = [CommandAnswer(name, "me", now) for name in ("first", "second")]
    journal.add([Write(task, None, answers=(answers[0],))])
    assert journal.flush(0.0) is not None
    journal.add([Write(task, 0, answers=(answers[1],))])
    store.broken = False
    assert journal.flush(2.0) is None
    assert store.given == [Write(task, None, answers=tuple(answers))]


def test_a_waiting_write_expects_what_its_first_change_expected():
    """Neither the version nor the owner in the store has moved meanwhile."""
    store, now = Recording(), FakeClock().now()
    journal = Journal(store)
    task = TaskSnapshot("t1", "demo", now, owner="me", status_version=4)
    journal.add([Write(task, 4, expect_owner="the one before")])
    assert journal.flush(0.0) is not None
    journal.add([Write(task, 5, expect_owner="me")])
    journal.flush(60.0)
    assert [(write.expect_version, write.expect_owner) for write in store.given] == [(4, "the one before")]


def fenced_journal():
    """A journal that has met somebody else's version of record t1, and its store."""
    store = MemoryTaskStore()
    theirs = TaskSnapshot("t1", "theirs", FakeClock().now(), status_version=4)
    store.commit([Write(theirs, None)])
    journal = Journal(store)
    journal.add([Write(theirs._replace(name="ours", status_version=2), 1)])
    journal.flush(0.0)
    return journal, store, theirs


def test_a_record_of_somebody_else_is_news_once():
    """Whoever watches its worker is told, and finds it listed ever after."""
    journal, _, _ = fenced_journal()
    assert [(found.task_id, found.found) for found in journal.take_fenced()] == [("t1", 4)]
    assert journal.take_fenced() == []
    assert list(journal.desynced) == ["t1"]


def test_a_record_that_was_adopted_again_is_written_again():
    """Until then nothing of it is; what was held back meanwhile is forgotten."""
    journal, store, theirs = fenced_journal()
    journal.add([Write(theirs._replace(name="held back", status_version=5), 4)])
    assert journal.behind == 0
    journal.resync("t1")
    assert journal.desynced == {}
    journal.add([Write(theirs._replace(name="adopted", status_version=5), 4)])
    assert journal.flush(1.0) is None
    assert store.get("t1").name == "adopted"


def adoption():
    """The write by which record t1, version 1 of somebody who died, becomes ours."""
    task = a_record("t1", owner="me", status=TaskStatus.LOST, status_version=2)
    return Write(task, 1, (an_edge(2, "queued", "lost"),), expect_owner="dead")


def test_an_adoption_whose_answer_was_lost_is_no_other_owner():
    """The owner that the second try meets is ourselves."""
    store = Forgetful()
    store.commit([born(owner="dead")])
    journal = Journal(store)
    store.broken = True
    journal.add([adoption()])
    assert journal.flush(0.0) is not None
    store.broken = False
    assert journal.flush(60.0) is None
    assert journal.desynced == {}
    assert store.get("t1").owner == "me"


def test_a_record_that_was_taken_over_is_told_as_such():
    """Also when its version has not moved."""
    store = Forgetful()
    store.commit([born(owner="the quicker one")])
    journal = Journal(store)
    journal.add([adoption()])
    assert journal.flush(0.0) is None
    assert [found.owner for found in journal.take_fenced()] == ["the quicker one"]
    assert store.get("t1").owner == "the quicker one"


class Answering(Recording):
    """Keeps the order of what it is asked for."""

    def __init__(self):
        super().__init__()
        self.order = []
        self.broken = self.deaf = False

    def commit(self, writes):
        found = super().commit(writes)
        self.order.append("commit")
        return found

    def complete_command(self, command_id, owner, *, now, outcome=None):
        if self.deaf:
            raise StoreError("the server closed the connection")
        self.order.append(command_id)
        return super().complete_command(command_id, owner, now=now, outcome=outcome)


def test_an_answer_without_a_change_is_stored_after_the_changes_before_it():
    """It may speak of them: that there was nothing left to do."""
    store = Answering()
    store.submit_command(a_command("c1"))
    store.claim_commands("me", now=AT, lease_seconds=60)
    journal = Journal(store)
    journal.answer(CommandAnswer("c1", "me", AT, {"ok": True}))
    journal.add([born()])
    assert journal.behind == 2
    store.broken = True
    assert journal.flush(0.0) is not None
    assert store.order == []
    store.broken = False
    assert journal.flush(60.0) is None
    assert store.order == ["commit", "c1"]
    assert (store.command("c1").completed_at, store.command("c1").outcome) == (AT, {"ok": True})
    assert journal.behind == 0


def test_an_answer_is_kept_while_the_store_fails():
    """And that somebody else has answered meanwhile is no fault."""
    store = Answering()
    journal = Journal(store)
    store.deaf = True
    journal.answer(CommandAnswer("c1", "me", AT))
    assert journal.due(0.0)
    assert journal.flush(0.0) is not None
    assert "answer to command c1: StoreError" in journal.failures[-1]
    assert journal.behind == 1
    store.deaf = False
    assert journal.flush(60.0) is None
    assert store.order == ["c1"]
    assert journal.behind == 0
