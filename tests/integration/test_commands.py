"""Controllers on one store steer each other's records: asked through the store, answered with the change."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chongming_task import (
    BucketPolicy,
    ConfigurationError,
    Controller,
    InvalidTransition,
    MemoryTaskStore,
    PostgresTaskStore,
    SqliteTaskStore,
    StoreError,
    TaskStatusChanged,
    UnknownTask,
    task,
)
from chongming_task.api import elsewhere
from chongming_task.core.commands import command_of, trigger_of
from chongming_task.core.ports import Write
from chongming_task.core.records import Command, OwnerLease, TaskSnapshot
from chongming_task.core.states import Verb
from chongming_task.core.text import clean
from chongming_task.core.triggers import Asked
from chongming_task.runtime.ids import new_id
from chongming_task.runtime.ownership import this_process
from chongming_task.testing import check_audit

PATIENCE = 20.0


@task
def spin(ctx) -> str:
    """Runs until it is stopped."""
    while True:
        ctx.sleep(60)


@task
def fail_once(ctx) -> str:
    """Only its first attempt fails."""
    if ctx.attempt == 1:
        raise RuntimeError("once")
    return "done"


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def meeting_place(request, tmp_path):
    """Gives each controller a store of its own on the same data; in memory it is one object."""
    opened = []

    def store_of(name):
        if request.param == "sqlite":
            opened.append(SqliteTaskStore(tmp_path / "runs.db"))
        elif request.param == "postgres":
            opened.append(PostgresTaskStore(request.getfixturevalue("postgres_dsn")))
        elif not opened:
            opened.append(MemoryTaskStore())
        return opened[-1]

    yield store_of
    for store in opened:
        store.close()


@pytest.fixture
def worker(meeting_place):
    """The controller whose records are steered."""
    with closing(meeting_place("worker")) as store:
        controller = Controller(store, echo=False)
        yield controller
        controller.close(timeout=5, close_store=False)
        check_audit(store, settled=True)


@pytest.fixture
def operator(worker, meeting_place):
    """One in another notebook, with no records of its own."""
    controller = Controller(meeting_place("operator"), echo=False)
    yield controller
    controller.close(close_store=False)


def answer_of(controller, task_id):
    """The outcome of the newest command of a record, once it is there."""
    mark = None
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        mark = controller._link.store.wait_for_change(0, mark)
        newest = controller.commands(task_id)[-1]
        if newest.completed_at is not None:
            return newest.outcome
        controller._link.store.wait_for_change(0.5, mark)
    raise AssertionError(f"never answered: {newest}")


def test_a_stop_from_elsewhere_is_asked_and_comes_true(worker, operator):
    """False says that it is asked; then the record stops, and the answer says what it was given."""
    handle = worker.submit(spin)
    handle.wait_for("running", timeout=PATIENCE)
    assert operator.stop(handle.id, reason="too dear", actor="an operator") is False
    assert handle.wait(timeout=PATIENCE) == "stopped"
    assert answer_of(operator, handle.id) == {"ok": True, "acted": True, "status": "stopping"}
    asked = next(edge for edge in handle.transitions if edge.trigger == "user:stop")
    assert (asked.actor, asked.reason) == ("an operator", "too dear")


def test_every_verb_travels(worker, operator):
    """Each of them, with its options, on a plain task whose recipe only its own controller has."""
    handle = worker.submit(spin, start=False)
    worker.counts()  # now it is stored, for others to see

    def travels(verb, *words, comes_to, **options):
        assert verb(handle.id, *words, **options) is False
        assert answer_of(operator, handle.id)["ok"]
        worker.counts()  # what is answered is stored, and after this told as well
        assert handle.wait_for(comes_to, timeout=PATIENCE) == comes_to

    travels(operator.start, comes_to="running")
    travels(operator.pause, timeout=5, comes_to="paused")
    travels(operator.resume, comes_to="running")
    travels(operator.cancel, "not needed", comes_to="cancelled")
    travels(operator.retry, force=True, comes_to="running")
    travels(operator.force_transition, "failed", actor="ops", reason="known bad", comes_to="failed")
    travels(operator.skip, "never mind", comes_to="skipped")
    travels(operator.reset, confirm=True, force=True, comes_to="pending")
    assert [command.verb for command in operator.commands(handle.id)][-2:] == ["skip", "reset"]


def test_what_the_record_refuses_is_refused_here(worker, operator):
    """By how it is stored, before anything is sent."""
    handle = worker.submit(len, args=("abc",))
    handle.wait(timeout=PATIENCE)
    with pytest.raises(InvalidTransition, match="it has succeeded"):
        operator.pause(handle.id)
    with pytest.raises(UnknownTask):
        operator.stop("no such record")
    assert operator.commands(handle.id) == []


def test_what_its_controller_refuses_is_told_in_the_answer(worker, operator):
    """It changed meanwhile, or what was sent is no verb at all."""
    handle = worker.submit(len, args=("abc",))
    handle.wait(timeout=PATIENCE)
    store, now = operator._link.store, datetime.now(UTC)
    store.submit_command(command_of(new_id(), handle.id, Asked(Verb.PAUSE), now))
    assert answer_of(operator, handle.id)["error"] == "InvalidTransition"
    for verb, args in [
        ("explode", {}),
        ("stop", {"window": "long"}),
        ("stop", {"window": -1}),
        ("stop", {"window": True}),
        ("stop", {"graceful": 1}),
        ("stop", {"unheard": "of"}),
        ("stop", {"reason": 7}),
        ("force_transition", {"to": "nowhere", "reason": "x"}),
        ("force_transition", {"to": "failed"}),
        ("stop", {"window": 1e300}),
        ("stop", {"window": 10**400}),
    ]:
        store.submit_command(Command(new_id(), handle.id, verb, args, "somebody", now))
        outcome = answer_of(operator, handle.id)
        assert (outcome["ok"], outcome["error"]) == (False, "ConfigurationError")
    assert handle.status == "succeeded"


def test_a_command_that_cannot_be_carried_out_holds_nobody_up(worker, operator, monkeypatch):
    """Whatever is wrong with it: it is refused, or taken again later, and those behind it are carried out."""
    handle = worker.submit(spin)
    handle.wait_for("running", timeout=PATIENCE)
    other = worker.submit(spin)
    get, store, now = worker._link.snapshot, operator._link.store, datetime.now(UTC)

    def broken(command):
        raise ZeroDivisionError("a fault of ours")

    def unread(task_id):
        if task_id == gone.task_id:
            raise StoreError("simulated: this record cannot be read")
        return get(task_id)

    gone = TaskSnapshot(new_id(), "gone", now, owner=worker.owner)
    store.commit([Write(gone, None)])
    monkeypatch.setattr(worker._link, "snapshot", unread)
    monkeypatch.setattr(elsewhere, "trigger_of", lambda c: broken(c) if c.verb == "skip" else trigger_of(c))
    for task_id, verb in [(gone.task_id, "stop"), (other.id, "skip"), (handle.id, "stop")]:
        store.submit_command(Command(new_id(), task_id, verb, {}, "somebody", now))
    assert handle.wait(timeout=PATIENCE) == "stopped"
    refusal = answer_of(operator, other.id)
    assert (refusal["ok"], "ZeroDivisionError" in refusal["message"]) == (False, True)
    assert operator.commands(gone.task_id)[0].completed_at is None
    monkeypatch.undo()


def test_words_of_a_stranger_can_be_stored(worker, operator):
    """Who writes a command past this library cannot keep its record from being stored."""
    handle = worker.submit(spin)
    handle.wait_for("running", timeout=PATIENCE)
    odd = "a\0b\x1b[31m" + chr(0xD800)
    operator._link.store.submit_command(
        Command(new_id(), handle.id, "stop", {"reason": odd}, "bad\x1b", datetime.now(UTC))
    )
    assert handle.wait(timeout=PATIENCE) == "stopped"
    asked = next(edge for edge in operator.transitions(handle.id) if edge.trigger == "user:stop")
    assert (asked.actor, asked.reason) == (clean("bad\x1b"), clean(odd))


def test_a_command_whose_taker_died_is_taken_again(worker, operator):
    """Its lease runs out; somebody with the same records carries it out, once."""
    handle = worker.submit(spin)
    handle.wait_for("running", timeout=PATIENCE)
    store, now = operator._link.store, datetime.now(UTC)
    long_ago = now - timedelta(minutes=5)
    command = Command(new_id(), handle.id, "stop", {}, "somebody", long_ago, "the dead", long_ago)
    store.submit_command(command)
    assert handle.wait(timeout=PATIENCE) == "stopped"
    assert answer_of(operator, handle.id)["ok"]
    assert [edge.trigger for edge in handle.transitions].count("user:stop") == 1


def test_an_answer_waits_for_its_store(worker, operator, monkeypatch):
    """The change and the answer come with the same commit, however late; and the verb is applied once."""
    handle = worker.submit(fail_once)
    assert handle.wait(timeout=PATIENCE) == "failed"
    store = worker._link.store
    commit, down = store.commit, [True]

    def shaky(writes):
        if down[0]:
            raise StoreError("simulated")
        return commit(writes)

    worker.counts()
    monkeypatch.setattr(store, "commit", shaky)
    succeeded = threading.Event()

    def look(event):
        if event.to_status == "succeeded":
            succeeded.set()

    worker.watch(look, task_id=handle, types=[TaskStatusChanged])
    operator.retry(handle.id, force=True)
    assert succeeded.wait(PATIENCE)
    assert operator.commands(handle.id)[0].completed_at is None
    down[0] = False
    assert answer_of(operator, handle.id)["ok"]
    assert [edge.trigger for edge in operator.transitions(handle.id)].count("user:retry") == 1


def test_two_processes_cannot_go_by_one_name(tmp_path):
    """The second says so at its first submission; one whose process is gone takes nothing."""
    path = tmp_path / "runs.db"
    later = datetime.now(UTC) + timedelta(minutes=5)
    first = Controller(path)  # any living process but this one will do
    alive = f"{this_process().rsplit(':', 2)[0]}:1"
    with closing(SqliteTaskStore(path)) as store:
        began = Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19]
        store.renew_owner(OwnerLease("node-1", f"{alive}:{began}", later))
        store.renew_owner(OwnerLease("node-2", f"{alive}:7", later))
    first.close()
    with Controller(path, owner="node-1") as second, pytest.raises(ConfigurationError, match="another controller"):
        second.submit(len, args=("abc",))
    with Controller(path, owner="node-2") as second:
        assert second.submit(len, args=("abc",)).result(PATIENCE) == 3


def test_two_controllers_of_one_process_cannot_go_by_one_name(meeting_place):
    """Each would take the records of the other for its own orphans. Once one is closed, its name is free."""
    store = meeting_place("first")
    with Controller(store, owner="me", echo=False) as first:
        held = first.submit(spin)
        held.wait_for("running", timeout=PATIENCE)
        second = Controller(meeting_place("second"), owner="me", echo=False)
        for call in (lambda: second.submit(len, args=("abc",)), second.reconcile, lambda: second.stop(held.id)):
            with pytest.raises(ConfigurationError, match="in this process"):
                call()
        with pytest.raises(ConfigurationError, match="another controller"):
            Controller(store, owner="me", owned_buckets=[1])
        second.close(close_store=False)
        assert held.status == "running"
        first.stop(held)
        first.close(close_store=False)
    with Controller(meeting_place("third"), owner="me", echo=False) as third:
        assert third.submit(len, args=("abc",)).result(PATIENCE) == 3
        third.wait_all()
        third.close(close_store=False)


def test_a_deployment_agrees_on_its_buckets(meeting_place):
    """Who uses them first decides; who says nothing takes what is there; who says otherwise is refused."""
    with Controller(meeting_place("first"), bucket_policy=BucketPolicy(7)) as first:
        with pytest.raises(ConfigurationError, match="num_buckets"):
            Controller(meeting_place("second"), bucket_policy=BucketPolicy(8))
        with Controller(meeting_place("third")) as third:
            found = {third.submit(len, args=("abc",), bucket_key=str(n)).snapshot.bucket for n in range(40)}
            assert found == set(range(7))
            third.close(close_store=False)
        first.close(close_store=False)


def test_the_default_number_is_fixed_with_the_first_key(meeting_place):
    """Not before: who has no buckets decides nothing."""
    with Controller(meeting_place("first")) as first:
        assert "num_buckets" not in first._link.store.meta()
        first.submit(len, args=("abc",), bucket_key="tenant")
        assert first._link.store.meta()["num_buckets"] == "64"
        first.close(close_store=False)


def test_a_bucket_is_one_controllers_alone(meeting_place, caplog):
    """Two who want the same one: the second is refused, told whose it is, and gets it when the first is gone."""
    first = Controller(meeting_place("first"), bucket_policy=BucketPolicy(4), owned_buckets=[0, 1, 2])
    second = Controller(meeting_place("second"), owned_buckets=[2])
    key = next(str(n) for n in range(100) if BucketPolicy(4).bucket_for(str(n)) == 2)
    assert "buckets [2] are held by another controller" in caplog.text
    with pytest.raises(ConfigurationError, match=f"which {first.owner} holds now"):
        second.submit(len, args=("abc",), bucket_key=key)
    first.submit(len, args=("abc",), bucket_key=key).result(PATIENCE)
    audit = second.audit_buckets()
    assert audit.owners == {first.owner: (0, 1, 2), second.owner: (2,)}
    assert (audit.holes, audit.overlaps) == ((3,), {2: tuple(sorted((first.owner, second.owner)))})
    first.close(close_store=False)
    second._link.steward.renew()
    assert second.submit(len, args=("abc",), bucket_key=key).result(PATIENCE) == 3
    assert second.audit_buckets().holes == (0, 1, 3)
    second.close(close_store=False)


def test_what_waits_in_a_hole_is_counted(meeting_place):
    """Records whose bucket nobody takes any more."""
    with Controller(meeting_place("first"), bucket_policy=BucketPolicy(4)) as first:
        handle = first.submit(len, args=("abc",), bucket_key="tenant", start=False)
        bucket = handle.snapshot.bucket
        assert first.audit_buckets().stranded == {}  # nobody divides them
        others = [each for each in range(4) if each != bucket]
        with Controller(meeting_place("second"), owned_buckets=others) as second:
            assert first.audit_buckets().stranded == {bucket: 1}
            second.close(close_store=False)
        first.close(close_store=False)
