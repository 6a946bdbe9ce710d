"""What a view may say: `notebook/inbound.py`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chongming_task.core.states import Verb
from chongming_task.notebook.inbound import MAX_IDS, Refusal, Signal, SignalMessage, VerbRequest, parse

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
        (verb(verb="force_transition"), "verb is one of"),
        (verb(verb="reset"), "verb is one of"),
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
        "forbidden-verb", "reset", "no-verb", "list-verb", "ids-text", "no-ids", "number-id", "long-id", "too-many",
        "unknown-arg", "other-verbs-arg", "arg-type", "args-list",
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_the_reason(content, says):
    """The refusal carries the request's id, so that the view hears of it."""
    message = parse(content, SHOWN)
    assert isinstance(message, Refusal)
    assert message.id == "v-1"
    assert says in message.error


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
        "verb": st.sampled_from(["stop", "pause", "retry", "hello"]) | JSON,
        "ids": st.just(["t1"]) | JSON,
        "args": st.just({}) | JSON,
    },
)


@given(JSON | ALMOST)
def test_no_message_makes_it_raise(content):
    """Whatever JSON comes, the answer is a request, a signal or a refusal."""
    assert isinstance(parse(content, SHOWN), VerbRequest | SignalMessage | Refusal)
