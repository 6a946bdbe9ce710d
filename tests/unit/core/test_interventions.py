"""What is special about retry, reset, skip and overrides; and records that lost their owner or their upstream."""

from __future__ import annotations

import pytest

from chongming_task.core.effects import ClearTimer, Detach, SetTimer, TellWorker
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import AttemptRecord, Progress
from chongming_task.core.rules import Step
from chongming_task.core.states import OCCUPIED, TERMINAL, RequestedAction, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Dispatched, Elapsed, Forced, Orphaned, Resolved, Timer
from chongming_task.core.verbs import refusal
from chongming_task.errors import AttemptsExhausted, ConfigurationError, InvalidTransition, StillRunning
from tests.unit.core.situations import NOW, SITUATIONS, STARTED, apply, record

S = TaskStatus
K = FailureKind
OVER = Failure(K.EXCEPTION, "boom")
REVIVED = ["FAILED", "STOPPED", "CANCELLED", "LOST"]


# retry


@pytest.mark.parametrize("situation", [*REVIVED, "RETRY_WAIT"])
def test_a_retry_keeps_the_attempts_and_forgets_the_outcome(situation):
    """The next grant opens the next attempt."""
    before = record(situation, failure=OVER, outcome=3, progress=Progress(1))
    made = apply(before, Asked(Verb.RETRY))
    after = made.snapshot
    assert (after.attempt, after.max_attempts, after.queued_at) == (1, 3, NOW)
    assert (after.failure, after.outcome, after.progress, after.ended_at, after.retry_at) == (None,) * 5
    assert made.effects == (ClearTimer(Timer.RETRY),)
    assert not made.clear_attempts
    assert apply(after, Dispatched()).snapshot.attempt == 2


@pytest.mark.parametrize("situation", REVIVED)
def test_a_retry_past_the_last_attempt_must_be_asked_for(situation):
    """``force`` grants one more, and only one."""
    before = record(situation, attempt=3)

    with pytest.raises(AttemptsExhausted, match=r"3 of 3 attempts are used.*force=True") as caught:
        apply(before, Asked(Verb.RETRY))

    assert (caught.value.current, caught.value.requested) == (before.status, Verb.RETRY)
    assert isinstance(refusal(before, Verb.RETRY), AttemptsExhausted)
    assert refusal(before, Verb.RETRY, force=True) is None
    after = apply(before, Asked(Verb.RETRY, force=True)).snapshot
    assert (after.status, after.attempt, after.max_attempts) == (S.QUEUED, 3, 4)


def test_a_forced_retry_takes_no_more_than_it_needs():
    """Where attempts are left, none is added."""
    assert apply(record("FAILED"), Asked(Verb.RETRY, force=True)).snapshot.max_attempts == 3


@pytest.mark.parametrize("verb", [Verb.RETRY, Verb.RESET])
def test_two_copies_at_once_must_be_asked_for(verb):
    """The worker that was given up still runs."""
    before = record("LOST", abandoned=True)

    with pytest.raises(StillRunning, match=rf"cannot {verb}.*still runs.*force=True") as caught:
        apply(before, Asked(verb))

    assert (caught.value.current, caught.value.requested) == (S.LOST, verb)
    assert isinstance(refusal(before, verb), StillRunning)
    assert apply(before, Asked(verb, force=True)).acted
    assert apply(before._replace(abandoned=False), Asked(verb)).acted


def test_still_running_is_told_before_exhausted():
    """It is the graver of the two."""
    assert isinstance(refusal(record("LOST", abandoned=True, attempt=3), Verb.RETRY), StillRunning)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_abandoned_worker_hinders_no_other_verb(situation):
    """Stop, skip and the like are answered by the table alone."""
    for verb in set(Verb) - {Verb.RETRY, Verb.RESET}:
        with_it, without = record(situation, abandoned=True), record(situation)
        assert str(refusal(with_it, verb)) == str(refusal(without, verb))


# reset, skip, stop before the start


