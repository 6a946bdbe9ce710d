"""Snapshots as pandas frames: `history/frames.py`."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd

from chongming_task.core.records import Progress, TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.history import read_parquet, snapshots_to_frame
from chongming_task.history.columns import TABLES, TASKS
from chongming_task.history.frames import dtype_of
from tests.notebook.sample_tasks import NOW, ended, one_of_each, running, task


def test_every_column_has_its_declared_dtype():
    """With all kinds of tasks, with one that has hardly any value, and with none at all."""
    declared = {column.name: dtype_of(column.dtype) for column in TASKS}
    for tasks in (one_of_each(), [TaskSnapshot("t", "bare", NOW)], []):
        frame = snapshots_to_frame(tasks)
        assert dict(frame.dtypes) == declared
        assert len(frame) == len(tasks)
        assert "object" not in {str(dtype) for dtype in frame.dtypes}


def test_status_is_ordered_as_the_enum():
    """So that comparisons and sorting mean something, and every status is known."""
    status = snapshots_to_frame(one_of_each())["status"]
    assert list(status.cat.categories) == [each.value for each in TaskStatus]
    assert status.cat.ordered
    assert (status < "succeeded").sum() == 15
    assert snapshots_to_frame([])["status"].cat.ordered


def test_times_are_utc_and_exact_and_differences_are_durations():
    """To the microsecond."""
    start = NOW + timedelta(microseconds=123_457)
    frame = snapshots_to_frame([ended(1, "a", TaskStatus.SUCCEEDED, 0, queued_at=NOW, started_at=start), task(2, "b")])
    assert frame["started_at"][0].to_pydatetime() == start
    assert str(frame["started_at"].dt.tz) == "UTC"
    assert frame["waited"][0] == timedelta(microseconds=123_457)
    assert frame["duration"].isna().tolist() == [False, True]


def test_missing_values_are_missing():
    """Not the text None, not 0, not False."""
    frame = snapshots_to_frame([task(1, "a"), running(2, "b", 1, progress=Progress(3, None, "rows"), pid=17)])
    assert frame["progress_done"].isna().tolist() == [True, False]
    assert frame["progress_total"].isna().all()
    assert frame["pid"].tolist()[1] == 17
    assert frame["pid"].isna()[0]
    assert frame["failure_kind"].isna().all()


def test_values_of_a_failed_task():
    """The failure's parts stand in columns of their own."""
    frame = snapshots_to_frame([each for each in one_of_each() if each.name == "parse xml/"])
    row = frame.iloc[0]
    assert (row["failure_kind"], row["exception_type"], row["tags"]) == ("exception", "builtins.ValueError", "parse")
    assert row["failure_message"].startswith("bad header")
    assert row["duration"] == timedelta(seconds=5)


def test_values_are_json_text():
    """Inputs and outcome keep their shape without objects in the frame."""
    frame = snapshots_to_frame([ended(1, "a", TaskStatus.SUCCEEDED, 0, outcome={"n": 3, "名": "x"})])
    assert frame["outcome"][0] == '{"n":3,"名":"x"}'


def test_what_no_text_can_hold_stays_escaped():
    """Half a character in a result is still a result."""
    frame = snapshots_to_frame([ended(1, "a", TaskStatus.SUCCEEDED, 0, outcome=["\ud800", "名"])])
    assert frame["outcome"][0] == '["\\ud800","\\u540d"]'


def test_a_wait_is_not_measured_backwards():
    """A task that is queued again has not started since."""
    again = task(1, "a", queued_at=NOW, started_at=NOW - timedelta(seconds=5), attempt=1)
    assert snapshots_to_frame([again])["waited"].isna().all()


def test_columns_explain_themselves():
    """The documentation prints these tables."""
    for columns in TABLES.values():
        assert len({column.name for column in columns}) == len(columns)
        assert all(column.meaning and not column.meaning.endswith(".") for column in columns)


def test_parquet_keeps_the_dtypes(tmp_path):
    """Also of categories that do not occur, and of an empty frame."""
    for tasks in (one_of_each(), [task(1, "a")], []):
        frame = snapshots_to_frame(tasks)
        frame.to_parquet(tmp_path / "tasks.parquet")
        pd.testing.assert_frame_equal(read_parquet(tmp_path / "tasks.parquet"), frame)
        kinds = dict(pd.read_parquet(tmp_path / "tasks.parquet").dtypes.astype(str))
        assert kinds == dict(frame.dtypes.astype(str))
