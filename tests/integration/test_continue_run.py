"""A process that runs a pipeline is killed; another one goes on with the run."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from chongming_task import AggregationPolicy, ConfigurationError, Controller, MemoryTaskStore, Pipeline, SqliteTaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.states import TaskStatus
from chongming_task.testing import check_audit
from tests.integration import travellers
from tests.support.forge import forge
from tests.support.rig import Rig, job

S = TaskStatus
PATIENCE = 30.0


@pytest.fixture
def travel():
    """Starts processes of the script."""
    with forge(Path(travellers.__file__)) as made:
        yield made


def killed_half_way(travel, folder: Path, policy: str) -> str:
    """A run whose process was killed when one task of its map had succeeded and the others hung; its id."""
    process = travel.start("lead", folder, policy)
    run_id = process.readline()
    assert process.readline() == "half-way"
    process.kill()
    return run_id


def ran(folder: Path) -> Counter[str]:
    """What has begun, in both processes, and how often."""
    return Counter((folder / "log").read_text().split())


def check(folder: Path) -> None:
    with closing(SqliteTaskStore(folder / "runs.db", read_only=True)) as store:
        check_audit(store, settled=True)
        assert all(task.is_terminal for task in store.query(TaskQuery()))


@pytest.mark.parametrize("reconciled", [False, True])
@pytest.mark.parametrize("policy", ["all_settled", "fail_fast"])
def test_another_process_goes_on(travel, tmp_path, policy, reconciled):
    """What has succeeded stays; restartable tasks run again; a plain one stays lost until retry_failed."""
    run_id = killed_half_way(travel, tmp_path, policy)
    before = ran(tmp_path)
    assert before == Counter({"extract": 1, "scale-0": 1, "scale-1": 1, "scale-2": 1, "plain": 1, "slow": 1})
    (tmp_path / "go").touch()
    with Controller(tmp_path / "runs.db", echo=False, artifacts=tmp_path / "artifacts") as controller:
        if reconciled:
            report = controller.reconcile()
            assert len(report.lost) == 4
        pipeline = travellers.journey(tmp_path, policy)
        run = pipeline.continue_run(controller, run_id, input={"factor": 10})
        assert run.id == run_id
        assert run.wait(PATIENCE) == "failed"
        assert run["plain"].status is S.LOST
        assert run.summary().first_failure[0] == "plain"
        if policy == "all_settled":
            assert run.result("scale") == [0, 10, 20]
            assert run.result("total") == 30
            assert run.result("slow") == "slow"
            assert run["skipped"].status is S.SKIPPED
            assert ran(tmp_path) == before + Counter({"scale-1": 1, "scale-2": 1, "slow": 1, "total": 1})
        assert "plain" in run.retry_failed()
        assert run.wait(PATIENCE) == "succeeded"
        assert (run.result("total"), run.result("after plain")) == (30, "after plain")
        assert run["skipped"].status is S.SKIPPED
        found = ran(tmp_path)
        assert (found["extract"], found["scale-0"], found["plain"], found["total"]) == (1, 1, 2, 1)
        assert [str(each.status) for each in run["plain"].attempts] == ["lost", "succeeded"]
        assert [line.seq for line in run["plain"].output()] == [1, 2]
        assert run.summary().first_failure == ()
        with pytest.raises(ConfigurationError, match=r"is led by this controller: controller\.pipeline_run"):
            pipeline.continue_run(controller, run_id)
    check(tmp_path)


def test_a_run_that_has_failed_goes_on_elsewhere(travel, tmp_path):
    """What its policy had cancelled runs again with retry_failed, also in a process that did not cancel it."""
    process = travel.start("fail", tmp_path)
    run_id = process.readline()
    assert process.readline() == "failed"
    process.kill()
    (tmp_path / "go").touch()
    with Controller(tmp_path / "runs.db", echo=False, artifacts=tmp_path / "artifacts") as controller:
        run = travellers.failing(tmp_path).continue_run(controller, run_id)
        assert run.wait(PATIENCE) == "failed"
        assert run.summary().first_failure == ("map[1]", "map", "total")
        names = run.retry_failed()
        assert {"map[1]", "map", "total", "slow"} <= set(names)
        assert run.wait(PATIENCE) == "succeeded"
        assert (run.result("total"), run.result("slow")) == (3, "slow")
    assert ran(tmp_path)["map-0"] == 1
    check(tmp_path)


def test_a_run_that_somebody_leads(travel, tmp_path):
    """Is left to it; so is one that is not there, or not of this pipeline."""
    process = travel.start("lead", tmp_path, "all_settled")
    run_id = process.readline()
    assert process.readline() == "half-way"
    with Controller(tmp_path / "runs.db", echo=False, artifacts=tmp_path / "artifacts") as controller:
        pipeline = travellers.journey(tmp_path, "all_settled")
        with pytest.raises(
            ConfigurationError, match=rf"the run '{run_id}' is led by .*; steer it there, or by its nodes"
        ):
            pipeline.continue_run(controller, run_id)
        with pytest.raises(ConfigurationError, match="the store holds no run 'nowhere'"):
            pipeline.continue_run(controller, "nowhere")
        other = Pipeline("other")
        other.add(abs, 1, name="x")
        with pytest.raises(ConfigurationError, match="is not one of the pipeline 'other', which has no node"):
            other.continue_run(controller, run_id)
        process.kill()
        run = pipeline.continue_run(controller, run_id, input={"factor": 10})
        run.stop()
        assert run.done()
        said = json.dumps([str(each.status) for each in run.snapshots()])
        assert "running" not in said
    check(tmp_path)


class Nobody:
    """Watches nothing: the process of every record is gone."""

    living = ()

    def watch(self, task):
        return False


def test_tasks_whose_items_are_gone_are_no_part_of_the_run_any_more(monkeypatch):
    """A map that has fewer items by now succeeds with those, and so does its run; the record stays, as it was left."""

    def declared(size):
        pipeline = Pipeline("shrinks", on_failure=AggregationPolicy.all_settled)
        pipeline.map(job, range(size), max_parallel=1, name="map")
        return pipeline

    store = MemoryTaskStore()
    first, second = Rig(store, owner="first"), Rig(store, owner="second")
    run = declared(4).submit(first.controller)
    first.settle()
    first.worker(run["map[0]"]).finish(0)
    first.settle()
    monkeypatch.setattr(second.controller._elsewhere, "watchers", Nobody)
    again = declared(1).continue_run(second.controller, run.id)
    second.settle()
    second.worker(again["map"]).finish(1)
    second.settle()
    assert (again.status, again.summary().first_failure) == ("succeeded", ())
    assert [task.node for task in again.snapshots()] == ["map", "map[0]"]
    assert [str(second.controller.get(run[f"map[{n}]"].id).status) for n in (1, 2, 3)] == ["lost", *["cancelled"] * 2]
    check_audit(store)


def test_a_run_that_others_have_taken_over_is_shown_and_no_longer_led(monkeypatch):
    """A controller that was taken for dead lets go of the nodes, and its run shows what becomes of them there."""
    store = MemoryTaskStore()
    first, second = Rig(store, owner="first"), Rig(store, owner="second")
    pipeline = Pipeline("taken")
    pipeline.add(job, deps=pipeline.add(job, name="up"), name="down")
    run = pipeline.submit(first.controller)
    first.settle()
    first.worker(run["up"]).begin()
    first.settle()

    monkeypatch.setattr(second.controller._elsewhere, "watchers", Nobody)
    again = pipeline.continue_run(second.controller, run.id)
    second.settle()
    assert again.status == "failed"
    first.engine.transfers.reaffirm()
    first.settle()
    assert run.status == "failed"
    assert first.worker(run["up"]).stop_reason == "detached"
    assert again.retry_failed() == ["up", "down"]
    for node in ("up", "down"):
        second.settle()
        second.worker(again[node]).begin()
        second.worker(again[node]).finish(1)
        second.settle()
    assert again.status == "succeeded"
    first.controller._elsewhere.follow()
    first.settle()
    assert run.wait(0) == "succeeded"
    assert first.executor.running == [first.worker(run["up"])]
    check_audit(store)