@pytest.mark.parametrize("situation", ["BLOCKED", "QUEUED", "PAUSED P°", "RETRY_WAIT", "FAILED", "SUCCEEDED", "LOST"])
def test_a_reset_forgets_the_attempts(situation):
    """What is left is a record that has not begun; the version goes on."""
    before = record(
        situation, attempt=2, failure=OVER, outcome=3, progress=Progress(1), pid=7, overridden=True, started_at=NOW
    )
    made = apply(before, Asked(Verb.RESET))
    assert made.clear_attempts
    blank = record("PENDING", status_version=8)
    assert made.snapshot == blank


@pytest.mark.parametrize("situation", ["PENDING", "BLOCKED", "QUEUED", "FAILED"])
def test_a_skipped_record_has_ended(situation):
    """Without a failure of its own making."""
    made = apply(record(situation), Asked(Verb.SKIP))
    assert (made.snapshot.ended_at, made.snapshot.failure, made.effects) == (NOW, None, ())


@pytest.mark.parametrize(("verb", "word"), [(Verb.STOP, "stopped"), (Verb.CANCEL, "cancelled")])
@pytest.mark.parametrize("situation", ["PENDING", "BLOCKED", "QUEUED", "PAUSED P°", "RETRY_WAIT"])
def test_what_was_stopped_before_it_ran_says_so(situation, verb, word):
    """The reason, or the state it was in."""
    made = apply(record(situation), Asked(verb))
    status = SITUATIONS[situation][0]
    assert made.snapshot.failure == Failure(K.CANCELLED, f"{word} while {status}")
    assert made.snapshot.retry_at is None
    told = apply(record(situation), Asked(verb, reason="too late")).snapshot.failure
    assert told == Failure(K.CANCELLED, "too late")


def test_a_resume_before_the_start_queues_anew():
    """It stands behind whoever came meanwhile at the same age; the engine keeps the age."""
    assert apply(record("PAUSED P°"), Asked(Verb.RESUME)).snapshot.queued_at == NOW


# overrides


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_override_goes_anywhere_and_says_so(situation):
    """One audited edge from every state to every state, marked on the record."""
    before = record(situation)
    for to in TaskStatus:
        made = apply(before, Forced(to, "ops", "checked by hand"))
        (edge,) = made.transitions
        assert edge[2:] == (before.status, to, "force:override", "ops", "checked by hand", NOW)
        after = made.snapshot
        assert (after.status, after.overridden, after.live) == (to, True, False)
        assert after.requested_action is None
        assert after.grace_until is None
        assert (after.ended_at is not None) is (to in TERMINAL)
        assert (after.retry_at is not None) is (to is S.RETRY_WAIT)
        assert (SetTimer(Timer.RETRY, 0.0) in made.effects) is (to is S.RETRY_WAIT)
        assert to is not S.SUCCEEDED or after.failure is None
        assert to is not S.FAILED or after.failure is not None
        assert to not in OCCUPIED or after.started_at is not None


@pytest.mark.parametrize("word", ["", "  ", "\n", None])
def test_an_override_needs_both_words(word):
    """They go into the audit trail."""
    for trigger in (Forced(S.FAILED, word, "because"), Forced(S.FAILED, "ops", word)):
        with pytest.raises(ConfigurationError, match="actor and a reason"):
            apply(record("RUNNING"), trigger)


@pytest.mark.parametrize("situation", [name for name, (_, fields) in SITUATIONS.items() if fields.get("live")])
def test_an_override_detaches_a_live_attempt(situation):
    """Its worker is told to stop and may still run; the attempt is closed with a note of who did it."""
    before = record(situation, pid=9)
    for to in TaskStatus:
        made = apply(before, Forced(to, "ops", "stuck"))
        assert made.effects[0] == Detach(1)
        assert made.snapshot.abandoned
        assert made.attempt == AttemptRecord(
            *("t1", 1, to if to in TERMINAL else S.LOST, STARTED, NOW),
            executor="manual",
            pid=9,
            owner="me",
            note=f"detached: set to {to} by ops",
        )


