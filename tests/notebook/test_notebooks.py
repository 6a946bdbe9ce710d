"""The short notebooks, each run top to bottom in a real kernel: cells show what the text around them promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.notebooks import NOTEBOOKS, Ran

pytestmark = [pytest.mark.notebook, pytest.mark.slow, pytest.mark.timeout(120)]

TRAIL = """
import json
trail = loading.transitions
print(json.dumps([[each.from_status, each.to_status, each.trigger, each.actor, each.reason] for each in trail]))
"""
ATTEMPTS = """
import json
handles = {"fetch": fetching, "slow": limited[0], "silent": limited[1], "price": pricing}
print(json.dumps({
    name: [[each.status, each.failure and each.failure.kind] for each in handle.attempts]
    for name, handle in handles.items()
}))
"""
LEFT = """
import json
handles = [*writing.values(), sleeping]
print(json.dumps({
    "parts": [path.name for path in folder.glob("*.part")],
    "said": [[line.text for line in handle.output()] for handle in handles],
    "done": [handle.progress and handle.progress.done for handle in handles],
    "how": [handle.failure.message for handle in handles],
    "statuses": [handle.status for handle in handles],
}))
"""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a notebook has to show."""

    name: str
    probe: str
    texts: dict[str, str]  # part of a cell's source → how its output begins


EXPECTED = (
    Expected(
        "control",
        TRAIL,
        {
            "counting = controller.submit": "held: True | paused\ncounted meanwhile: 0",
            "counting.resume()": "resumed: True | running\nstopped: True | stopped | still at work: False",
            "loading = controller.submit": "held: False | running",
            "loading.stop(": "stopped: False | lost | still at work: True\n"
            "the worker was asked to stop and reached no checkpoint",
            "loading.retry()": "cannot retry 'load': its worker was given up and still runs",
            "while loading.running": "lost | the worker that was given up returned at ",
            'reason=""': "force_transition needs an actor and a reason: it goes into the audit trail\n"
            "succeeded | set by hand: True",
        },
    ),
    Expected(
        "retries",
        ATTEMPTS,
        {
            "fetching = controller": "answered to call 3",
            "backoff.delay(": "[1, 2, 4, 8, 16, 32, 60, 60]",
            "parsing = controller": "failed after 1 attempt: invalid literal for int()",
            "lost = controller": "lost | attempts: 1 | still at work: True\n"
            "the worker overran its attempt limit of 0.2 s",
            "pricing.retry()": "failed 'tea'\ncannot retry 'price': 1 of 1 attempts are used",
        },
    ),
    Expected(
        "processes",
        LEFT,
        {
            "squaring = controller": "[1, 4, 9] | another process: True | seen here: []\n"
            "['squared 1', 'squared 2', 'squared 3']",
            "sleeping = controller": "stopped: True | stopped | after ",
            "writing = {": "left: ['deaf.part']",
            "crashing = controller": "attempt 2 got through\n1 failed (-9, 'process ",
            "threading.Lock())": "argument 1 of print (a _thread.lock) cannot go to another process",
        },
    ),
)
BY_NAME = {each.name: each for each in EXPECTED}


@pytest.fixture(scope="module", params=list(BY_NAME))
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Expected, Ran]:
    """A notebook after a run in a folder of its own."""
    expected = BY_NAME[request.param]
    path = NOTEBOOKS / f"{expected.name}.ipynb"
    return expected, Ran(path, tmp_path_factory.mktemp(expected.name), expected.probe)


def test_it_takes_less_than_a_minute(ran):
    """And no cell failed or wrote to stderr."""
    _, notebook = ran
    assert notebook.seconds < 60
    notebook.went_well()


def test_cells_show_what_is_said_of_them(ran):
    """Each that prints."""
    expected, notebook = ran
    shown = {part: notebook.text(part)[: len(text)] for part, text in expected.texts.items()}
    assert shown == expected.texts


def test_what_is_left_is_what_is_said(ran):
    """The trail, the attempts, the files."""
    expected, notebook = ran
    CHECKS[expected.name](notebook.left)


def check_trail(left: list[list[Any]]) -> None:
    """The pause was withdrawn, the stop not obeyed, the status set by a person with a reason."""
    edges = [(before, after, trigger) for before, after, trigger, _, _ in left]
    assert edges[-5:] == [
        ("running", "pausing", "user:pause"),
        ("pausing", "running", "pause:timeout"),
        ("running", "stopping", "user:stop"),
        ("stopping", "lost", "timer:stop_window"),
        ("lost", "succeeded", "force:override"),
    ]
    assert left[-1][3:] == ["Ada", "all rows are there, I have counted them"]


def check_attempts(left: dict[str, list[list[Any]]]) -> None:
    """Two calls that failed; both limits; one more try that was granted."""
    well = ["succeeded", None]
    assert left == {
        "fetch": [["failed", "exception"], ["failed", "exception"], well],
        "slow": [["failed", "timeout_attempt"], well],
        "silent": [["failed", "timeout_idle"], well],
        "price": [["failed", "exception"], well],
    }


def check_left(left: dict[str, Any]) -> None:
    """The file of the task that was killed, and what both had told."""
    assert left["parts"] == ["deaf.part"]
    assert left["said"] == [["half of polite is written"], ["half of deaf is written"], []]
    assert left["done"] == [1, 1, None]
    assert left["how"][0] == "stopped at a checkpoint"
    assert "was killed" in left["how"][1]
    assert left["statuses"] == ["stopped"] * 3


CHECKS = {"control": check_trail, "retries": check_attempts, "processes": check_left}
