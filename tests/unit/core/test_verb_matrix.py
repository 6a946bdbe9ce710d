"""The design's two tables, typed in here a second time, against what the rules do: every state, every verb."""

from __future__ import annotations

import pytest

from chongming_task.core.effects import Signal, StopReason, TellWorker
from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.state_machine import StateMachine
from chongming_task.core.states import (
    REVIVABLE,
    TERMINAL,
    TRANSITIONS,
    VERB_TABLE,
    Outcome,
    TaskStatus,
    Verb,
    edge_exists,
    situation_index,
)
from chongming_task.core.triggers import Asked, Ended, Held
from chongming_task.core.verbs import refusal
from chongming_task.errors import InvalidTransition
from tests.unit.core.situations import NOW, SITUATIONS, apply, record

# → at once, …→ through an in-between state, · nothing to do, ✗ refused
VERBS_BY_STATE = """
           | start           | stop      | pause    | resume   | cancel      | retry    | skip      | reset
PENDING    | →QUEUED/BLOCKED | →STOPPED  | ✗        | ✗        | →CANCELLED  | ✗        | →SKIPPED  | ·
BLOCKED    | ·               | →STOPPED  | ✗        | ✗        | →CANCELLED  | ✗        | →SKIPPED  | →PENDING
QUEUED     | ·               | →STOPPED  | →PAUSED  | ·        | →CANCELLED  | ·        | →SKIPPED  | →PENDING
STARTING   | ·               | …→STOPPED | …→PAUSED | ·        | …→CANCELLED | ✗        | ✗         | ✗
RUNNING    | ·               | …→STOPPED | …→PAUSED | ·        | …→CANCELLED | ✗        | ✗         | ✗
PAUSING    | ·               | …→STOPPED | ·        | →RUNNING | …→CANCELLED | ✗        | ✗         | ✗
PAUSED P°  | ·               | →STOPPED  | ·        | →QUEUED  | →CANCELLED  | ✗        | ✗         | →PENDING
PAUSED P•  | ·               | …→STOPPED | ·        | →RUNNING | …→CANCELLED | ✗        | ✗         | ✗
RETRY_WAIT | ·               | →STOPPED  | →PAUSED  | ✗        | →CANCELLED  | →QUEUED  | ✗         | →PENDING
STOPPING   | ·               | ·         | ✗        | ✗        | ·           | ✗        | ✗         | ✗
SUCCEEDED  | ✗               | ✗         | ✗        | ✗        | ✗           | ✗        | ✗         | →PENDING
FAILED     | ✗               | ✗         | ✗        | ✗        | ✗           | →QUEUED  | →SKIPPED  | →PENDING
STOPPED    | ✗               | ·         | ✗        | ✗        | ✗           | →QUEUED  | ✗         | →PENDING
CANCELLED  | ✗               | ✗         | ✗        | ✗        | ·           | →QUEUED  | ✗         | →PENDING
SKIPPED    | ✗               | ✗         | ✗        | ✗        | ✗           | ✗        | ·         | →PENDING
LOST       | ✗               | ✗         | ✗        | ✗        | ✗           | →QUEUED  | ✗         | →PENDING
"""

EDGES = """
PENDING    : BLOCKED QUEUED SKIPPED CANCELLED STOPPED
BLOCKED    : QUEUED SKIPPED CANCELLED STOPPED
QUEUED     : STARTING PAUSED SKIPPED STOPPED CANCELLED
STARTING   : RUNNING RETRY_WAIT PAUSING STOPPING FAILED LOST
RUNNING    : SUCCEEDED FAILED RETRY_WAIT PAUSING STOPPING LOST
PAUSING    : PAUSED RUNNING FAILED STOPPING LOST
PAUSED     : QUEUED RUNNING STOPPED CANCELLED STOPPING LOST
RETRY_WAIT : STARTING QUEUED PAUSED STOPPED FAILED CANCELLED
STOPPING   : STOPPED SUCCEEDED FAILED LOST CANCELLED
"""
ENDS = "SUCCEEDED FAILED STOPPED CANCELLED SKIPPED LOST"
IN_BETWEEN = {"stop": TaskStatus.STOPPING, "cancel": TaskStatus.STOPPING, "pause": TaskStatus.PAUSING}


def _parsed() -> dict[tuple[str, str], str]:
    head, *rows = VERBS_BY_STATE.strip("\n").splitlines()
    verbs = [word.strip() for word in head.split("|")[1:]]
    cells = {}
    for row in rows:
        situation, *answers = (word.strip() for word in row.split("|"))
        cells |= {(situation, verb): answer for verb, answer in zip(verbs, answers, strict=True)}
    return cells