def test_an_override_keeps_the_failure_there_is():
    """FAILED by hand gets one only where there was none."""
    assert apply(record("LOST", failure=OVER), Forced(S.FAILED, "ops", "x")).snapshot.failure is OVER
    made = apply(record("QUEUED"), Forced(S.FAILED, "ops", "x")).snapshot.failure
    assert made == Failure(K.EXCEPTION, "set to failed by ops: x")


@pytest.mark.parametrize("to", [S.PENDING, S.BLOCKED, S.QUEUED, S.PAUSED, S.RETRY_WAIT])
@pytest.mark.parametrize("situation", ["RUNNING", "FAILED"])
def test_an_override_back_into_line_leaves_an_attempt_to_take(situation, to):
    """All attempts were used: the one that the operator wants is granted, or the scheduler could not start it."""
    task = apply(record(situation, attempt=3), Forced(to, "ops", "once more")).snapshot
    assert task.max_attempts == 4
    onward = {
        S.PENDING: Asked(Verb.START),
        S.BLOCKED: Resolved(S.QUEUED),
        S.PAUSED: Asked(Verb.RESUME),
        S.RETRY_WAIT: Elapsed(Timer.RETRY, 3),
    }
    if to in onward:
        task = apply(task, onward[to]).snapshot
    assert apply(task, Dispatched()).snapshot.attempt == 4


@pytest.mark.parametrize("to", [S.STARTING, S.RUNNING, S.PAUSING])
@pytest.mark.parametrize(("verb", "end"), [(Verb.STOP, S.STOPPED), (Verb.CANCEL, S.CANCELLED)])
def test_a_stop_of_a_status_set_by_hand_waits_for_nobody(to, verb, end):
    """There is no worker that could obey; a record left STOPPING would stay so for ever."""
    task = apply(record("PENDING"), Forced(to, "ops", "x")).snapshot
    made = apply(task, Asked(verb))
    assert [edge.to_status for edge in made.transitions] == [S.STOPPING, end]
    assert made.effects == ()
    assert made.attempt is None
    assert made.snapshot.ended_at == NOW


@pytest.mark.parametrize(("verb", "end"), [(Verb.STOP, S.STOPPED), (Verb.CANCEL, S.CANCELLED)])
def test_a_stop_set_by_hand_is_ended_by_a_stop(verb, end):
    """What waits for nobody need not wait; other verbs still find nothing to do."""
    task = apply(record("PENDING"), Forced(S.STOPPING, "ops", "x")).snapshot
    made = apply(task, Asked(verb))
    assert [edge.to_status for edge in made.transitions] == [end]
    assert made.snapshot.failure == Failure(K.CANCELLED, "it held no worker")
    assert apply(task, Asked(Verb.START)) == Step(task)


@pytest.mark.parametrize("to", [S.STARTING, S.RUNNING])
def test_a_pause_of_a_status_set_by_hand_rolls_back_at_once(to):
    """There is no worker that could be held."""
    task = apply(record("PENDING"), Forced(to, "ops", "x")).snapshot
    made = apply(task, Asked(Verb.PAUSE))
    assert [(edge.to_status, edge.reason) for edge in made.transitions] == [
        (S.PAUSING, None),
        (S.RUNNING, "it holds no worker"),
    ]
    assert made.snapshot.requested_action is None
    assert not any(isinstance(effect, TellWorker | SetTimer) for effect in made.effects)


def test_a_pause_set_by_hand_never_runs_without_a_worker():
    """PAUSED without a live attempt resumes into the queue."""
    task = apply(record("RUNNING"), Forced(S.PAUSED, "ops", "x")).snapshot
    assert apply(task, Asked(Verb.RESUME)).snapshot.status is S.QUEUED


# the owner is gone

