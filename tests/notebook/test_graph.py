"""The graph of a run, read from its records: `notebook/graph.py`."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chongming_task.core.states import TaskStatus
from chongming_task.notebook.graph import MOST_EDGES, Shape, map_of
from tests.notebook.sample_runs import chain, half_way, id_of, map_tasks, ran, record

S = TaskStatus


def shape_of(*batches: list) -> Shape:
    """What is known after these."""
    shape = Shape()
    for batch in batches:
        shape.take(batch)
    return shape


def edges(shape: Shape) -> set[tuple[str, str]]:
    """By names."""
    told = shape.told()
    names, ends = told["names"], told["edges"]
    return {(names[a], names[b]) for a, b in zip(ends[::2], ends[1::2], strict=True)}


def test_nodes_edges_and_maps_are_read_from_records():
    """A map's tasks are no nodes; names are text, whatever is in them."""
    shape = shape_of(half_way())
    told = shape.told()
    assert len(told["names"]) == 12
    assert [told["names"][node] for node in told["maps"]] == ["load"]
    assert ("clean", "load") in edges(shape)
    assert ("extract <b>prices</b>", "convert currencies") in edges(shape)
    assert len(edges(shape)) == 14
    assert (told["nodes_left"], told["edges_left"]) == (0, 0)


def test_the_tasks_of_a_map_are_counted_as_they_stand():
    """However they come and change; the map's own record is not one of them."""
    tasks = map_tasks("load", {S.SUCCEEDED: 2, S.RUNNING: 1})
    shape = shape_of([record("load")], tasks)
    (node,) = shape.told()["maps"]
    assert shape.counts() == {str(node): {"succeeded": 2, "running": 1}}
    shape.take([tasks[2]._replace(status=S.FAILED), tasks[0]])
    assert shape.counts() == {str(node): {"succeeded": 2, "failed": 1}}
    assert len(shape) == 1


def test_the_order_in_which_records_come_does_not_matter():
    """Nor in how many batches, as long as a map comes no later than its tasks."""
    records = half_way()
    nodes = [each for each in records if map_of(each.node or "") is None]
    rest = [each for each in records if map_of(each.node or "") is not None]
    whole = shape_of(records)
    dice = random.Random(7)
    for _ in range(5):
        dice.shuffle(nodes)
        dice.shuffle(rest)
        mixed = shape_of([*rest[:100], *nodes], rest[100:])
        assert edges(mixed) == edges(whole)
        assert list(mixed.counts().values()) == list(whole.counts().values())


@pytest.mark.parametrize(
    ("name", "head"),
    [("load[3]", "load"), ("a[b][12]", "a[b]"), ("load", None), ("load[x]", None), ("load[3", None), ("[3]", "")],
)
def test_tasks_of_maps_are_known_by_their_names(name, head):
    """As the pipeline gives them."""
    assert map_of(name) == head


def test_a_node_that_only_looks_like_a_task_of_a_map_is_a_node():
    """There is no such map, or it waits for something itself."""
    shape = shape_of([record("x[1]"), record("y"), record("y[0]", after=["x[1]"])])
    assert set(shape.told()["names"]) == {"x[1]", "y", "y[0]"}
    assert shape.counts() == {}


def test_an_upstream_whose_record_was_pruned_is_left_out():
    """Nothing can be said of it."""
    assert edges(shape_of([record("b", after=["a", "gone"]), record("a")])) == {("a", "b")}


def test_the_version_moves_with_the_shape_alone():
    """So that a graph is sent again only when it must be drawn anew."""
    shape = shape_of(chain(10))
    before = shape.version
    shape.take([ran("step 5", 3, 1, ["step 4"])])
    assert shape.version == before
    shape.take([record("step 10", after=["step 9"])])
    shape.take([record("step 5[0]", S.QUEUED)])  # it turns out to be a map
    assert shape.version == before + 2


def test_what_is_too_much_is_left_out_and_counted():
    """Nodes and edges."""
    shape = shape_of(chain(500))
    told = shape.told(100)
    assert len(told["names"]) == 100
    assert (told["nodes_left"], len(told["edges"]), told["edges_left"]) == (400, 198, 0)
    crowd = [record(f"a{n}") for n in range(200)]
    sinks = [record(f"b{n}", after=[f"a{k}" for k in range(200)]) for n in range(200)]
    told = shape_of(crowd, sinks).told()
    assert (len(told["edges"]) // 2, told["edges_left"]) == (MOST_EDGES, 40_000 - MOST_EDGES)


@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(list(S))), max_size=60))
def test_counts_add_up_after_any_changes(changes):
    """Each task of the map is counted once, where it stands now."""
    shape = shape_of([record("m")])
    latest: dict[str, TaskStatus] = {}
    for number, status in changes:
        shape.take([record(f"m[{number}]", status)])
        latest[id_of(f"m[{number}]")] = status
    expected = {status.value: list(latest.values()).count(status) for status in set(latest.values())}
    assert shape.counts() == ({"0": expected} if latest else {})