CELLS = _parsed()
CASES = [pytest.param(s, Verb(v), cell, id=f"{s}-{v}") for (s, v), cell in CELLS.items()]


def of_kind(*marks: str) -> list[object]:
    return [case for case in CASES if str(case.values[2]).startswith(marks)]


def accepted(situation: str) -> tuple[str, ...]:
    return tuple(verb.value for verb in Verb if CELLS[situation, verb] != "✗")


def test_the_copy_covers_every_state_and_verb():
    """Sixteen rows, PAUSED twice; eight verbs."""
    assert len(CELLS) == 16 * 8
    assert {status for status, _ in SITUATIONS.values()} == set(TaskStatus)
    assert {situation for situation, _ in CELLS} == set(SITUATIONS)
    assert [verb for _, verb in list(CELLS)[:8]] == [verb.value for verb in Verb]


@pytest.mark.parametrize(("situation", "verb", "cell"), of_kind("→"))
def test_a_verb_that_acts_at_once_moves_the_record_once(situation, verb, cell):
    """One audited edge, named after the verb, with the caller's words."""
    before = record(situation)
    target = TaskStatus[cell.removeprefix("→").split("/")[0]]

    made = apply(before, Asked(verb, actor="ada", reason="because"))

    assert made.snapshot.status is target
    (edge,) = made.transitions
    assert edge == (
        *(before.task_id, before.status_version + 1, before.status, target),
        *(f"user:{verb}", "ada", "because", NOW),
    )
    assert made.snapshot.status_version == before.status_version + 1
    assert made.snapshot.requested_action is None
    assert (made.snapshot.ended_at is not None) is (target in TERMINAL)


def test_start_waits_for_upstream_records_where_there_are_some():
    """The second target of the first cell."""
    assert CELLS["PENDING", "start"] == "→QUEUED/BLOCKED"
    assert apply(record("PENDING"), Asked(Verb.START, blocked=True)).snapshot.status is TaskStatus.BLOCKED


@pytest.mark.parametrize(("situation", "verb", "cell"), of_kind("…→"))
def test_a_verb_on_a_worker_goes_through_an_in_between_state(situation, verb, cell):
    """What is asked stands on the record until the worker confirms it; then the target is reached."""
    before = record(situation)

    asked = apply(before, Asked(verb))

    assert asked.snapshot.status is IN_BETWEEN[verb]
    assert asked.snapshot.requested_action == verb.value
    assert asked.snapshot.live
    assert [edge.to_status for edge in asked.transitions] == [IN_BETWEEN[verb]]
    (told,) = (effect for effect in asked.effects if isinstance(effect, TellWorker))
    if verb is Verb.PAUSE:
        assert told == TellWorker(Signal.PAUSE, request=asked.snapshot.status_version)
        confirmed = apply(asked.snapshot, Held(1, told.request))
    else:
        assert told == TellWorker(Signal.STOP, StopReason(verb.value))
        confirmed = apply(asked.snapshot, Ended(1, failure=Failure(FailureKind.CANCELLED)))
    assert confirmed.snapshot.status is TaskStatus[cell.removeprefix("…→")]
    assert confirmed.snapshot.requested_action is None


@pytest.mark.parametrize(("situation", "verb", "cell"), of_kind("→", "…→"))
def test_asking_twice_is_asking_once(situation, verb, cell):
    """The second time is accepted, and nothing happens."""
    once = apply(record(situation), Asked(verb)).snapshot

    again = apply(once, Asked(verb))

    assert again.snapshot is once
    assert not again.acted
    assert again.effects == ()
    assert refusal(once, verb) is None


@pytest.mark.parametrize(("situation", "verb", "cell"), of_kind("·"))
def test_a_verb_with_nothing_to_do_is_accepted(situation, verb, cell):
    """No edge, no effect, the same record."""
    before = record(situation)

    made = apply(before, Asked(verb))

    assert made.snapshot is before
    assert (made.transitions, made.effects, made.attempt, made.clear_attempts) == ((), (), None, False)


@pytest.mark.parametrize(("situation", "verb", "cell"), of_kind("✗"))
def test_a_refused_verb_says_what_would_be_accepted(situation, verb, cell):
    """Also with force, which is for attempts and abandoned workers only."""
    before = record(situation)

    with pytest.raises(InvalidTransition) as caught:
        apply(before, Asked(verb))
    with pytest.raises(InvalidTransition, match="cannot"):
        apply(before, Asked(verb, force=True))

    assert type(caught.value) is InvalidTransition
    assert caught.value.current is before.status
    assert caught.value.requested is verb
    assert caught.value.allowed == accepted(situation)
    said = str(caught.value)
    for word in (verb.value, before.name, before.status.value):
        assert word in said
    _, _, takes = said.partition("; ")
    for each in Verb:  # only what would change something is advised
        acts = CELLS[situation, each] not in "✗·"
        assert (each.value in takes) is (acts or (each is Verb.START and "then start()" in takes))


