"""Every verb through the controller, one scenario a row of the verb table."""

from __future__ import annotations

import pytest

from chongming_task import AttemptsExhausted, InvalidTransition, RetryPolicy, UnknownTask

VERBS = ["start", "stop", "pause", "resume", "cancel", "retry", "skip", "reset"]


def put_into(rig, state):
    """A record in that state."""
    if state == "pending":
        return rig.submit(start=False)
    if state in ("queued", "paused before its start"):
        rig.submit(name="occupant")
        handle = rig.submit()
        if state != "queued":
            assert handle.pause()
        return handle
    if state == "starting":
        return rig.submit()
    if state == "skipped":
        handle = rig.submit(start=False)
        handle.skip()
        return handle
    handle, worker = rig.running(retry=RetryPolicy(3, backoff="fixed") if state == "retry_wait" else RetryPolicy(2))
    if state in ("pausing", "paused in place"):
        handle.pause(wait=False)
        if state != "pausing":
            worker.checkpoint()
    elif state == "stopping":
        handle.stop(wait=False)
    elif state == "succeeded":
        worker.finish(1)
    elif state == "failed":
        worker.fail(ValueError("no"))
        rig.settle()
        handle.retry()
        rig.worker(handle).begin()
        rig.worker(handle).fail(ValueError("no"))
    elif state == "retry_wait":
        worker.fail(ValueError("no"))
    elif state in ("stopped", "cancelled"):
        getattr(handle, "stop" if state == "stopped" else "cancel")(wait=False)
        worker.checkpoint()
    elif state == "lost":
        handle.stop(graceful=False)
        worker.finish(None)  # its worker is gone after all, so a retry needs no force
    rig.settle()
    return handle


# what each verb leads to; "-" is accepted without effect, "x" is refused. Order as in VERBS.
TABLE = {
    "pending": "queued stopped x x cancelled x skipped -",
    "queued": "- stopped paused - cancelled - skipped pending",
    "starting": "- stopping pausing - stopping x x x",
    "running": "- stopping pausing - stopping x x x",
    "pausing": "- stopping - running stopping x x x",
    "paused before its start": "- stopped - queued cancelled x x pending",
    "paused in place": "- stopping - running stopping x x x",
    "retry_wait": "- stopped paused x cancelled starting x pending",
    "stopping": "- - x x - x x x",
    "succeeded": "x x x x x x x pending",
    "failed": "x x x x x starting skipped pending",
    "stopped": "x - x x x starting x pending",
    "cancelled": "x x x x - starting x pending",
    "skipped": "x x x x x x - pending",
    "lost": "x x x x x starting x pending",
}
ROWS = [(state, verb, to) for state, row in TABLE.items() for verb, to in zip(VERBS, row.split(), strict=True)]


@pytest.mark.parametrize(("state", "verb", "to"), ROWS, ids=str)
def test_the_verb_table_holds_through_the_controller(make_rig, state, verb, to):
    """A verb leads where the table says, is accepted without effect, or is refused and changes nothing."""
    rig = make_rig(max_parallel=1)
    handle = put_into(rig, state)
    before = handle.snapshot
    options = {"retry": {"force": state == "failed"}, "reset": {"confirm": True}}.get(verb, {})
    if verb in ("stop", "pause", "cancel"):
        options = {"wait": False}
    can, why = handle.can(verb, force=options.get("force", False))
    if to == "x":
        assert not can
        assert why
        with pytest.raises(InvalidTransition) as refused:
            getattr(handle, verb)(**options)
        assert refused.value.current == before.status
        assert str(refused.value) == why
        assert handle.snapshot == before
    else:
        assert can, why
        getattr(handle, verb)(**options)
        rig.settle()
        expected = before.status if to == "-" else to
        if (state, verb) == ("pending", "start"):
            expected = "starting"  # there is a free slot
        assert handle.status == expected
        if to == "-":
            assert handle.snapshot == before


@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_id_is_told(rig, verb):
    """Every verb says that it knows no such record."""
    options = {"confirm": True} if verb == "reset" else {}
    with pytest.raises(UnknownTask, match="nobody"):
        getattr(rig.controller, verb)("nobody", **options)
    with pytest.raises(UnknownTask, match="nobody"):
        rig.controller.can("nobody", verb)


def test_retry_keeps_the_attempts_and_needs_force_past_the_last(rig):
    """The history of attempts goes on; one more than allowed must be asked for."""
    handle, worker = rig.running()
    worker.fail(ValueError("first"))
    rig.settle()
    with pytest.raises(AttemptsExhausted, match="force=True"):
        handle.retry()
    assert handle.can("retry")[0] is False
    handle.retry(force=True)
    rig.worker(handle).begin()
    rig.worker(handle).finish("second")
    rig.settle()
    assert handle.result() == "second"
    assert [(a.attempt, str(a.status)) for a in handle.attempts] == [(1, "failed"), (2, "succeeded")]
    assert handle.snapshot.max_attempts == 2
    assert handle.failure is None


def test_reset_clears_the_attempts_and_keeps_the_trail(rig):
    """The record starts over as if new; what happened before stays in the audit trail."""
    handle, worker = rig.running()
    worker.report(3, 10)
    worker.fail(ValueError("first"))
    rig.settle()
    handle.reset(confirm=True)
    task = handle.snapshot
    assert (task.status, task.attempt, task.failure, task.progress, task.started_at) == ("pending", 0, None, None, None)
    assert handle.attempts == []
    handle.start()
    rig.worker(handle).begin()
    rig.worker(handle).finish(5)
    rig.settle()
    assert [a.attempt for a in handle.attempts] == [1]
    assert handle.snapshot.status_version == len(handle.transitions) == 9


def test_every_transition_says_what_caused_it_who_and_why(rig):
    """Trigger, actor and reason are part of the audit trail."""
    handle = rig.submit(start=False)
    rig.controller.stop(handle.id, reason="not today", actor="ana")
    (edge,) = handle.transitions
    assert (edge.trigger, edge.actor, edge.reason, edge.version) == ("user:stop", "ana", "not today", 1)
    assert edge.at == rig.clock.now()
    assert handle.failure.message == "not today"


def test_bulk_verbs_answer_for_every_record(rig):
    """What cannot be done is told, and holds nothing up."""
    running, _ = rig.running()
    waiting = rig.submit(start=False)
    heard = []
    rig.controller.ask(
        "stop", [running.id, "nobody", waiting.id, waiting.id], actor="panel", done=heard.append, timeout=1
    )
    rig.settle()
    (answers,) = heard
    assert [(a.ok, a.acted) for a in answers] == [(True, True), (False, False), (True, True), (True, False)]
    assert isinstance(answers[1].error, UnknownTask)
    assert (running.status, waiting.status) == ("stopping", "stopped")
