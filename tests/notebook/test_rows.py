"""What crosses to the browser of one task: `notebook/rows.py`, and that TypeScript mirrors it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from chongming_task.core.failures import Failure, FailureKind
from chongming_task.core.records import Progress
from chongming_task.core.states import VERB_TABLE, Outcome, TaskStatus, Verb, rule_for
from chongming_task.notebook.rows import (
    DEFAULT_ROW,
    EVERYTHING,
    VIEW_VERBS,
    Row,
    changed_fields,
    display_key,
    make_blocks,
    make_row,
    situations,
    status_of,
)
from tests.notebook.sample_tasks import NOW, ago, ended, one_of_each, running, task

EPOCH = round(NOW.timestamp() * 1000)
PROTOCOL = Path(__file__).parents[2] / "js" / "src" / "wire" / "protocol.ts"


def test_times_are_milliseconds_since_the_feeds_start():
    """Also before it, and missing ones stay missing."""
    row = make_row(running(1, "a", 24.5), EPOCH)
    assert (row.started, row.ended, row.created) == (-24_500, None, -600_000)


def test_the_situation_tells_status_and_place_of_a_pause():
    """Paused in place and paused before the start are two situations of one status."""
    before = make_row(task(1, "a", TaskStatus.PAUSED), EPOCH)
    inside = make_row(task(2, "b", TaskStatus.PAUSED, live=True), EPOCH)
    assert status_of(before) is status_of(inside) is TaskStatus.PAUSED
    assert [VERB_TABLE[row.situation].in_place for row in (before, inside)] == [False, True]


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (Failure(FailureKind.EXCEPTION, "bad\nmore", exception_type="builtins.ValueError"), "ValueError: bad"),
        (Failure(FailureKind.EXCEPTION, "", exception_type="my.module.Odd"), "Odd"),
        (Failure(FailureKind.TIMEOUT_IDLE, "\n  no checkpoint for 30 s"), "no checkpoint for 30 s"),
        (Failure(FailureKind.NONZERO_EXIT), "nonzero exit"),
        (None, None),
    ],
    ids=["exception", "no-message", "blank-first-line", "only-a-kind", "none"],
)
def test_a_failure_is_told_in_one_line(failure, line):
    """The first line that says something."""
    assert make_row(task(1, "a", failure=failure), EPOCH).failure == line


def test_texts_are_cut_with_a_visible_mark():
    """A name of a megabyte does not travel."""
    row = make_row(running(1, "x" * 10_000, 1, progress=Progress(message="y" * 10_000)), EPOCH)
    assert (len(row.name), row.name[-1]) == (200, "…")
    assert row.note is not None
    assert (len(row.note), row.note[-1]) == (160, "…")


@pytest.mark.parametrize(
    ("given", "sent"), [(3.0, 3), (0.25, 0.25), (float("nan"), None), (float("inf"), None), (10**15, 10**15)]
)
def test_progress_is_strict_json(given, sent):
    """No NaN, no infinity."""
    row = make_row(running(1, "a", 1, progress=Progress(done=given)), EPOCH)
    assert row.done == sent
    json.dumps(row, allow_nan=False)


def test_rows_that_changed_in_the_same_fields_share_a_block():
    """Column names are told once for all of them."""
    one = make_row(running(1, "a", 1, progress=Progress(1, 9)), EPOCH)
    two = make_row(running(2, "b", 1, progress=Progress(2, 9)), EPOCH)
    fields = changed_fields(one, one._replace(done=5))
    blocks = make_blocks([(0, one, fields), (7, two, fields)])
    assert blocks == [{"rows": [0, 7], "cols": {"done": [1, 2]}}]


def test_a_whole_row_sends_only_what_is_not_default():
    """And says so, for the browser starts it from the defaults."""
    row = make_row(task(1, "a", created_at=NOW, queued_at=None), EPOCH)
    (block,) = make_blocks([(3, row, EVERYTHING)])
    assert block["whole"] is True
    assert set(block["cols"]) == {"id", "name", "created", "situation"}


def test_a_changed_row_takes_at_most_120_bytes():
    """Measured on the changes that happen all the time: progress, a start, an end."""
    before = make_row(running(1, "a", 24, progress=Progress(7_200, 10_000, "rows", None, ago(1))), EPOCH)
    moved = make_row(running(1, "a", 24, progress=Progress(7_412, 10_000, "rows", None, NOW)), EPOCH)
    queued = make_row(task(1, "a"), EPOCH)
    started = make_row(running(1, "a", 0, status=TaskStatus.STARTING, max_attempts=1), EPOCH)
    ends = make_row(ended(1, "a", TaskStatus.SUCCEEDED, 0, max_attempts=3, started_at=ago(24)), EPOCH)
    for old, new in ((before, moved), (queued, started), (before._replace(done=None, total=None), ends)):
        blocks = make_blocks([(12_345, new, changed_fields(old, new))])
        assert len(json.dumps(blocks, separators=(",", ":"))) <= 120, blocks


def test_a_thousand_changed_rows_take_far_less_each():
    """The columns' names weigh once for all."""
    row = make_row(running(1, "a", 24, progress=Progress(7_200, 10_000)), EPOCH)
    fields = changed_fields(row, row._replace(done=1, progress_at=1))
    blocks = make_blocks((number, row, fields) for number in range(1000))
    assert len(json.dumps(blocks, separators=(",", ":"))) < 20 * 1000


def test_situations_are_the_verb_table():
    """Every rule a view may ask for, and nothing of its own."""
    letters = {Outcome.ACT: "a", Outcome.NOOP: "n", Outcome.REFUSED: "r"}
    sent = situations()
    assert [s["status"] for s in sent] == [row.status.value for row in VERB_TABLE]
    for row, situation in zip(VERB_TABLE, sent, strict=True):
        assert situation["rules"] == "".join(letters[row.rules[verb].outcome] for verb in VIEW_VERBS)
    assert rule_for(TaskStatus.STOPPING, True, Verb.STOP).outcome is Outcome.NOOP
    assert [s["rules"] for s in sent if s["status"] == "stopping"] == ["rrnrnrr"]


def test_the_default_order_is_active_bad_waiting_ended():
    """The newest first in each."""
    rows = [make_row(each, EPOCH) for each in one_of_each()]
    order = [status_of(row).value for row in sorted(rows, key=display_key)]
    assert order[:9] == [
        "starting", "running", "pausing", "running", "stopping", "stopping", "running", "paused", "running",
    ]  # fmt: skip
    assert order[9:13] == ["failed", "failed", "lost", "lost"]
    assert set(order[13:19]) == {"queued", "blocked", "pending", "paused", "retry_wait"}
    assert set(order[19:]) == {"succeeded", "stopped", "cancelled", "skipped"}


def test_typescript_mirrors_the_rows():
    """protocol.ts holds the same statuses, verbs, fields and defaults, in the same order."""
    text = PROTOCOL.read_text()

    def listed(name: str) -> list[str]:
        found = re.search(rf"{name} = \[(.*?)\]", text, re.DOTALL)
        assert found, name
        return re.findall(r'"(\w+)"', found[1])

    assert listed("STATUSES") == [status.value for status in TaskStatus]
    assert listed("VERBS") == [verb.value for verb in VIEW_VERBS]
    found = re.search(r"ROW_DEFAULTS: Row = \{(.*?)\};", text, re.DOTALL)
    assert found
    defaults = json.loads("{" + re.sub(r"(\w+):", r'"\1":', found[1]).strip().rstrip(",") + "}")
    assert defaults == json.loads(json.dumps(DEFAULT_ROW._asdict()))
    assert list(defaults) == list(Row._fields)
