"""Real DataFrames and arrays through a controller: what comes back is what was returned."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from chongming_task import ConfigurationError, Controller, FailureKind, ResultInvalid, ResultUnavailable, run_task, task

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def controller(tmp_path):
    with Controller(artifacts=tmp_path / "artifacts") as made:
        yield made


def frame() -> pd.DataFrame:
    """One column of every kind that matters."""
    return pd.DataFrame(
        {
            "whole": np.array([1, 2, 3], dtype="int32"),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "real": np.array([0.5, np.nan, np.inf], dtype="float32"),
            "text": ["a", "模型", ""],
            "string": pd.array(["a", None, "c"], dtype="string"),
            "when": pd.to_datetime(["2024-01-01", None, "2024-01-03"]).tz_localize("Europe/Berlin"),
            "span": pd.to_timedelta([1, None, 3], unit="s"),
            "status": pd.Categorical(["low", "high", None], categories=["low", "mid", "high"], ordered=True),
            "period": pd.period_range("2024-01", periods=3, freq="M"),
        },
        index=pd.Index([10, 20, 30], name="id"),
    )


FRAMES = {
    "every kind of column": frame(),
    "no rows": frame().drop(columns="status").iloc[:0],
    "nothing": pd.DataFrame(),
    "default index": pd.DataFrame({"a": [1, 2]}),
    "several levels": frame().set_index(["text", "status"], append=True)[["whole"]],
    "columns of numbers": pd.DataFrame(np.arange(6).reshape(2, 3)),
    "dates as index": pd.DataFrame({"a": [1, 2]}, index=pd.to_datetime(["2024-01-01", "2024-05-01"], utc=True)),
}
SERIES = {
    "named": frame()["status"],
    "nameless": pd.Series([1.5, None]),
    "name of a number": pd.Series([1, 2], name=7),
    "text index": pd.Series([1, 2], index=["a", "b"], name="value"),
}
ARRAYS = {
    "matrix": np.arange(6, dtype="float32").reshape(2, 3),
    "empty": np.empty((0, 3), dtype="int8"),
    "no dimensions": np.array(5),
    "text": np.array(["a", "模型"]),
    "times": np.array(["2024-01-01", "NaT"], dtype="datetime64[ns]"),
    "fields": np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
    "columns first": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "with nan": np.array([np.nan, np.inf]),
}


@pytest.mark.parametrize("value", FRAMES.values(), ids=FRAMES.keys())
def test_a_frame_comes_back_with_its_dtypes(controller, value):
    """Index, names, categories and their order, zones, and what is missing."""
    handle = controller.submit(lambda: value)
    back = handle.result(timeout=30)
    pd.testing.assert_frame_equal(back, value)
    assert list(back.dtypes) == list(value.dtypes)
    outcome = handle.snapshot.outcome
    assert outcome["codec"] == "parquet"
    assert outcome["type"].startswith("pandas.")
    assert outcome["pointer"] == {"rows": len(value), "columns": value.shape[1]}
    json.dumps(outcome, allow_nan=False)


@pytest.mark.parametrize("value", SERIES.values(), ids=SERIES.keys())
def test_a_series_comes_back_with_its_name(controller, value):
    """Or without one."""
    pd.testing.assert_series_equal(controller.submit(lambda: value).result(timeout=30), value)


@pytest.mark.parametrize("value", ARRAYS.values(), ids=ARRAYS.keys())
def test_an_array_comes_back_as_it_was(controller, value):
    """Shape, dtype and bits."""
    handle = controller.submit(lambda: value)
    back = handle.result(timeout=30)
    assert type(back) is np.ndarray
    assert back.dtype == value.dtype
    assert back.shape == value.shape
    np.testing.assert_array_equal(back, value)
    assert handle.snapshot.outcome["pointer"] == {"shape": list(value.shape), "dtype": str(value.dtype)}


def test_an_array_on_disk_is_copied(controller, tmp_path):
    """The file it lay in may go."""
    path = tmp_path / "mapped.bin"
    mapped = np.memmap(path, dtype="int16", mode="w+", shape=(4,))
    mapped[:] = [1, 2, 3, 4]
    back = controller.submit(lambda: mapped).result(timeout=30)
    path.unlink()
    assert back.tolist() == [1, 2, 3, 4]


def test_frames_within_other_values_come_back_in_their_places(controller):
    """What a training task returns: scores beside tables."""

    def train():
        return {"scores": [np.float32(0.5), 1], "folds": [frame(), np.arange(3)], "empty": ()}

    back = controller.submit(train).result(timeout=30)
    assert back["scores"] == [0.5, 1]
    pd.testing.assert_frame_equal(back["folds"][0], frame())
    assert back["folds"][1].tolist() == [0, 1, 2]
    assert back["empty"] == []


def test_each_result_has_a_folder_of_its_own_beside_the_tasks_files(controller, tmp_path):
    """Even where the task took the very name."""

    def both(ctx):
        (ctx.artifacts / "result/frame.parquet").write_text("mine")
        return [frame(), frame()]

    handle = controller.submit(both)
    assert len(handle.result(timeout=30)) == 2
    names = sorted(path.name for path in (tmp_path / "artifacts" / handle.id / "1").iterdir())
    assert names == ["result", "result-2", "result-3"]
    assert (tmp_path / "artifacts" / handle.id / "1" / "result" / "frame.parquet").read_text() == "mine"


def refused(controller, value) -> str:
    """The message of a result that is invalid, as the record has it and as the caller gets it."""
    handle = controller.submit(lambda: value)
    with pytest.raises(ResultInvalid) as caught:
        handle.result(timeout=30)
    assert handle.failure.kind is FailureKind.RESULT_INVALID
    assert handle.failure.message == str(caught.value)
    return str(caught.value)


def test_what_could_only_be_pickled_is_refused_and_told(controller):
    """Nothing is ever pickled: objects in arrays, mixed columns."""
    words = refused(controller, np.array([object()]))
    assert "numpy.ndarray at $" in words
    assert "could only be pickled" in words
    assert "tolist()" in words
    words = refused(controller, {"table": pd.DataFrame({"mixed": [1, "a", {2}]})})
    assert "DataFrame at $.table" in words
    assert "'parquet' cannot keep it: Arrow" in words
    assert "forgets the rows" in refused(controller, pd.DataFrame(index=[1, 2]))


def test_subclasses_that_would_lose_their_meaning_are_refused(controller):
    """A masked array without its mask shows what was hidden."""
    words = refused(controller, np.ma.array([1, 2], mask=[0, 1]))
    assert "MaskedArray at $" in words
    assert 'result="memory"' in words

    class Geo(pd.DataFrame):
        pass

    assert "Geo at $" in refused(controller, Geo({"a": [1]}))


def test_without_a_parquet_library_the_extra_is_named(controller, monkeypatch):
    """As on a machine that has pandas alone."""
    for name in ("pyarrow", "pyarrow.parquet", "fastparquet"):
        monkeypatch.setitem(sys.modules, name, None)
    words = refused(controller, frame())
    assert 'pip install "chongming-task[parquet]"' in words
    assert 'result="memory"' in words


def test_without_a_parquet_library_a_kept_frame_says_what_to_install(controller, monkeypatch):
    """The record is sound, and so is the file."""
    handle = controller.submit(frame)
    handle.wait(30)
    for name in ("pyarrow", "pyarrow.parquet", "fastparquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ResultUnavailable, match=r"chongming-task\[parquet\]"):
        handle.result()


READER = """
import json, sys
from chongming_task import Controller, ResultUnavailable
from chongming_task.core.states import TaskStatus
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.ports import Write
from chongming_task.stores.memory import MemoryTaskStore
from datetime import datetime, UTC

