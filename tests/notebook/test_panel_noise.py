"""Ten thousand messages that no view would send: nothing is raised or done, and all that can be answered is."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from chongming_task.notebook.card import Card
from chongming_task.notebook.inbound import Refusal, parse
from chongming_task.notebook.panel import Panel
from chongming_task.notebook.pipeline_view import PipelineView
from chongming_task.notebook.timeline import Timeline
from chongming_task.notebook.view import View
from tests.notebook.sample_tasks import FakeController, one_of_each
from tests.notebook.test_panel import Wire

MESSAGES = 10_000
WORDS = ["id", "verb", "ids", "args", "task", "to", "do", "reason", "seen", "after", "force", "__proto__", "\ud800"]
VERBS = ["stop", "retry", "reset", "details", "waits", "past", "run", "force_transition"]
VERBS += ["eval", "__class__", "", "STOP", "hello "]
RUN = "a-run"
KINDS: dict[str, Callable[[FakeController], View]] = {
    "panel": Panel,
    "card": lambda controller: Card(controller, controller.tasks[0].task_id),
    "timeline": Timeline,
    "timeline of a run": lambda controller: Timeline(controller, RUN),
    "graph": lambda controller: PipelineView(controller, RUN),
}


def thing(random: Random, depth: int = 0) -> Any:
    """Any JSON, shallow and deep, small and large."""
    kind = random.randrange(9 if depth < 4 else 6)
    match kind:
        case 0:
            return random.choice([None, True, False, 0, -1, 2**70, 1e308, 0.5])
        case 1 | 2:
            return random.choice(VERBS)
        case 3:
            return "".join(chr(random.randrange(0x300)) for _ in range(random.choice([1, 30, 5_000])))
        case 4 | 5:
            return random.choice(WORDS)
        case 6:
            return [thing(random, depth + 1) for _ in range(random.randrange(5))]
        case _:
            return {random.choice(WORDS): thing(random, depth + 1) for _ in range(random.randrange(6))}


def nearly(random: Random, task_id: str) -> Any:
    """A message that would be taken, with something about it that is not right."""
    message: dict[str, Any] = {
        "id": f"v-{random.randrange(10**9)}",
        "verb": random.choice(["stop", "retry", "details", "waits", "past", "run", "force_transition"]),
        "ids": [task_id],
        "args": {},
        "task": task_id,
        "to": "failed",
        "do": "stop",
        "reason": "because",
    }
    for name in random.sample(sorted(message), random.randrange(1, 4)):
        message[name] = thing(random)
    return message


def told_until(wire: Wire, request_id: str) -> list[dict[str, Any]]:
    """All answers up to the one to that request."""
    told: list[dict[str, Any]] = []
    seen = 0

    def has_come() -> bool:
        nonlocal seen
        news, seen = wire.messages[seen:], len(wire.messages)
        for message in news:
            told.extend(message.get("answers", [message] if message["kind"] == "answer" else []))
        return bool(told) and told[-1]["id"] == request_id

    with wire.arrived:
        assert wire.arrived.wait_for(has_come, timeout=60)
    return told


@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_malformed_messages(monkeypatch, caplog, kind):
    """Counted: each that names itself has one answer, and it says what is wrong; the controller was asked nothing."""
    caplog.set_level(logging.CRITICAL)
    random = Random(7)
    controller = FakeController([each._replace(pipeline_run_id=RUN) for each in one_of_each()])
    widget = KINDS[kind](controller)
    first = controller.tasks[0].task_id
    known = {first} if kind == "card" else {each.task_id for each in controller.tasks}
    wire = Wire(widget, monkeypatch)
    wire.say({"id": "v-0", "verb": "hello"})
    wire.wait_for(lambda message: message["kind"] == "reset")
    refused: list[str] = []
    unanswerable = 0
    while len(refused) + unanswerable < MESSAGES:
        content = thing(random) if random.random() < 0.5 else nearly(random, first)
        said = parse(content, known)
        if not isinstance(said, Refusal):
            continue  # something was right by chance
        wire.say(content)
        if said.id is None:
            unanswerable += 1
        else:
            refused.append(said.id)
    wire.say({"id": "last", "verb": "stop", "ids": [first], "args": {}})
    told = told_until(wire, "last")
    assert [each["id"] for each in told[:-1]] == refused
    assert all(not each["ok"] and each["error"] and each["results"] == [] for each in told[:-1])
    assert len(json.dumps(told[:-1])) < 400 * len(refused)  # what was sent does not come back
    assert told[-1]["ok"]
    assert len(controller.asked) == 1
    assert len(refused) > MESSAGES / 4
    assert unanswerable > MESSAGES / 10
    widget.close()
