"""What a view may say: `notebook/inbound.py`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chongming_task.core.states import TaskStatus, Verb
from chongming_task.notebook.inbound import (
    MAX_IDS,
    DetailsRequest,
    ForceRequest,
    Message,
    Refusal,
    RunRequest,
    RunVerb,
    Signal,
    SignalMessage,
    VerbRequest,
    WaitsRequest,
    parse,
)

SHOWN = {"t1", "t2"}


def verb(**changes: Any) -> dict[str, Any]:
    """A message that is accepted, changed."""
    return {"id": "v-1", "verb": "stop", "ids": ["t1"], "args": {}, **changes}


def test_a_verb_for_shown_tasks_is_a_request():
    """Tasks that were not shown are told apart, and twice named counts once."""
    assert parse(verb(ids=["t2", "tX", "t1", "t2"]), SHOWN) == VerbRequest("v-1", Verb.STOP, ("t2", "t1"), ("tX",), {})


@pytest.mark.parametrize("word", ["hello", "resync", "pong"])
def test_a_view_may_speak_of_itself(word):
    """Without tasks or arguments."""
    assert parse({"id": "v-1", "verb": word}, SHOWN) == SignalMessage(Signal(word))


@pytest.mark.parametrize(("name", "args"), [("retry", {"force": True}), ("stop", {"graceful": False})])
def test_some_verbs_take_arguments(name, args):
    """Those that the panel's buttons need."""
    message = parse(verb(verb=name, args=args), SHOWN)
    assert isinstance(message, VerbRequest)
    assert message.args == args


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (verb(verb="eval"), "verb is one of"),
        (verb(verb="start"), "verb is one of"),
        (verb(verb=None), "verb is one of"),
        (verb(verb=["stop"]), "verb is one of"),
        (verb(ids="t1"), "ids is a list"),
        (verb(ids=[]), "ids is a list"),
        (verb(ids=[1]), "ids is a list"),
        (verb(ids=["x" * 65]), "ids is a list"),
        (verb(ids=["t1"] * (MAX_IDS + 1)), "ids is a list"),
        (verb(args={"reason": "x"}), "args of stop may hold: graceful"),
        (verb(verb="pause", args={"force": True}), "args of pause may hold: nothing"),
        (verb(args={"graceful": 0}), "args are true or false"),
        (verb(args=[]), "args of stop"),
    ],
    ids=[
        "forbidden-verb", "start", "no-verb", "list-verb", "ids-text", "no-ids", "number-id", "long-id", "too-many",
        "unknown-arg", "other-verbs-arg", "arg-type", "args-list",
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_the_reason(content, says):
    """The refusal carries the request's id, so that the view hears of it."""
    message = parse(content, SHOWN)
    assert isinstance(message, Refusal)
    assert message.id == "v-1"
    assert says in message.error


def test_details_waits_and_a_status_by_hand_are_asked_for():
    """Each with what it needs and nothing else."""
    details = {"id": "v", "verb": "details", "task": "t1", "seen": "a", "after": 7}
    assert parse(details, SHOWN) == DetailsRequest("v", "t1", "a", 7)
    assert parse({"id": "v", "verb": "waits", "ids": ["t1", "tX", "t1"]}, SHOWN) == WaitsRequest("v", ("t1",))
    force = {"id": "v", "verb": "force_transition", "task": "t1", "to": "skipped", "reason": " known "}
    assert parse(force, SHOWN) == ForceRequest("v", "t1", TaskStatus.SKIPPED, "known")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"verb": "details"}, "no such task"),
        ({"verb": "details", "task": "tX"}, "no such task"),
        ({"verb": "details", "task": ["t1"]}, "no such task"),
        ({"verb": "details", "task": "t1", "after": -1}, "after is"),
        ({"verb": "details", "task": "t1", "after": True}, "after is"),
        ({"verb": "details", "task": "t1", "after": 1e400}, "after is"),
        ({"verb": "details", "task": "t1", "seen": 3}, "seen is"),
        ({"verb": "details", "task": "t1", "seen": "x" * 65}, "seen is"),
        ({"verb": "waits", "ids": "t1"}, "ids is"),
        ({"verb": "waits", "ids": ["t1"] * 61}, "ids is"),
        ({"verb": "force_transition", "task": "t1", "to": "done", "reason": "x"}, "to is one of"),
        ({"verb": "force_transition", "task": "t1", "to": ["failed"], "reason": "x"}, "to is one of"),
        ({"verb": "force_transition", "task": "t1", "to": "failed", "reason": "  "}, "reason is"),
        ({"verb": "force_transition", "task": "t1", "to": "failed", "reason": "x" * 2001}, "reason is"),
        ({"verb": "force_transition", "task": "t1", "to": "failed"}, "reason is"),
    ],
)
def test_what_they_ask_wrongly_is_refused(content, says):
    """Wrong tasks, numbers, sizes and types."""
    message = parse({"id": "v", **content}, SHOWN)
    assert isinstance(message, Refusal)
    assert says in message.error


@pytest.mark.parametrize("verb", list(RunVerb))
def test_a_run_is_asked_as_a_whole(verb):
    """It needs no tasks."""
    assert parse({"id": "v", "verb": "run", "do": verb.value}, SHOWN) == RunRequest("v", verb)


@pytest.mark.parametrize("do", [None, "cancel", "eval", "PAUSE", ["stop"], {"stop": 1}, 3, True])
def test_a_run_is_asked_for_nothing_else(do):
    """The refusal names what may be asked."""
    message = parse({"id": "v", "verb": "run", "do": do}, SHOWN)
    assert message == Refusal("v", "do is one of pause, resume, stop, retry_failed")


@pytest.mark.parametrize("content", [None, [], "stop", 3, {}, {"id": ""}, {"id": 3}, {"id": "x" * 65}])
def test_a_message_without_an_id_cannot_be_answered(content):
    """It is refused all the same."""
    message = parse(content, SHOWN)
    assert isinstance(message, Refusal)
    assert message.id is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
ALMOST = st.fixed_dictionaries(
    {},
    optional={
        "id": st.just("v-1") | JSON,
        "verb": st.sampled_from(["stop", "retry", "hello", "details", "waits", "past", "run", "force_transition"])
        | JSON,
        "ids": st.just(["t1"]) | JSON,
        "args": st.just({}) | JSON,
        "task": st.just("t1") | JSON,
        "seen": JSON,
        "after": JSON,
        "to": st.just("failed") | JSON,
        "reason": JSON,
        "do": st.just("stop") | JSON,
    },
)


@given(JSON | ALMOST)
def test_no_message_makes_it_raise(content):
    """Whatever JSON comes, the answer is a request, a signal or a refusal."""
    assert isinstance(parse(content, SHOWN), Message)
