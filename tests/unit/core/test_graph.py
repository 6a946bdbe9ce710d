"""When a node starts and when it cannot, over every way its upstream can end; cycles and heights."""

from __future__ import annotations

import itertools
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chongming_task.core.graph import (
    Decision,
    JoinMode,
    RunGraph,
    Tally,
    Verdict,
    decide,
    find_cycle,
    heights,
)
from chongming_task.core.states import TERMINAL, TaskStatus

S = TaskStatus
BAD = (S.FAILED, S.LOST, S.STOPPED, S.CANCELLED)
ENDS = (None, *sorted(TERMINAL))  # None: has not ended
UPSTREAMS = [ends for count in range(4) for ends in itertools.combinations_with_replacement(ENDS, count)]


def wanted(join: JoinMode, ends: tuple[TaskStatus | None, ...]) -> Verdict | None:
    """The table of the design, in its own words."""
    if not ends:
        return Verdict.RUN
    settled = None not in ends
    succeeded, skipped = S.SUCCEEDED in ends, S.SKIPPED in ends
    bad = any(end in BAD for end in ends)
    only_skipped = set(ends) == {S.SKIPPED}
    match join:
        case JoinMode.ALL_DONE:
            return Verdict.RUN if settled else None
        case JoinMode.ANY_SUCCEEDED:
            if succeeded:
                return Verdict.RUN
            return None if not settled else Verdict.SKIP if only_skipped else Verdict.CANCEL
        case JoinMode.NONE_FAILED:
            if bad:
                return Verdict.CANCEL
            return None if not settled else Verdict.SKIP if only_skipped else Verdict.RUN
        case JoinMode.ALL_SUCCEEDED:
            if bad:
                return Verdict.CANCEL
            return None if not settled else Verdict.SKIP if skipped else Verdict.RUN


def tally_of(ends: tuple[TaskStatus | None, ...]) -> Tally:
    return Tally(len(ends), ends.count(S.SUCCEEDED), ends.count(S.SKIPPED), sum(end in BAD for end in ends))


@pytest.mark.parametrize("join", JoinMode)
def test_the_join_table(join):
    """Every join mode over every multiset of up to three upstream outcomes, those that have not ended included."""
    for ends in UPSTREAMS:
        assert decide(join, tally_of(ends)) == wanted(join, ends), ends


@pytest.mark.parametrize("join", JoinMode)
def test_a_join_is_decided_once_and_as_early_as_it_can_be(join):
    """Whatever the order in which upstream nodes end, the first decision stands, and names the first bad one."""
    for ends in itertools.product(sorted(TERMINAL), repeat=3):
        graph = RunGraph([(), (), (), (0, 1, 2)], [JoinMode.ALL_SUCCEEDED] * 3 + [join])
        assert [each.node for each in graph.begin()] == [0, 1, 2]
        found: list[Decision] = []
        for node, end in enumerate(ends):
            early = wanted(join, (*ends[: node + 1], *[None] * (2 - node)))
            made = graph.settle(node, end)
            assert [each.verdict for each in made] == ([] if early is None or found else [early]), (ends, node)
            found += made
        (decision,) = found
        first_bad = next((node for node, end in enumerate(ends) if end in BAD), None)
        if decision.verdict is Verdict.CANCEL:
            assert decision.cause == first_bad


def test_a_verdict_that_is_early_is_the_one_at_the_end():
    """What is decided while some have not ended is what would have been decided in the end."""
    for join in JoinMode:
        for ends in UPSTREAMS:
            early = wanted(join, ends)
            if early is None or None not in ends:
                continue
            for rest in itertools.product(sorted(TERMINAL), repeat=ends.count(None)):
                full = tuple(end for end in ends if end is not None) + rest
                assert wanted(join, full) == early, (join, ends, rest)


def test_an_end_counts_once():
    """A node that is told to have ended twice counts once, and as it ended first."""
    graph = RunGraph([(), (), (0, 1)], [JoinMode.ALL_SUCCEEDED] * 3)
    graph.begin()
    assert graph.settle(0, S.SUCCEEDED) == graph.settle(0, S.FAILED) == []
    assert graph.tally(2) == Tally(2, succeeded=1)
    assert graph.settle(1, S.SUCCEEDED) == [Decision(2, Verdict.RUN)]


def test_the_join_of_a_diamond_is_decided_once():
    """After both of its arms, and not again."""
    graph = RunGraph([(), (0,), (0,), (1, 2)], [JoinMode.ALL_SUCCEEDED] * 4)
    graph.begin()
    assert [each.node for each in graph.settle(0, S.SUCCEEDED)] == [1, 2]
    assert graph.settle(1, S.SUCCEEDED) == []
    assert graph.settle(2, S.SUCCEEDED) == [Decision(3, Verdict.RUN)]


