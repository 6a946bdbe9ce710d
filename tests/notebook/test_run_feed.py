"""What a view of a run is told beside its rows: `notebook/run_feed.py`."""

from __future__ import annotations

import json
import re

from chongming_task.core.runs import PipelineRunStatus
from chongming_task.core.states import TaskStatus
from chongming_task.notebook.inbound import RunVerb
from chongming_task.notebook.run_feed import SAVED_NODES, RunFeed, Standing
from tests.notebook.sample_runs import chain, half_way, map_tasks, record
from tests.notebook.test_rows import PROTOCOL

S = TaskStatus


def feed_of(tasks: list) -> RunFeed:
    """A feed of these records."""
    feed = RunFeed("etl", 0)
    feed.absorb(tasks)
    return feed


def test_a_reset_tells_the_graph_and_patches_what_changed_of_it():
    """Once each."""
    standing = [Standing("running")]
    feed = RunFeed("etl", 0, lambda: standing[0])
    feed.absorb([record("load"), *map_tasks("load", {S.QUEUED: 3})])
    cursor = feed.open()
    message = cursor.reset(1)
    assert message["graph"]["names"] == ["load"]
    assert message["maps"] == {"0": {"queued": 3}}
    assert message["run"] == {"status": "running", "paused": False}
    assert not cursor.dirty
    feed.absorb([record("load[0]", S.RUNNING)])
    patch = cursor.patch(2)
    assert patch is not None
    assert patch["maps"] == {"0": {"running": 1, "queued": 2}}
    assert "graph" not in patch
    assert "run" not in patch
    feed.absorb([record("report", after=["load"])])
    patch = cursor.patch(3)
    assert patch is not None
    assert patch["graph"]["edges"] == [0, 1]
    assert "maps" not in patch
    standing[0] = Standing("running", paused=True)
    assert cursor.dirty
    patch = cursor.patch(4)
    assert patch is not None
    assert (patch["run"], patch["blocks"]) == ({"status": "running", "paused": True}, [])
    assert cursor.patch(5) is None


def test_nodes_come_before_the_tasks_of_maps():
    """So that the graph is whole with the first page, though a map may have a hundred thousand tasks."""
    feed = feed_of([*half_way(), *map_tasks("load", {S.SUCCEEDED: 9_000})])
    first = feed.open().reset(1)["blocks"]
    names = {name for block in first for name in block["cols"]["node"]}
    assert {"clean", "report", "发送日报", "extract <b>prices</b>"} <= names
    saved = {name for block in feed.saved_table(1)["blocks"] for name in block["cols"]["node"]}
    assert {"clean", "report", "发送日报", "load"} <= saved


def test_a_saved_graph_is_small_and_says_what_it_lacks():
    """A notebook file must not grow with the run."""
    table = feed_of(chain(2_000)).saved_table(1)
    assert len(table["graph"]["names"]) == SAVED_NODES
    assert table["graph"]["nodes_left"] == 2_000 - SAVED_NODES
    assert len(json.dumps(table)) < 60_000
    assert table["counts"] == {"succeeded": 666, "running": 1, "blocked": 1_333}


def test_a_graph_is_told_in_one_message_of_bounded_size():
    """The largest one that is drawn."""
    assert len(json.dumps(feed_of(chain(5_000)).open().reset(1))) < 250_000


def test_typescript_mirrors_what_is_told_of_a_run():
    """The statuses of a run, its verbs, and the fields of the graph and of how the run stands."""
    text = PROTOCOL.read_text()

    def between(start: str, end: str) -> str:
        found = re.search(rf"{re.escape(start)}(.*?){re.escape(end)}", text, re.DOTALL)
        assert found, start
        return found[1]

    assert re.findall(r'"(\w+)"', between("export type RunStatus =", ";")) == [each.value for each in PipelineRunStatus]
    assert re.findall(r'"(\w+)"', between("RUN_VERBS = [", "]")) == [each.value for each in RunVerb]
    assert re.findall(r"^  (\w+):", between("interface RunStanding {", "}"), re.MULTILINE) == list(Standing._fields)
    told = feed_of([record("a")]).shape.told()
    assert re.findall(r"^  (\w+):", between("interface GraphPayload {", "}"), re.MULTILINE) == list(told)