store = MemoryTaskStore()
for task_id, outcome in json.load(sys.stdin).items():
    snapshot = TaskSnapshot(task_id, "other", datetime.now(UTC), status=TaskStatus.SUCCEEDED, outcome=outcome)
    store.commit([Write(snapshot, None)])
with Controller(store) as controller:
    print("frame", controller.result("frame")["whole"].tolist(), controller.result("frame")["status"].cat.ordered)
    print("array", controller.result("array").tolist())
    try:
        controller.result("memory")
    except ResultUnavailable as error:
        print("memory", error)
"""


def test_another_process_reads_files_and_is_told_of_memory(controller, tmp_path):
    """A real one, that knows no more than the records; it runs in another directory."""

    @task(result="memory")
    def lock():
        return object()

    handles = {
        "frame": controller.submit(frame),
        "array": controller.submit(np.arange, 3),
        "memory": controller.submit(lock),
    }
    for handle in handles.values():
        handle.result(timeout=30)
    records = json.dumps({name: handle.snapshot.outcome for name, handle in handles.items()})
    done = subprocess.run(
        [sys.executable, "-c", READER], input=records, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "frame [1, 2, 3] True"
    assert lines[1] == "array [0, 1, 2]"
    assert "kept in the memory of the process that ran the task" in lines[2]


def test_a_task_in_a_process_of_its_own_keeps_frames_and_files(tmp_path):
    """The worker writes, this process reads; each attempt has its folder here as there."""

    def both(ctx):
        import pandas

        (ctx.artifacts / "notes.txt").write_text("kept")
        return {"frame": pandas.DataFrame({"a": [1, 2]}), "folder": str(ctx.artifacts.folder)}

    with Controller(executor="process", artifacts=tmp_path) as controller:
        back = controller.submit(both).result(timeout=50)
    pd.testing.assert_frame_equal(back["frame"], pd.DataFrame({"a": [1, 2]}))
    assert (Path(back["folder"]) / "notes.txt").read_text() == "kept"
    assert Path(back["folder"]).is_relative_to(tmp_path)


def test_memory_is_refused_for_a_process(tmp_path):
    """At submission: the object would be gone with the worker."""
    keep = task(result="memory")(frame)
    with (
        Controller(executor="process", artifacts=tmp_path) as controller,
        pytest.raises(ConfigurationError, match='executor="thread"'),
    ):
        controller.submit(keep)


def test_run_task_gives_frames_back_too(tmp_path, monkeypatch):
    """After its controller is closed."""
    monkeypatch.chdir(tmp_path)
    pd.testing.assert_frame_equal(run_task(frame).result(), frame())
    assert (tmp_path / ".chongming" / "artifacts").is_dir()
    assert [path.name for path in Path(tmp_path).iterdir()] == [".chongming"]
