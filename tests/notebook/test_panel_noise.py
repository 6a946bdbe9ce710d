"""Ten thousand messages that no view would send: nothing is raised or done, and all that can be answered is."""

from __future__ import annotations

import json
import logging
from random import Random
from typing import Any

from chongming_task.notebook.inbound import Refusal, parse
from chongming_task.notebook.panel import panel
from tests.notebook.sample_tasks import FakeController, one_of_each
from tests.notebook.test_panel import Wire

MESSAGES = 10_000
WORDS = ["id", "verb", "ids", "args", "task", "to", "reason", "seen", "after", "force", "__proto__", "\ud800"]
VERBS = ["stop", "retry", "reset", "details", "waits", "force_transition", "eval", "__class__", "", "STOP", "hello "]


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
        "verb": random.choice(["stop", "retry", "details", "waits", "force_transition"]),
        "ids": [task_id],
        "args": {},
        "task": task_id,
        "to": "failed",
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


def test_ten_thousand_malformed_messages(monkeypatch, caplog):
    """Counted: each that names itself has one answer, and it says what is wrong; the controller was asked nothing."""
    caplog.set_level(logging.CRITICAL)
    random = Random(7)
    controller = FakeController(one_of_each())
    widget = panel(controller)
    known = {each.task_id for each in controller.tasks}
    first = min(known)
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