ORPHANED = Orphaned("reconciler@host", "its process 7 is gone")


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_orphan_is_marked_honestly(situation):
    """LOST where a worker was held, CANCELLED where nothing ran, untouched where it had ended."""
    before = record(situation, requested_action=None)
    made = apply(before, ORPHANED)
    if before.status in TERMINAL:
        assert made == Step(before)
        return
    (edge,) = made.transitions
    end, kind = (S.LOST, K.LOST) if before.live else (S.CANCELLED, K.CANCELLED)
    assert edge[3:7] == (end, "reconcile:orphan", "reconciler@host", "its process 7 is gone")
    after = made.snapshot
    assert (after.failure, after.live, after.ended_at) == (Failure(kind, ORPHANED.reason), False, NOW)
    assert (made.attempt is not None) is before.live
    assert made.effects == ()


@pytest.mark.parametrize("to", sorted(OCCUPIED))
def test_an_orphan_that_was_set_to_run_by_hand_is_lost(to):
    """It held no worker of ours; nobody can say what became of it. No attempt is closed that was never open."""
    task = apply(record("PENDING"), Forced(to, "ops", "x")).snapshot
    made = apply(task, ORPHANED)
    assert (made.snapshot.status, made.attempt) == (S.LOST, None)


def test_an_abandoned_worker_is_gone_with_its_process():
    """So the record can be retried from another one."""
    task = apply(record("RUNNING", abandoned=True), ORPHANED).snapshot
    assert not task.abandoned
    assert refusal(task, Verb.RETRY) is None


def test_an_orphan_forgets_what_was_asked():
    """Nobody is left to do it."""
    task = record("STOPPING", requested_action=RequestedAction.CANCEL, grace_until=NOW)
    after = apply(task, ORPHANED).snapshot
    assert (after.requested_action, after.grace_until) == (None, None)


# upstream


@pytest.mark.parametrize("situation", SITUATIONS)
def test_upstream_decides_for_records_that_wait_for_it_only(situation):
    """Elsewhere it comes too late."""
    before = record(situation)
    for to, cause in ((S.QUEUED, "upstream:ready"), (S.CANCELLED, "upstream:failed"), (S.SKIPPED, "upstream:skipped")):
        failure = None if to is S.QUEUED else Failure(K.DEPENDENCY_FAILED, "load failed")
        made = apply(before, Resolved(to, failure))
        if situation not in ("PENDING", "BLOCKED"):
            assert made == Step(before)
            continue
        (edge,) = made.transitions
        assert (edge.to_status, edge.trigger, edge.reason) == (to, cause, failure.message if failure else None)
        assert made.snapshot.failure == failure
        assert made.snapshot.queued_at == (NOW if to is S.QUEUED else None)


def test_a_condition_that_said_no_is_named():
    """Not confused with an upstream record that was skipped."""
    no = Failure(K.CONDITION_FALSE, "when= was false")
    made = apply(record("BLOCKED"), Resolved(S.SKIPPED, no))
    assert made.transitions[0].trigger == "condition:false"
    assert apply(record("BLOCKED"), Resolved(S.SKIPPED)).snapshot.failure is None


def test_guards_are_no_edges():
    """PAUSED before its start cannot run, PAUSED in place cannot be queued: the draft refuses, whoever asks."""
    from chongming_task.core.draft import Draft
    from chongming_task.core.triggers import Now
    from tests.unit.core.situations import POLICY

    for situation, to in (("PAUSED P°", S.RUNNING), ("PAUSED P°", S.LOST), ("PAUSED P•", S.QUEUED)):
        draft = Draft(record(situation), POLICY, Now(NOW))
        with pytest.raises(InvalidTransition, match="paused"):
            draft.move(to, "user:resume", "ada")
    with pytest.raises(InvalidTransition, match="without started_at"):
        Draft(record("STARTING", started_at=None), POLICY, Now(NOW)).move(S.RUNNING, "worker:started", "engine")
    with pytest.raises(InvalidTransition, match="no edge"):
        Draft(record("QUEUED"), POLICY, Now(NOW)).move(S.SUCCEEDED, "worker:returned", "engine")
