"""The history of a store as frames: the same from every store, with every filter, read-only, and of the right types."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from chongming_task import (
    ConfigurationError,
    Controller,
    FixedBackoff,
    MemoryTaskStore,
    Pipeline,
    RetryPolicy,
    StoreError,
)
from chongming_task.core.ports import TaskStore
from chongming_task.history import History
from chongming_task.history.columns import DURATIONS, TABLES
from chongming_task.history.frames import dtype_of
from chongming_task.stores.open import open_store
from chongming_task.testing.simulation import Simulation
from tests.golden import history as golden
from tests.support.histories import copy

METHODS = ("tasks", "attempts", "transitions", "output", "durations", "runs")
KINDS = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    """An empty store of each kind."""
    if request.param == "memory":
        made: TaskStore = MemoryTaskStore()
    elif request.param == "sqlite":
        made = open_store(tmp_path / "runs.db")
    else:
        made = open_store(request.getfixturevalue("postgres_dsn"))
    yield made
    made.close()


def frames(history: History) -> dict[str, pd.DataFrame]:
    """Everything it can tell."""
    found = {method: getattr(history, method)() for method in METHODS}
    return found | {"at": history.at(golden.moment(3))}


def assert_equal(found: dict[str, pd.DataFrame], expected: dict[str, pd.DataFrame]) -> None:
    for method, frame in expected.items():
        pd.testing.assert_frame_equal(found[method], frame, obj=method)


def test_dtypes_are_as_documented(store):
    """With a record in every status, and with none at all."""
    empty = frames(History(store))
    golden.write(store)
    for each in (empty, frames(History(store))):
        for method, columns in TABLES.items():
            declared = {column.name: dtype_of(column.dtype) for column in columns}
            if method == "durations":
                declared = {"name": "string"} | declared
            assert dict(each[method].dtypes) == declared
            assert list(each[method].columns) == list(declared)
    assert [len(frame) for frame in empty.values()] == [0] * len(empty)


def test_every_store_gives_the_same_frames(store):
    """Of records in every status, with everything that a store can hold."""
    reference = MemoryTaskStore()
    golden.write(reference)
    golden.write(store)
    expected = frames(History(reference))
    assert all(len(expected[method]) for method in ("tasks", "attempts", "transitions", "output", "at"))
    assert_equal(frames(History(store)), expected)


def test_every_store_gives_the_same_frames_of_a_simulated_run(store):
    """Of one with failures, retries, pauses, stops, crashes and overrides."""
    world = Simulation(seed=5)
    world.run(300)
    copy(world.store, store)
    expected = frames(History(world.store))
    assert len(expected["tasks"]) > 5
    assert_equal(frames(History(store)), expected)


# what is asked for


@pytest.fixture
def ran(store):
    """A store after a run with a success, a failure, a retry and a skip, and tasks beside it."""
    tries = []

    def flaky() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("hung up")
        return 7

    with Controller(store, echo=False) as controller:
        controller.submit(pow, 2, 10, name="good", tags=["math", "slow"]).wait(timeout=20)
        controller.submit(divmod, 1, 0, name="bad", tags=["math"]).wait(timeout=20)
        controller.submit(print, "hello", name="good too").wait(timeout=20)
        pipeline = Pipeline("nightly")
        first = pipeline.add(flaky, name="first", retry=RetryPolicy(2, FixedBackoff(0.0)))
        pipeline.add(print, "seven:", first, name="second")
        pipeline.add(print, "not wanted", name="third", deps=[first], when=lambda up: False)
        controller_run = pipeline.submit(controller)
        controller_run.wait(timeout=20)
        yield controller, controller_run


def test_tasks_are_filtered(ran):
    """By all there is, alone and together."""
    controller, run = ran
    history = controller.history

    def names(**filters: object) -> list[str]:
        return history.tasks(**filters)["name"].tolist()

    assert names() == ["good", "bad", "good too", "first", "second", "third"]
    assert names(status="failed") == ["bad"]
    assert names(status=["failed", "skipped"]) == ["bad", "third"]
    assert names(tag="math") == ["good", "bad"]
    assert names(name="good") == ["good"]
    assert names(name_prefix="good") == ["good", "good too"]
    assert names(pipeline="nightly") == names(pipeline_run_id=run.id) == ["first", "second", "third"]
    assert names(pipeline="night") == []
    assert names(task_id=run.handle("second").id) == ["second"]
    assert names(limit=2) == ["second", "third"]
    assert names(bucket=3) == []
    bad = history.tasks(name="bad")["created_at"][0]
    assert names(since=bad, until=bad + timedelta(microseconds=1)) == ["bad"]
    assert names(since=bad, limit=1, status="succeeded") == ["second"]
    assert names(until=bad) == ["good"]


def test_what_belongs_to_tasks_is_filtered_by_them(ran):
    """And by its own time."""
    controller, _ = ran
    history = controller.history
    first = history.attempts(name="first")
    assert first["status"].tolist() == ["failed", "succeeded"]
    assert first["exception_type"].tolist() == ["builtins.ConnectionError", pd.NA]
    assert "hung up" in first["traceback"][0]
    assert history.attempts(name="first", since=first["started_at"][1])["attempt"].tolist() == [2]
    assert history.attempts(status="skipped").empty
    assert history.output(pipeline="nightly")["text"].tolist() == ["seven: 7"]
    assert history.output(tag="math").empty
    assert history.transitions(name="good")["to_status"].tolist() == ["queued", "starting", "running", "succeeded"]
    assert history.transitions(limit=1)["task_id"][0] in set(history.tasks(pipeline="nightly")["task_id"])


def test_runs_are_folded_from_their_nodes(ran):
    """The status is the run's own."""
    controller, run = ran
    (row,) = controller.history.runs().to_dict("records")
    assert row["pipeline_run_id"] == run.id
    assert (row["pipeline"], row["status"]) == ("nightly", str(run.status))
    assert (row["records"], row["succeeded"], row["failed"], row["ended_otherwise"], row["unfinished"]) == (
        3,
        2,
        0,
        1,
        0,
    )
    assert row["attempts"] == 3
    assert row["duration"] == row["ended_at"] - row["started_at"] > pd.Timedelta(0)
    assert controller.history.runs(status="failed", pipeline="nightly").empty
    assert len(controller.history.runs(status=["succeeded"], limit=1, since=row["created_at"])) == 1
    assert controller.history.runs(until=row["created_at"]).empty


