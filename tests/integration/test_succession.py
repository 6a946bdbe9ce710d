"""One controller after another on one store: what is asked is heard by exactly one of them, and nobody keeps what
another has taken."""

from __future__ import annotations

import pytest

from chongming_task import InvalidTransition
from chongming_task.core.ports import Write
from chongming_task.testing import FakeClock
from tests.support.holding import hold
from tests.support.waiting import until


def vanish(controller):
    """As if its process were gone: it is not heard of any more, and nobody waits for it to be."""
    store, lease = controller._link.store, controller._link.store.owner_leases()
    (mine,) = [each for each in lease if each.owner == controller.owner]
    controller._link.steward.stop()
    store.renew_owner(mine._replace(process="gone:0:1:1", lease_until=mine.lease_until.replace(year=2000)))


def test_a_record_of_a_controller_that_was_closed_is_free_at_once(controller_on):
    """Whoever wants it need not wait until it is old."""
    first, second = controller_on(), controller_on()
    handle = first.submit(hold)
    handle.wait_for("running", timeout=10)
    assert handle.stop()
    first.close(close_store=False)
    second.register(hold)
    assert second.retry(handle.id, force=True) is True
    second.handle(handle.id).wait_for("running", timeout=10)


def test_a_command_is_answered_when_its_controller_is_closed(controller_on):
    """Also one that was not heard any more; whoever asks later sees that nobody would hear it."""
    first, second = controller_on(), controller_on()
    handle = first.submit(len, args=("abc",), start=False)
    first.counts()
    first._link.steward.stop()  # it hears nothing more, as during its close
    assert second.skip(handle.id) is False
    first.close(close_store=False)
    (command,) = second.commands(handle.id)
    assert (command.outcome["ok"], command.outcome["error"]) == (False, "ControllerClosed")


def test_a_command_to_one_that_goes_at_that_moment_is_heard_by_its_sender(controller_on, shared, monkeypatch):
    """It has looked whether somebody hears it, and looks again."""
    first, second = controller_on(), controller_on()
    handle = first.submit(len, args=("abc",), start=False)
    first.counts()
    send = shared.submit_command

    def too_late(command):
        first.close(close_store=False)
        send(command)

    monkeypatch.setattr(shared, "submit_command", too_late)
    assert second.reset(handle.id, confirm=True) is False
    second.counts()
    (command,) = second.commands(handle.id)
    assert command.outcome == {"ok": True, "acted": True, "status": "pending"}
    assert second.get(handle.id).owner == second.owner


@pytest.mark.parametrize(
    ("verb", "words", "comes_to"),
    [
        ("stop", {}, "stopped"),
        ("cancel", {}, "cancelled"),
        ("skip", {}, "skipped"),
        ("pause", {}, "paused"),
        ("reset", {"confirm": True}, "pending"),
        ("force_transition", {"to": "failed", "actor": "ops", "reason": "known bad"}, "failed"),
    ],
)
def test_what_waited_for_a_controller_that_is_gone_takes_verbs(controller_on, verb, words, comes_to):
    """One that cannot run here is stopped, passed over or held like any other, and starts at no time."""
    gone = controller_on(max_parallel=1)
    _, queued = gone.submit(hold), gone.submit(len, args=("abc",))
    gone.counts()
    vanish(gone)
    heir = controller_on()
    assert getattr(heir, verb)(queued.id, **words) is True
    assert heir.get(queued.id).status == comes_to
    heir.counts()
    assert heir.attempts(queued.id) == []


def test_what_waited_and_is_only_to_go_on_is_cancelled(controller_on):
    """It cannot: what to run is not known here, and the verb changes nothing about that."""
    gone = controller_on(max_parallel=1)
    _, queued = gone.submit(hold), gone.submit(len, args=("abc",))
    gone.counts()
    vanish(gone)
    heir = controller_on()
    with pytest.raises(InvalidTransition, match="it was cancelled"):
        heir.resume(queued.id)
    assert [edge.trigger for edge in heir.transitions(queued.id)] == ["user:start", "reconcile:orphan"]


def test_an_attempt_is_lost_by_who_ran_it(controller_on, shared):
    """Not by an heir that took its record over and died before it said so."""
    gone, heir = controller_on(), controller_on()
    handle = gone.submit(hold)
    handle.wait_for("running", timeout=10)
    vanish(gone)
    heir._elsewhere.take_over([heir.get(handle.id)])
    vanish(heir)
    last = controller_on()
    assert last.reconcile().lost == (handle.id,)
    assert [attempt.owner for attempt in last.attempts(handle.id)] == [gone.owner]
    assert gone.owner in last.transitions(handle.id)[-1].reason


def test_who_was_out_of_reach_for_long_looks_what_is_still_its_own(controller_on, shared):
    """It lets go of what others have taken, though its task itself says nothing."""
    clock = FakeClock()
    slow, heir = controller_on(clock=clock), controller_on()
    handle = slow.submit(hold)
    handle.wait_for("running", timeout=10)
    shared.commit([Write(handle.snapshot.evolve({"owner": heir.owner}), handle.snapshot.status_version)])
    clock.advance(31)
    slow._link.steward.renew()
    slow.counts()
    assert slow.desynced_tasks == [handle.id]
    until(lambda: not handle.running, "its worker has let go", seconds=10)
    assert heir.reconcile().lost == (handle.id,)


def test_a_command_is_taken_again_by_who_gets_its_record_back(controller_on, shared, monkeypatch):
    """What it had answered before it lost the record was never stored."""
    clock = FakeClock()
    first, asker, second = controller_on(clock=clock), controller_on(), controller_on()
    handle = first.submit(len, args=("abc",), start=False)
    first.counts()
    first._link.steward.stop()  # from here on it turns by hand
    monkeypatch.setattr(first._link.steward, "_take", lambda command: None)  # its answer goes with the record
    assert asker.skip(handle.id) is False
    first._link.steward.turn()
    monkeypatch.undo()
    assert second._elsewhere.claim([handle.snapshot])
    assert first._elsewhere.claim([shared.get(handle.id)])
    clock.advance(11)  # longer than a command is anybody's alone
    first._link.steward.turn()
    first.counts()
    (command,) = asker.commands(handle.id)
    assert command.outcome["status"] == "skipped"