@pytest.mark.parametrize(
    ("situation", "verb", "said"),
    [
        ("SUCCEEDED", Verb.START, "it has succeeded; to run it again: reset(confirm=True), then start()"),
        ("SKIPPED", Verb.RETRY, "it was skipped; to run it again: reset(confirm=True), then start()"),
        ("FAILED", Verb.STOP, "it has failed; it takes retry, skip, reset"),
        ("STOPPING", Verb.PAUSE, "it is stopping; wait until it has ended"),
        ("RETRY_WAIT", Verb.RESUME, "it waits for its next attempt (retry_wait); it takes stop"),
    ],
)
def test_a_refusal_says_how_it_stands_and_what_to_do(situation, verb, said):
    """In words that people use."""
    assert said in str(refusal(record(situation), verb))


@pytest.mark.parametrize(("situation", "verb", "cell"), CASES)
def test_the_question_agrees_with_the_answer(situation, verb, cell):
    """``refusal`` and ``can`` refuse exactly what ``step`` refuses, with its words, and change nothing."""
    before = record(situation)
    machine = StateMachine(before, lambda: NOW)
    refused = refusal(before, verb)

    assert (refused is not None) is (cell == "✗")
    assert machine.can(verb) == (refused is None, None if refused is None else str(refused))
    assert machine.snapshot is before
    if refused is None:
        machine.ask(verb)
    else:
        with pytest.raises(InvalidTransition) as caught:
            machine.ask(verb)
        assert str(caught.value) == str(refused)
        assert machine.snapshot is before
        assert machine.history == []


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_published_table_is_the_design_s(situation):
    """The data that documentation and panels read says the same, targets and in-between states included."""
    status, fields = SITUATIONS[situation]
    in_place = bool(fields.get("live")) if status is TaskStatus.PAUSED else None
    (row,) = (row for row in VERB_TABLE if row.status is status and row.in_place is in_place)
    assert VERB_TABLE[situation_index(status, bool(fields.get("live")))] is row
    for verb, rule in row.rules.items():
        cell = CELLS[situation, verb]
        assert rule.outcome is {"·": Outcome.NOOP, "✗": Outcome.REFUSED}.get(cell, Outcome.ACT), verb
        assert rule.targets == tuple(TaskStatus[name] for name in cell.strip("…→·✗").split("/") if name), verb
        assert rule.through is (IN_BETWEEN[verb] if cell.startswith("…") else None), verb


def test_the_edges_are_the_design_s():
    """Nothing more, nothing less; what has no way out is terminal."""
    typed = {line.split(":")[0].strip(): set(line.split(":")[1].split()) for line in EDGES.strip().splitlines()}

    assert {source.name: {target.name for target in targets} for source, targets in TRANSITIONS.items()} == {
        **typed,
        **{name: set() for name in ENDS.split()},
    }
    assert {status.name for status in TERMINAL} == set(ENDS.split())
    assert {status.name for status in REVIVABLE} == {"FAILED", "STOPPED", "CANCELLED", "LOST"}
    assert TaskStatus.FINISHED is TaskStatus.SUCCEEDED


def test_the_tables_cannot_be_changed():
    """They are data for everybody."""
    with pytest.raises(TypeError):
        TRANSITIONS[TaskStatus.LOST] = frozenset()  # type: ignore[index]
    with pytest.raises(TypeError):
        VERB_TABLE[0].rules[Verb.START] = VERB_TABLE[0].rules[Verb.STOP]  # type: ignore[index]


@pytest.mark.parametrize("source", sorted(TERMINAL), ids=str)
def test_an_end_is_left_by_four_words_only(source):
    """``retry`` from what is revivable, ``reset``, ``skip`` from FAILED, and an override; all of them a person's."""
    others = ("retry:due", "timer:retry", "worker:reset", "retry", "user:start", "user:stop", "engine:skip", "")
    for target in TaskStatus:
        assert edge_exists(source, target, "force:override")
        assert edge_exists(source, target, "user:retry") is (source in REVIVABLE and target is TaskStatus.QUEUED)
        assert edge_exists(source, target, "user:reset") is (target is TaskStatus.PENDING)
        skips = source is TaskStatus.FAILED and target is TaskStatus.SKIPPED
        assert edge_exists(source, target, "user:skip") is skips
        for trigger in others:
            assert not edge_exists(source, target, trigger), (target, trigger)
