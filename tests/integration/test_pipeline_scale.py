"""Large pipelines, each in a new process that cannot recurse far: they end, in little memory, and others are heard.

`tests/benchmarks/bench_pipelines.py` does the same with 100 000 nodes.
"""

from __future__ import annotations

import pytest

from chongming_task import ConfigurationError, Pipeline
from chongming_task.core.graph import heights
from tests.support.shapes import SHAPES, Story, one_more, tell_apart

pytestmark = pytest.mark.timeout(120)
NODES = 5_000


@pytest.fixture(scope="module", params=SHAPES)
def story(request: pytest.FixtureRequest) -> Story:
    """One run of each shape."""
    return tell_apart(request.param, NODES, timeout=90)


def test_it_ends_with_every_node_succeeded(story):
    """At a recursion limit of 300."""
    assert (story.status, story.complete) == ("succeeded", True)


def test_a_node_takes_little_memory(story):
    """An empty process has 25 MiB; less than 12 KiB for each node on top, as 1.2 GB for 100 000."""
    assert story.peak_mib < 40 + NODES * 12 / 1024


def test_others_are_heard_meanwhile(story):
    """Stops of other records are sure within half a second, 95 of 100."""
    assert story.answered >= 5
    assert story.p95_ms < 500


def test_a_cycle_of_thousands_is_found_and_told_in_short():
    """Its path is told by its ends."""
    pipeline = Pipeline("round")
    for number in range(NODES):
        pipeline.add(one_more, 0, name=f"{number}", deps=[f"{(number + 1) % NODES}"])
    with pytest.raises(ConfigurationError, match=r"has a cycle: .* → … → ") as told:
        pipeline.validate()
    assert len(str(told.value)) < 500


def test_the_longest_way_down_is_found_without_recursion():
    """Of a chain, and of one that forks."""
    assert heights([(), *((number,) for number in range(NODES - 1))]) == list(range(NODES, 0, -1))
    assert heights([(), (0,), (0,), (2,)]) == [3, 1, 2, 1]