@st.composite
def graphs(draw):
    """A DAG, its joins, and how some of its nodes have ended, in any order."""
    count = draw(st.integers(1, 12))
    upstream = [tuple(draw(st.sets(st.integers(0, node - 1), max_size=3))) if node else () for node in range(count)]
    joins = [draw(st.sampled_from(JoinMode)) for _ in range(count)]
    ended = draw(st.permutations(draw(st.sets(st.integers(0, count - 1)).map(sorted))))
    return upstream, joins, {node: draw(st.sampled_from(sorted(TERMINAL))) for node in ended}


@settings(max_examples=150, deadline=None)
@given(graphs(), graphs())
def test_beginning_again_is_as_good_as_a_new_graph(drawn, other):
    """A rebuilt graph forgets what it was told before, and says of every open node what a new one would."""
    upstream, joins, ends = drawn
    used = RunGraph(upstream, joins)
    used.begin()
    for node, end in other[2].items():
        if node < len(used):
            used.settle(node, end)
    rebuilt = {each.node: each for each in used.rebuild(ends)}
    fresh = RunGraph(upstream, joins)
    told = {each.node: each for each in fresh.begin()}
    for node, end in ends.items():
        told.update({each.node: each for each in fresh.settle(node, end)})
    expected = {node: each for node, each in told.items() if node not in ends}
    assert {node: each.verdict for node, each in rebuilt.items()} == {n: e.verdict for n, e in expected.items()}
    for node, each in rebuilt.items():
        if each.verdict is Verdict.CANCEL:
            assert each.cause == expected[node].cause
    assert [used.tally(node) for node in range(len(used))] == [fresh.tally(node) for node in range(len(fresh))]


@settings(max_examples=100, deadline=None)
@given(graphs(), st.randoms())
def test_the_order_of_ends_does_not_matter(drawn, dice):
    """Which nodes are decided how does not depend on the order in which upstream nodes have ended."""
    upstream, joins, ends = drawn
    found = []
    for _ in range(2):
        graph = RunGraph(upstream, joins)
        made = graph.begin()
        for node in dice.sample(sorted(ends), len(ends)):
            made += graph.settle(node, ends[node])
        assert len({each.node for each in made}) == len(made)
        found.append({each.node: each.verdict for each in made if each.node not in ends})
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("upstream", "cycle"),
    [
        ([], None),
        ([()], None),
        ([(), (0,), (0, 1)], None),
        ([(0,)], [0, 0]),
        ([(), (1, 0)], [1, 1]),
        ([(1,), (0,)], [0, 1, 0]),
        ([(2,), (0,), (1,)], [0, 1, 2, 0]),
        ([(), (0, 3), (1,), (2,)], [1, 2, 3, 1]),
    ],
)
def test_a_cycle_is_found_with_its_path(upstream, cycle):
    """The path reads in the order of the work: each node waits for the one before it."""
    assert find_cycle(upstream) == cycle
    if cycle is not None:
        assert all(before in upstream[after] for before, after in itertools.pairwise(cycle))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 8).flatmap(lambda n: st.lists(st.sets(st.integers(0, n - 1), max_size=2), min_size=n, max_size=n))
)
def test_a_cycle_is_found_where_there_is_one(drawn):
    """And only there; its path is one along edges."""
    upstream = [tuple(each) for each in drawn]
    left = dict(enumerate(upstream))  # what remains when nodes that wait for nobody are taken away again and again
    while free := [node for node, above in left.items() if not set(above) & left.keys()]:
        for node in free:
            del left[node]
    cycle = find_cycle(upstream)
    assert (cycle is not None) is bool(left)
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(before in upstream[after] for before, after in itertools.pairwise(cycle))


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_heights(drawn):
    """Of each node the longest way down."""
    upstream = drawn[0]
    below = [[each for each, above in enumerate(upstream) if node in above] for node in range(len(upstream))]
    found = heights(upstream)
    for node in range(len(upstream)):
        assert found[node] == 1 + max((found[each] for each in below[node]), default=0)


def test_a_chain_of_a_hundred_thousand_needs_no_recursion():
    """Under a recursion limit of 300: heights, the search for cycles, a whole run, and a cycle of that length."""
    count = 100_000
    chain = [() if node == 0 else (node - 1,) for node in range(count)]
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(300)
    try:
        assert find_cycle(chain) is None
        assert heights(chain)[0] == count
        assert find_cycle([(count - 1,), *chain[1:]]) == [*range(count), 0]
        graph = RunGraph(chain, [JoinMode.ALL_SUCCEEDED] * count)
        open_ = graph.begin()
        done = 0
        while open_:
            done += 1
            open_ = graph.settle(open_.pop().node, S.SUCCEEDED)
        assert done == count
        assert graph.sinks == [count - 1]
        assert graph.rebuild(dict.fromkeys(range(count - 1), S.SUCCEEDED)) == [Decision(count - 1, Verdict.RUN)]
    finally:
        sys.setrecursionlimit(before)
