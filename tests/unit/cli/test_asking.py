"""What a verb from the command line leads to: by state, and by who watches the record."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chongming_task.cli.asking import Answer, Way, answer_of, late_answer, way_of
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.core.records import Command, TaskSnapshot
from chongming_task.core.states import OCCUPIED, Outcome, Verb, rule_for
from chongming_task.core.states import TaskStatus as S

AT = datetime(2030, 1, 1, tzinfo=UTC)
VERBS = (Verb.STOP, Verb.CANCEL, Verb.PAUSE, Verb.RESUME, Verb.RETRY, Verb.SKIP)


def record(status=S.RUNNING, **fields):
    fields.setdefault("live", status in OCCUPIED)
    return TaskSnapshot("0190-1111", "load", AT, spec_name="load")._replace(status=status, max_attempts=3, **fields)


def command(outcome=None):
    return Command("c", "0190-1111", "stop", {}, "me", AT, completed_at=outcome and AT, outcome=outcome)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("status", list(S))
def test_the_verb_table_is_kept(verb, status):
    """What a state refuses is refused, and nothing is sent; the rest goes to who watches."""
    task = record(status)
    way = way_of(task, verb, watched=True)
    if rule_for(status, task.live, verb).outcome is Outcome.REFUSED:
        assert isinstance(way, Answer)
        assert way.code is ExitCode.REFUSED
    else:
        assert way is Way.SEND


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("status", list(S))
def test_nothing_is_taken_over_that_would_end_with_this_command(verb, status):
    """What this process takes over ends when it does: so only what ends anyhow, or what it can run."""
    way = way_of(record(status), verb, watched=False)
    held = status in OCCUPIED
    assert way is not Way.SEND
    assert way is not Way.RUN
    if way is Way.APPLY:
        assert held or verb in (Verb.STOP, Verb.CANCEL, Verb.SKIP)


def test_what_to_run_must_be_known():
    """Restartable, and among the tasks that were named."""
    plain, again = record(S.FAILED), record(S.FAILED, inputs={"args": []})
    assert "restartable" in way_of(plain, Verb.RETRY, watched=False, tasks=["load"]).message
    assert "--tasks MODULE" in way_of(again, Verb.RETRY, watched=False).message
    assert "not in that module" in way_of(again, Verb.RETRY, watched=False, tasks=["other"]).message
    assert way_of(again, Verb.RETRY, watched=False, tasks=["load"]) is Way.RUN


def test_a_pause_that_nobody_would_keep_is_not_asked():
    """The record would be paused until this command ends."""
    answer = way_of(record(S.QUEUED), Verb.PAUSE, watched=False, tasks=["load"])
    assert answer.code is ExitCode.REFUSED
    assert "nothing would hold it" in answer.message


def test_a_used_up_record_tells_the_option_of_the_command_line():
    """Not the keyword of the library."""
    used = record(S.FAILED, attempt=3)
    assert "--force" in way_of(used, Verb.RETRY, watched=True).message
    assert way_of(used, Verb.RETRY, watched=True, force=True) is Way.SEND


@pytest.mark.parametrize(
    ("verb", "outcome", "task", "code"),
    [
        (Verb.STOP, None, record(), None),
        (Verb.STOP, {"ok": True}, record(S.STOPPING), None),
        (Verb.STOP, {"ok": True}, record(S.STOPPED), ExitCode.DONE),
        (Verb.STOP, {"ok": True}, record(S.SUCCEEDED), ExitCode.DONE),
        (Verb.STOP, {"ok": True}, record(S.LOST), ExitCode.LOST),
        (Verb.PAUSE, {"ok": True}, record(S.PAUSING), None),
        (Verb.PAUSE, {"ok": True}, record(S.PAUSED), ExitCode.DONE),
        (Verb.PAUSE, {"ok": True}, record(S.RUNNING), ExitCode.UNCONFIRMED),
        (Verb.PAUSE, {"ok": True}, record(S.SUCCEEDED), ExitCode.REFUSED),
        (Verb.RESUME, {"ok": True}, record(S.RUNNING), ExitCode.DONE),
        (Verb.RETRY, {"ok": True}, record(S.QUEUED), ExitCode.DONE),
        (Verb.STOP, {"ok": False, "error": "InvalidTransition", "message": "no"}, record(), ExitCode.REFUSED),
        (Verb.STOP, {"ok": False, "error": "ControllerClosed", "message": "no"}, record(), ExitCode.UNCONFIRMED),
        (Verb.STOP, "odd", record(), ExitCode.UNCONFIRMED),
    ],
)
def test_an_answer_is_what_the_owner_says_and_what_came_true(verb, outcome, task, code):
    """Accepted is not yet done."""
    answer = answer_of(verb, command(outcome), task)
    assert (None if answer is None else answer.code) is code


def test_when_the_time_is_up_it_says_how_things_stand():
    """Always 5; with what to do."""
    gone = late_answer(command(), record(), watched=False)
    assert "reconcile" in gone.message
    assert "not answered" in late_answer(command(), record(), watched=True).message
    slow = late_answer(command({"ok": True}), record(S.STOPPING), watched=True)
    assert "stopping" in slow.message
    assert {gone.code, slow.code} == {ExitCode.UNCONFIRMED}