def test_a_failed_run_names_its_first_failure(store):
    """And counts what it has blocked."""
    with Controller(store, echo=False) as controller:
        pipeline = Pipeline("a:b")
        broken = pipeline.add(divmod, 1, 0, name="broken")
        pipeline.add(print, broken, name="after")
        run = pipeline.submit(controller)
        run.wait(timeout=20)
        (row,) = controller.history.runs(pipeline="a:b").to_dict("records")
        assert row["status"] == run.status == "failed"
        assert row["first_failure"] == "broken"
        assert "zero" in row["why"]
        assert (row["failed"], row["ended_otherwise"]) == (1, 1)


def test_durations_are_grouped(ran):
    """By columns, tags and pipelines; the sums are those of the attempts."""
    controller, _ = ran
    history = controller.history
    by_name = history.durations()
    assert by_name.set_index("name")["attempts"].to_dict() == {
        "good": 1, "bad": 1, "good too": 1, "first": 2, "second": 1,
    }  # fmt: skip
    assert by_name.set_index("name")["failed"].to_dict()["first"] == 1
    assert by_name["total"].is_monotonic_decreasing
    assert by_name["total"].sum() == history.attempts()["duration"].sum()
    assert history.durations("tag", tag="math").set_index("tag")["attempts"].to_dict() == {"math": 2, "slow": 1}
    both = history.durations(["pipeline", "node"], pipeline="nightly")
    assert list(both.columns) == ["pipeline", "node", *(column.name for column in DURATIONS)]
    assert sorted(both["node"]) == ["first", "second"]
    assert history.durations("name", status="skipped").empty


