"""Records as text and as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from chongming_task import Failure, FailureKind, Progress, RequestedAction
from chongming_task.cli.lookup import short_ids
from chongming_task.cli.render.documents import iso, json_text, task_document
from chongming_task.cli.render.tasks import counts_line, detail, status_page, task_table
from chongming_task.cli.render.units import clock_time, elapsed, moment, progress_text, span
from chongming_task.core.records import AttemptRecord, Command, TaskSnapshot, Transition
from chongming_task.core.states import TaskStatus as S

AT = datetime(2030, 1, 2, 3, 4, 5, 678_901, UTC)
NOW = AT + timedelta(seconds=90)


def record(task_id="0190-aaaa-bbbb", **fields):
    return TaskSnapshot(task_id, fields.pop("name", "load"), AT)._replace(**fields)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "0.0s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (59.6, "1m00s"),
        (3_599.7, "1h00m"),
        (86_399, "23h59m"),
        (86_400, "1d00h"),
    ],
)
def test_spans_are_short(seconds, said):
    """Never sixty of the smaller unit, never negative."""
    assert span(seconds) == said


def test_times_are_utc():
    """Whatever zone they come in."""
    assert moment(AT) == "2030-01-02 03:04:05Z"
    assert clock_time(AT) == "03:04:05.678Z"
    assert iso(AT.astimezone(timezone(timedelta(hours=8)))) == "2030-01-02T03:04:05.678901Z"
    assert iso(None) is None


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (None, ""),
        (Progress(message="begins"), ""),
        (Progress(done=3), "3"),
        (Progress(done=3, unit="rows"), "3 rows"),
        (Progress(done=999, total=1000), "99% 999/1000"),
        (Progress(done=5, total=0), "5/0"),
    ],
)
def test_progress_says_what_is_known(progress, said):
    """A hundred per cent only when all is done."""
    assert progress_text(progress) == said


def test_time_counts_from_the_start_to_the_end():
    """What has not started counts its waiting."""
    assert elapsed(record(), NOW) == "1m30s"
    assert elapsed(record(started_at=AT + timedelta(seconds=60)), NOW) == "30s"
    assert elapsed(record(started_at=AT, ended_at=AT + timedelta(seconds=5)), NOW) == "5.0s"


@pytest.mark.parametrize(
    ("fields", "watched", "said"),
    [
        ({"status": S.RUNNING}, False, "its process is gone"),
        ({"status": S.STOPPING, "requested_action": RequestedAction.STOP}, True, "asked to stop"),
        ({"status": S.LOST, "abandoned": True}, None, "may still run"),
        ({"status": S.RETRY_WAIT, "retry_at": NOW + timedelta(seconds=5)}, True, "again in 5.0s"),
        ({"failure": Failure(FailureKind.EXCEPTION, "boom\nmore", exception_type="a.B")}, None, "B: boom"),
        ({"failure": Failure(FailureKind.LOST)}, None, "lost"),
        ({"status": S.RUNNING, "progress": Progress(message="orders")}, True, "orders"),
    ],
)
def test_the_detail_is_what_matters_most(fields, watched, said):
    """One sentence."""
    assert said in detail(record(**fields), watched, NOW)


def test_a_table_of_records_shows_no_escapes_and_colours_only_when_asked():
    """The colour repeats the status's word."""
    task = record(name="\x1b[31m重明\x1b[0m", status=S.FAILED, failure=Failure(FailureKind.EXCEPTION, "\x1b]0;x\x07no"))
    short = short_ids([task.task_id])
    grey = task_table([task], short, {}, NOW)
    assert "\x1b" not in "".join(grey)
    assert "重明" in grey[1]
    assert "\x1b[31mfailed\x1b[0m" in task_table([task], short, {}, NOW, colour=True)[1]


def test_counts_are_in_the_order_of_life():
    """Statuses without any are left out."""
    assert counts_line({S.FAILED: 1, S.RUNNING: 2, S.LOST: 0}) == "2 running, 1 failed"
    assert counts_line({}) == "no tasks"


def full():
    failure = Failure(
        FailureKind.EXCEPTION, "boom \x1b[31m", traceback="Traceback\n  \x1b[1mline", exception_type="a.B"
    )
    task = record(
        status=S.FAILED, failure=failure, attempt=2, max_attempts=2, tags=frozenset({"b", "a"}), bucket=3,
        bucket_key="k", owner="o", executor="process", pid=7, started_at=AT, ended_at=NOW, inputs={"args": [1]},
        overridden=True, pipeline_run_id="nightly:1", node="n", outcome=None,
    )  # fmt: skip
    attempts = [
        AttemptRecord(task.task_id, 1, S.FAILED, AT, NOW, 1.0, failure=failure, note="late"),
        AttemptRecord(task.task_id, 2, S.RUNNING, AT),
    ]
    trail = [Transition(task.task_id, 1, S.PENDING, S.QUEUED, "user:start", "me", "a\x1b[2Jreason", AT)]
    commands = [
        Command("c1", task.task_id, "stop", {}, "me", AT),
        Command("c2", task.task_id, "stop", {}, "me", AT, completed_at=NOW, outcome={"ok": False, "message": "no"}),
        Command("c3", task.task_id, "stop", {}, "me", AT, completed_at=NOW, outcome={"ok": True, "acted": False}),
        Command("c4", task.task_id, "stop", {}, "me", AT, completed_at=NOW, outcome="odd"),
    ]
    return {"attempts": attempts, "trail": trail, "commands": commands}, task


def test_a_page_tells_all_and_obeys_nothing():
    """Attempts, changes, commands; the traceback where it is asked for."""
    parts, task = full()
    page = status_page(task, **parts, watched=None, now=NOW)
    text = "\n".join(page)
    for said in ("2 of 2", "set by hand", "a, b", "nightly:1, node n", "3, key k", "process 7", "exception: B: boom",
                 "late", "areason", "refused: no", "nothing to do", "none yet"):  # fmt: skip
        assert said in text
    assert "Traceback" not in text
    verbose = "\n".join(status_page(task, **parts, watched=None, now=NOW, verbose=True))
    assert "Traceback\n  line" in verbose
    assert '"args": [1]' in verbose
    assert "\x1b" not in text + verbose


def test_documents_are_strict_json_in_ascii():
    """Not a number becomes null; no letter in it can do anything to a terminal."""
    task = record(
        name="重\x1b\x9b", progress=Progress(done=float("nan"), total=float("inf")), outcome={"x": [1.5, None]}
    )
    text = json_text(task_document(task, True))
    assert text.isascii()
    assert text.isprintable()
    back = json.loads(text, parse_constant=pytest.fail)
    assert back["name"] == task.name
    assert back["progress"]["done"] is None
    assert back["result"] == {"x": [1.5, None]}
    assert back["created_at"] == "2030-01-02T03:04:05.678901Z"


def test_short_ids_tell_apart():
    """Eight letters, more where two end alike."""
    assert short_ids(["aaaa-11112222", "bbbb-33334444"]) == {
        "aaaa-11112222": "11112222", "bbbb-33334444": "33334444"}  # fmt: skip
    alike = ["x1-22223333", "y2-22223333"]
    assert len(set(short_ids(alike).values())) == 2
    assert short_ids([]) == {}
