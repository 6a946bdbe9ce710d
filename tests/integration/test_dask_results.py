"""Results that stay on the cluster: the record has a pointer, the next node the value, this process neither."""

from __future__ import annotations

from contextlib import closing

import psutil
import pytest

from chongming_task import (
    AggregationPolicy,
    Controller,
    DaskExecutor,
    FailureKind,
    JoinMode,
    Pipeline,
    ResultUnavailable,
    SqliteTaskStore,
    TaskExecutionError,
)
from chongming_task.core.results import MARK
from chongming_task.runtime.results import load_result
from tests.support import dask_tasks as tasks
from tests.support.dask_cluster import cluster
from tests.support.waiting import until

pytestmark = [pytest.mark.dask, pytest.mark.timeout(120)]

MEGABYTES = 64  # of each array that nobody fetches


@pytest.fixture(scope="module")
def workers():
    """Two workers with four threads each."""
    with cluster(threads=4) as made:
        yield made


@pytest.fixture
def controller(workers, tmp_path):
    """On the two workers, with a store that holds only what is written."""
    with Controller(
        tmp_path / "runs.db", executor=DaskExecutor(workers), echo=False, artifacts=tmp_path / "artifacts"
    ) as made:
        yield made


def array_line() -> Pipeline:
    """Arrays from node to node, a number at the end."""
    pipeline = Pipeline("arrays")
    made = [pipeline.add(tasks.array, MEGABYTES, name=f"make{n}") for n in range(2)]
    twice = [pipeline.add(tasks.doubled, each, name=f"double{n}") for n, each in enumerate(made)]
    pipeline.add(tasks.total, *made, *twice, name="total")
    return pipeline


def test_arrays_go_from_worker_to_worker(controller, tmp_path):
    """Not through this process, whose memory stays as it is; and not over a disk."""
    controller.submit(tasks.where).result(timeout=30)
    before = psutil.Process().memory_info().rss
    run = array_line().submit(controller)
    assert run.wait(timeout=60) == "succeeded"
    grown = (psutil.Process().memory_info().rss - before) / (1 << 20)
    assert run.result("total") == 2 * (1 + 2) * MEGABYTES * (1 << 20) / 8
    assert grown < MEGABYTES / 2  # of 256 that were made
    assert not (tmp_path / "artifacts").exists()


def test_the_record_has_a_pointer(controller, tmp_path, workers):
    """As the store does: what it is and how large, not what it holds. Who asks for the value fetches it."""
    handle = controller.submit(tasks.array, 1)
    value = handle.result(timeout=30)
    assert (value.shape, value.sum()) == ((1 << 17,), 1 << 17)
    outcome = handle.snapshot.outcome
    assert outcome == {
        MARK: "dask",
        "key": outcome["key"],
        "cluster": workers.scheduler_address,
        "type": "numpy.ndarray",
        "bytes": 1 << 20,
        "shape": [1 << 17],
        "dtype": "float64",
    }
    controller.counts()
    with closing(SqliteTaskStore(tmp_path / "runs.db")) as store:
        assert store.get(handle.id).outcome == outcome
    assert handle.result().sum() == value.sum()


def test_maps_hand_on_what_stays_there(controller):
    """Each of its tasks has a value of its own; a node takes all of them in order."""
    pipeline = Pipeline("map")
    arrays = pipeline.map(tasks.array, [1, 2, 3], name="arrays")
    pipeline.add(tasks.gathered, arrays, name="sum")
    run = pipeline.submit(controller)
    assert run.wait(timeout=60) == "succeeded"
    assert run.result("sum") == (1 + 2 + 3) * (1 << 17)
    assert [each.nbytes >> 20 for each in run.result("arrays")] == [1, 2, 3]


def test_a_condition_may_look_at_them_here(controller):
    """What is asked in this process fetches what it asks for."""
    pipeline = Pipeline("conditions")
    made = pipeline.add(tasks.array, 1, name="make")
    pipeline.add(tasks.total, made, name="yes", when=lambda results: results["make"].sum() > 0)
    pipeline.add(tasks.total, made, name="no", when=lambda results: results["make"].sum() < 0)
    run = pipeline.submit(controller)
    run.wait(timeout=60)
    assert {node: str(run.handle(node).status) for node in ("yes", "no")} == {"yes": "succeeded", "no": "skipped"}


def test_json_stays_in_the_record(controller):
    """Whatever can be there is there, in any process."""
    assert controller.submit(lambda: {"rows": [1, 2]}).result(timeout=30) == {"rows": [1, 2]}


@pytest.mark.parametrize(
    ("target", "said"),
    [(tasks.foreign, r"_thread\.lock at \$\.here\[0\].*cannot go to another Dask worker"), (tasks.infinite, "inf at")],
    ids=["what cannot be sent", "what JSON refuses"],
)
def test_what_can_be_kept_nowhere_is_refused(controller, target, said):
    """As with any executor: the value is at fault, and no other attempt is made."""
    handle = controller.submit(target)
    handle.wait(30)
    assert (handle.status, handle.failure.kind) == ("failed", FailureKind.RESULT_INVALID)
    with pytest.raises(TaskExecutionError, match=said):
        handle.result()


def test_they_are_gone_with_the_controller(workers, tmp_path):
    """Told to whoever asks later, here and elsewhere; the cluster has its memory back."""
    with Controller(tmp_path / "runs.db", executor=DaskExecutor(workers), echo=False) as controller:
        handle = controller.submit(tasks.array, 1)
        handle.wait(30)
    with pytest.raises(ResultUnavailable, match="the cluster or the controller was closed"):
        handle.result()
    with closing(SqliteTaskStore(tmp_path / "runs.db")) as store:
        outcome = store.get(handle.id).outcome
    with pytest.raises(ResultUnavailable, match="that is not this one"):
        load_result(outcome, ())
    until(lambda: not [key for key in workers.scheduler.tasks if key.startswith("chongming-")], "it is let go")


def test_a_value_that_is_gone_with_its_worker_is_told_and_not_made_again(tmp_path):
    """Dask would run its task once more, unseen; a node that needs it fails, and says what to do."""
    notes, there = tmp_path / "notes", tmp_path / "there"
    with cluster(workers=1, threads=2) as made, Controller(executor=DaskExecutor(made), echo=False) as controller:
        pipeline = Pipeline("lost", on_failure=AggregationPolicy.all_settled)
        array = pipeline.add(tasks.array, 1, str(notes), name="make")
        where = pipeline.add(tasks.where, name="where")
        gate = pipeline.add(tasks.stay, str(there), name="gate", deps=[array, where])
        pipeline.add(tasks.total, array, deps=[gate], join=JoinMode.ALL_DONE, name="total")
        run = pipeline.submit(controller)
        until(lambda: tasks.noted(there), "it is made, and the next one runs")
        psutil.Process(run.result("where")).kill()
        assert run.wait(timeout=60) == "failed"
        for part in ("is no longer on the Dask cluster", "Reset the node that made it"):
            assert part in run.handle("total").failure.message
        with pytest.raises(ResultUnavailable, match="not run again behind anybody's back"):
            run.handle("make").result()
        assert tasks.noted(notes) == ["made"]