def test_frames_of_handles_and_runs(ran):
    """A row for each record, as in the history."""
    controller, run = ran
    handle = run.handle("first")
    frame = controller.history.tasks(task_id=handle.id)
    pd.testing.assert_frame_equal(handle.frame(), frame)
    nodes = controller.history.tasks(pipeline_run_id=run.id)
    pd.testing.assert_frame_equal(run.frame(), nodes)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda history: history.tasks(status="gone"), "is no status"),
        (lambda history: history.tasks(since=datetime(2026, 1, 1)), "since takes a datetime with a time zone"),
        (lambda history: history.tasks(limit=-1), "limit must be 0 or more"),
        (lambda history: history.tasks(names="x"), "'names' is no filter; there are status, tag, name"),
        (lambda history: history.at(datetime(2026, 1, 1)), "at takes a datetime with a time zone"),
        (lambda history: history.runs(status="lost"), "is no status of a run; there are pending"),
        (lambda history: history.durations("speed"), "takes 'tag', 'pipeline' or a column of tasks.*got 'speed'"),
        (lambda history: history.durations([]), "got nothing"),
    ],
)
def test_what_is_wrong_is_told(call, says):
    """With what would be right."""
    with pytest.raises(ConfigurationError, match=says):
        call(History(MemoryTaskStore()))


# files and servers


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_history_is_opened_to_look(kind, tmp_path, request):
    """While a controller writes; nothing can be written through it, and it closes what it opened."""
    where = tmp_path / "runs.db" if kind == "sqlite" else request.getfixturevalue("postgres_dsn")
    with Controller(open_store(where)) as controller:
        controller.submit(pow, 2, 3).wait(timeout=20)
        with History.open(where) as history:
            assert history.tasks()["outcome"].tolist() == ["8"]
            controller.submit(pow, 2, 4).wait(timeout=20)
            assert history.tasks(limit=1)["outcome"].tolist() == ["16"]
            with pytest.raises(StoreError, match="read-only"):
                history._store.prune(0)
    with pytest.raises(StoreError, match="closed"):
        history.tasks()


def test_what_cannot_be_opened_is_told(tmp_path):
    """And no file is made."""
    with pytest.raises(StoreError, match="cannot be opened"):
        History.open(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(ConfigurationError, match=r"for a store: History\(store\)"):
        History.open(MemoryTaskStore())


def test_rows_that_a_filter_excludes_are_not_loaded(tmp_path):
    """The statement filters: SQLite hands over no other rows."""
    store = open_store(tmp_path / "runs.db")
    golden.write(store)
    handed = []
    inner = store._database.read_all

    def listening(work):
        found = inner(work)
        handed.extend(len(rows) for rows in found)
        return found

    store._database.read_all = listening
    store.scan_arrow = lambda *wanted: None
    history = History(store)
    assert len(history.tasks(status="failed", limit=1)) == 1
    assert len(history.transitions(name="failed")) == handed[-1]
    assert len(history.attempts(since=datetime.now(UTC))) == 0
    assert handed == [1, handed[1], 0]
    store.close()


def test_a_controller_shows_what_it_has_not_stored_yet():
    """Lines that a running task has just written are there."""
    from threading import Event

    written, go_on = Event(), Event()

    def talk() -> None:
        print("so far")
        written.set()
        go_on.wait(20)

    with Controller(echo=False) as controller:
        handle = controller.submit(talk)
        assert written.wait(20)
        assert controller.history.output()["text"].tolist() == ["so far"]
        go_on.set()
        handle.wait(timeout=20)
