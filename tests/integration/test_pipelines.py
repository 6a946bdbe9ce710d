"""Pipelines as their users run them: real threads, real processes, real files."""

from __future__ import annotations

import asyncio
import gc
import itertools
import signal
import threading
import time
import weakref

import pandas as pd
import pytest

from chongming_task import (
    AggregationPolicy,
    ConfigurationError,
    Controller,
    ControllerClosed,
    JoinMode,
    Pipeline,
    RetryPolicy,
    UnknownTask,
    task,
)
from chongming_task.core.events import PipelineRunStatusChanged
from chongming_task.core.failures import FailureKind
from chongming_task.core.graph import find_cycle
from chongming_task.core.states import TaskStatus
from chongming_task.testing import check_audit
from tests.support.rig import Rig, job

S = TaskStatus
PATIENCE = 20.0


@pytest.fixture
def controller(tmp_path):
    with Controller(max_parallel=4, artifacts=tmp_path / "artifacts", echo=False) as made:
        yield made
        check_audit(made._link.store)


def run_of(pipeline, controller, **options):
    """A run that has ended."""
    run = pipeline.submit(controller, **options)
    run.wait(PATIENCE)
    return run


def boom(*args):
    raise ValueError("planted")


# what nodes are handed


def test_nodes_stand_for_their_results_wherever_they_are_given(controller):
    """On top, in a list, a tuple and a dict, by keyword; and the order of the work follows."""
    pipeline = Pipeline("places")
    one, two = pipeline.add(lambda: 1, name="one"), pipeline.add(lambda: 2, name="two")
    seen = pipeline.add(lambda *a, **k: [repr(a), repr(k)], one, [two, {"x": (one, 3)}], key=two, name="seen")
    run = run_of(pipeline, controller)
    assert run.result(seen) == ["(1, [2, {'x': (1, 3)}])", "{'key': 2}"]
    assert run[seen].snapshot.depends_on == (run[one].id, run[two].id)


def test_the_context_knows_upstream_results_and_the_runs_input(controller):
    """ctx.upstream by name, for dependencies that are no arguments too; ctx.input as the run was given."""

    def look(ctx):
        with pytest.raises(KeyError, match="'far'"):
            ctx.upstream("far")
        return [ctx.upstream("near"), ctx.input["day"]]

    pipeline = Pipeline("context")
    far = pipeline.add(lambda: 0, name="far")
    near = pipeline.add(lambda: [1], name="near", deps=far)
    run = run_of(pipeline, controller, input={"day": "monday"}) if pipeline.add(look, deps=near, name="look") else None
    assert run.result("look") == [[1], "monday"]


def test_what_a_task_does_to_its_input_stays_with_it(controller):
    """A value that two nodes are handed is each one's own."""

    def spoil(value):
        value["list"].append(4)
        return value

    pipeline = Pipeline("copies")
    source = pipeline.add(lambda: {"list": [1, 2, 3]}, name="source")
    pipeline.add(spoil, source, name="a")
    pipeline.add(spoil, source, name="b")
    run = run_of(pipeline, controller)
    assert run.result("a") == run.result("b") == {"list": [1, 2, 3, 4]}
    assert run.result("source") == {"list": [1, 2, 3]}


def test_results_that_are_no_json_go_along_edges(controller):
    """A DataFrame by way of a file, an object of this process as it is."""
    marker = object()

    @task(result="memory")
    def keep():
        return marker

    pipeline = Pipeline("doors")
    frame = pipeline.add(lambda: pd.DataFrame({"n": [1, 2, 3]}), name="frame")
    total = pipeline.add(lambda given: int(given["n"].sum()), frame, name="total")
    same = pipeline.add(lambda given: given is marker, pipeline.add(keep), name="same")
    parts = pipeline.map(lambda n: pd.DataFrame({"n": [n]}), [1, 2], name="parts")
    both = pipeline.add(lambda given: int(pd.concat(given)["n"].sum()), parts, name="both")
    run = run_of(pipeline, controller)
    assert (run.result(total), run.result(same), run.result(both)) == (6, True, 3)


def test_nodes_in_processes(tmp_path):
    """The same edges, with results that cross to processes and back; also one that fails before it has a process."""
    pipeline = Pipeline("processes", on_failure=AggregationPolicy.all_settled)
    numbers = pipeline.add(sorted, [3, 1, 2], name="numbers")
    scaled = pipeline.map(pow, numbers, args=(2,), name="scaled")
    pipeline.add(sum, scaled, name="total")
    pipeline.map(abs, boom, name="broken")
    with Controller(executor="process", artifacts=tmp_path, echo=False) as controller:
        run = pipeline.submit(controller)
        assert run.wait(60) == "failed"
        assert run.result("total") == 14
        assert run["broken"].failure.exception_type == "builtins.ValueError"


def test_an_inline_controller_runs_pipelines(tmp_path):
    """Its nodes get threads of their own."""
    pipeline = Pipeline("inline")
    pipeline.add(sum, pipeline.map(abs, [-1, 2], name="all"), name="total")
    with Controller(executor="inline", artifacts=tmp_path) as controller:
        assert run_of(pipeline, controller).result("total") == 3


# conditions


def test_conditions(controller):
    """True runs, false skips and says so, one that raises fails its node with that; none runs on the engine."""
    threads = []

    def asks(answer):
        def ask(upstream):
            threads.append(threading.current_thread().name)
            return upstream["source"] == answer

        return ask

    pipeline = Pipeline("conditions", on_failure=AggregationPolicy.all_settled)
    source = pipeline.add(lambda: 1, name="source")
    pipeline.add(lambda: "ran", deps=source, when=asks(1), name="yes")
    no = pipeline.add(lambda: "ran", deps=source, when=asks(2), name="no")
    pipeline.add(lambda: "ran", deps=no, name="after no")
    pipeline.add(lambda: "ran", deps=source, when=boom, name="raises", retry=RetryPolicy(5))
    run = run_of(pipeline, controller)
    assert [str(status) for status in run.statuses().values()] == [
        "succeeded", "succeeded", "skipped", "skipped", "failed",
    ]  # fmt: skip
    assert run["no"].failure.kind is FailureKind.CONDITION_FALSE
    assert run["raises"].failure.message == "planted"
    assert "in boom" in run["raises"].failure.traceback
    assert len(run["raises"].attempts) == 1
    with pytest.raises(ValueError, match="planted"):
        run.result("raises")
    assert set(threads) == {"chongming-aside"}


def test_a_condition_that_failed_is_asked_again(controller):
    """By retry_failed, and by a retry of its node alone."""
    answers = iter([ValueError("first"), ValueError("second"), True])

    def ask(upstream):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    pipeline = Pipeline("again")
    pipeline.add(lambda: 1, when=ask, name="node")
    run = run_of(pipeline, controller)
    assert run["node"].failure.message == "first"
    assert run.retry_failed() == ["node"]
    assert run.wait(PATIENCE) == "failed"
    run["node"].retry()
    assert run.wait(PATIENCE) == "succeeded"


# maps


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("source", ["list", "generator", "node", "function", "function that generates"])
def test_maps(controller, source, size):
    """From a list, a node's result, or what a function makes; empty ones succeed with an empty list."""
    pipeline = Pipeline("maps")
    numbers = pipeline.add(lambda: list(range(size)), name="numbers")
    items = {
        "list": list(range(size)),
        "generator": (each for each in range(size)),
        "node": numbers,
        "function": lambda up: list(up[numbers]),
        "function that generates": lambda up: (each for each in up["numbers"]),
    }[source]
    squares = pipeline.map(lambda n, more: n * n + more, items, args=(1,), deps=numbers, name="squares")
    total = pipeline.add(sum, squares, name="total")
    run = run_of(pipeline, controller)
    assert run.result(squares) == [n * n + 1 for n in range(size)]
    assert run.result(total) == sum(n * n + 1 for n in range(size))
    assert [each.name for each in run.tasks("squares")] == [f"squares[{n}]" for n in range(size)]
    if size:
        assert run["squares[0]"].result() == 1
    with pytest.raises(ConfigurationError, match=r"no node 'squares\[7\]'"):
        run["squares[7]"]


@pytest.mark.parametrize(
    ("items", "said"),
    [(boom, "planted"), (lambda up: 5, "needs a list of items, got 5"), (lambda up: "ab", "needs a list of items")],
)
def test_items_that_cannot_be_had(controller, items, said):
    """Fail the map with that."""
    pipeline = Pipeline("broken")
    pipeline.add(sum, pipeline.map(abs, items, name="map"), name="after")
    run = run_of(pipeline, controller)
    assert run.status == "failed"
    assert said in run["map"].failure.message
    assert run["after"].failure.message.startswith("upstream 'map' failed: ")


@pytest.mark.parametrize("most", [1, 2])
def test_a_map_runs_so_many_at_once(controller, most):
    """Its own limit, beside others that it does not hold up."""
    lock, now, peak, together = threading.Lock(), [0], [0], threading.Barrier(most)

    def count(n):
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        together.wait(PATIENCE)  # none goes on before so many are there
        time.sleep(0.002)  # the work, in which more would be seen
        with lock:
            now[0] -= 1

    pipeline = Pipeline("limited")
    pipeline.map(count, range(20), max_parallel=most, name="map")
    assert run_of(pipeline, controller).status == "succeeded"
    assert peak[0] == most


def test_items_without_end_are_given_up_with_the_run(controller):
    """The thread that asked for them goes, and so does what it had made."""
    begun, gone = threading.Event(), threading.Event()

    def endless(upstream):
        try:
            for number in itertools.count():
                begun.set()
                yield number
        finally:
            gone.set()

    pipeline = Pipeline("endless")
    pipeline.map(abs, endless, name="map")
    run = pipeline.submit(controller)
    assert begun.wait(PATIENCE)
    assert run.stop() is True
    assert gone.wait(PATIENCE)
    assert run.tasks("map") == []


def test_conditions_that_never_return_hold_nobody_up_once_their_run_is_stopped(controller):
    """Neither what was waiting behind them, nor what comes later."""
    never, asked = threading.Event(), threading.Semaphore(0)

    def think(upstream):
        asked.release()
        return never.wait()

    stuck = Pipeline("stuck")
    for number in range(10):
        stuck.add(abs, 1, when=think, name=f"n{number}")
    quick = Pipeline("quick")
    quick.add(abs, -1, when=lambda up: True, name="node")
    try:
        runs = [stuck.submit(controller), quick.submit(controller)]
        assert all(asked.acquire(timeout=PATIENCE) for _ in range(8))
        assert runs[0].stop() is True
        assert runs[1].wait(PATIENCE) == "succeeded"
        assert run_of(quick, controller).status == "succeeded"
    finally:
        never.set()


def test_a_task_of_a_map_that_fails(controller):
    """Cancels the map and names itself; the summary tells the chain; retry_failed runs that one again and no other."""
    ran, broken = [], {2}

    def scale(n):
        ran.append(n)
        if n in broken:
            raise ValueError("planted")
        return n * 10

    pipeline = Pipeline("chain", on_failure=AggregationPolicy.all_settled)
    scaled = pipeline.map(scale, range(4), name="scale")
    total = pipeline.add(sum, scaled, name="total")
    pipeline.add(str, total, name="report")
    run = run_of(pipeline, controller)
    assert run.status == "failed"
    assert run["scale"].failure.message == "upstream 'scale[2]' failed: planted"
    summary = run.summary()
    assert summary.first_failure == ("scale[2]", "scale", "total", "report")
    assert str(summary) == (
        "failed: 3 cancelled, 3 succeeded, 1 failed; first failure: scale[2] → scale → total → report: planted"
    )
    broken.clear()
    assert sorted(run.retry_failed()) == ["report", "scale", "scale[2]", "total"]
    assert run.wait(PATIENCE) == "succeeded"
    assert run.result("report") == "60"
    assert sorted(ran) == [0, 1, 2, 2, 3]
    assert [str(each.status) for each in run["scale[2]"].attempts] == ["failed", "succeeded"]
    assert run.summary().first_failure == ()


def test_fail_fast_tells_the_chain_through_a_map(controller):
    """The map is cancelled for its task, also while others of its tasks are still being stopped."""
    pipeline = Pipeline("fast")
    started = threading.Event()

    def work(ctx, n):
        if n == 0:
            started.wait(PATIENCE)
            raise ValueError("planted")
        started.set()
        ctx.sleep(PATIENCE)

    pipeline.add(sum, pipeline.map(work, range(2), name="map"), name="total")
    run = run_of(pipeline, controller)
    assert run.status == "failed"
    assert run.summary().first_failure == ("map[0]", "map", "total")
    assert run["map[1]"].status is S.CANCELLED


def test_a_map_that_is_stopped_takes_its_tasks_along(controller):
    """Nothing of it runs on behind its back."""
    pipeline = Pipeline("stopped", on_failure=AggregationPolicy.all_settled)
    begun = threading.Semaphore(0)

    def work(ctx, n):
        begun.release()
        ctx.sleep(PATIENCE)

    pipeline.map(work, range(8), max_parallel=2, name="map")
    run = pipeline.submit(controller)
    assert begun.acquire(timeout=PATIENCE)
    assert run["map"].stop()
    assert run.wait(PATIENCE) == "stopped"
    assert {each.status for each in run.tasks("map")} == {S.STOPPED}


# waiting


def gated(pipeline):
    """A node that waits for an event, and one after it."""
    gate, begun = threading.Event(), threading.Event()

    def wait(ctx):
        begun.set()
        while not gate.is_set():
            ctx.sleep(0.005)
        return "through"

    node = pipeline.add(wait, name="wait")
    pipeline.add(str, node, name="after")
    return gate, begun


def test_waiting_changes_nothing(controller):
    """Neither does a wait that runs out, nor a Ctrl-C in it."""
    pipeline = Pipeline("waits")
    gate, begun = gated(pipeline)
    run = pipeline.submit(controller)
    assert begun.wait(PATIENCE)
    with pytest.raises(TimeoutError, match=r"has not ended within 0\.01 s; it goes on"):
        run.wait(0.01)
    timer = threading.Timer(0.1, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run.wait()
    timer.join()
    assert run.status == "running"
    assert not run._run.waiters
    gate.set()
    assert run.wait(PATIENCE) == "succeeded"
    assert run.wait(0) == "succeeded"


def test_awaiting_a_run(controller):
    """Gives the status; a wait that is cancelled leaves the run alone, a loop that is closed hurts nobody."""
    pipeline = Pipeline("awaits")
    gate, _ = gated(pipeline)
    run = pipeline.submit(controller)

    async def give_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run, 0.01)
        return run.status

    assert asyncio.run(give_up()) in ("pending", "running")
    assert not run._run.waiters

    async def wait():
        gate.set()
        return await run

    assert asyncio.run(wait()) == "succeeded"
    assert asyncio.run(wait()) == "succeeded"


# verbs


def test_pause_and_resume(controller):
    """Nothing starts while a run is paused, not even what a condition or a map lets through meanwhile."""
    pipeline = Pipeline("pauses")
    gate, begun = gated(pipeline)
    asked, answer = threading.Event(), threading.Event()

    def ask(upstream):
        asked.set()
        return answer.wait(PATIENCE)

    pipeline.add(lambda: 1, when=ask, name="asks")
    run = pipeline.submit(controller)
    assert begun.wait(PATIENCE)
    assert asked.wait(PATIENCE)
    assert run.pause() is True
    assert run.status == "paused"
    answer.set()
    gate.set()
    controller._link.sync()
    assert [str(each) for each in run.statuses().values()] == ["paused", "blocked", "blocked"]
    assert run.resume() is True
    assert run.wait(PATIENCE) == "succeeded"
    assert run.pause() is False
    assert run.status == "succeeded"


def test_an_attempt_that_fails_in_a_paused_run_is_not_followed_by_another():
    """Before the pause is over; nor does retry_failed start anything before."""
    rig = Rig()
    pipeline = Pipeline("by hand", on_failure=AggregationPolicy.all_settled)
    pipeline.add(job, name="twice", retry=RetryPolicy(2, backoff="none"))
    pipeline.add(job, name="once")
    run = pipeline.submit(rig.controller)
    rig.settle()
    for name in ("twice", "once"):
        rig.worker(run[name]).begin()
    rig.settle()
    assert run.pause(wait=False) is False
    for name in ("twice", "once"):
        rig.worker(run[name]).fail(ValueError("planted"))
    rig.advance(60)
    assert (run.status, run["twice"].status, run["once"].status) == ("paused", "paused", "failed")
    assert run.retry_failed() == ["once"]
    assert (run.status, run["once"].status) == ("paused", "paused")
    assert not rig.executor.running
    run.resume()
    rig.settle()
    for name in ("twice", "once"):
        rig.worker(run[name]).finish(1)
    rig.settle()
    assert run.status == "succeeded"
    rig.check()


def test_a_node_that_is_retried_alone_waits_for_those_before_it():
    """One that has never run says again why it cannot; one that is reset waits for its start, and then for them."""
    rig = Rig()
    pipeline = Pipeline("alone", on_failure=AggregationPolicy.all_settled)
    pipeline.add(job, deps=pipeline.add(job, name="up"), name="down")
    run = pipeline.submit(rig.controller)
    rig.settle()
    rig.worker(run["up"]).fail(ValueError("planted"))
    rig.settle()
    run["down"].retry()
    rig.settle()
    assert (run["down"].status, run["down"].failure.kind) == ("cancelled", FailureKind.DEPENDENCY_FAILED)
    run["up"].retry(force=True)
    run["down"].reset(confirm=True)
    rig.settle()
    assert run["down"].status == "pending"
    run["down"].start()
    rig.settle()
    assert run["down"].status == "blocked"
    rig.worker(run["up"]).finish(7)
    rig.settle()
    assert rig.worker(run["down"]).request.upstream["up"] == 7
    rig.worker(run["down"]).finish(1)
    rig.settle()
    assert run.status == "succeeded"
    rig.check()


def blocked_chain(**options):
    """A rig, and a run in which ``bad`` has failed: it has blocked ``next`` and ``last``; ``worse`` blocks ``both``."""
    rig = Rig()
    pipeline = Pipeline("alone", on_failure=AggregationPolicy.all_settled)
    bad = pipeline.add(job, name="bad", **options)
    worse = pipeline.add(job, name="worse")
    pipeline.add(job, deps=pipeline.add(job, deps=bad, name="next"), name="last")
    pipeline.add(job, deps=[bad, worse], name="both")
    run = pipeline.submit(rig.controller)
    rig.settle()
    for name in ("bad", "worse"):
        rig.worker(run[name]).fail(ValueError("planted"))
    rig.settle()
    assert [str(status) for status in run.statuses().values()] == ["failed", "failed", *["cancelled"] * 3]
    return rig, run


def test_what_a_node_has_blocked_waits_again_when_that_is_retried():
    """Down to the last one; what something else blocks as well is told that, and what else has failed stays."""
    rig, run = blocked_chain()
    run["bad"].retry(force=True)
    rig.settle()
    assert [str(run[name].status) for name in ("worse", "next", "last", "both")] == [
        "failed",
        "blocked",
        "blocked",
        "cancelled",
    ]
    assert run["both"].failure.message == "upstream 'worse' failed: planted"
    trail = rig.controller.transitions(run["last"].id)[-2:]
    assert [(each.to_status, each.actor, each.reason) for each in trail] == [
        ("pending", "pipeline", "'next' is taken up again"),
        ("blocked", "pipeline", "'next' is taken up again"),
    ]
    for name in ("bad", "next", "last"):
        rig.worker(run[name]).finish(1)
        rig.settle()
    assert run["last"].status == "succeeded"
    assert run.status == "failed"
    rig.check()


def test_several_nodes_that_are_retried_at_once_let_wait_what_they_have_blocked_together():
    """And one that fails again blocks it again."""
    rig, run = blocked_chain()
    run["worse"].retry(force=True)
    run["bad"].reset(confirm=True)
    rig.settle()
    assert [str(run[name].status) for name in ("next", "last", "both")] == ["blocked"] * 3
    run["bad"].start()
    rig.settle()
    rig.worker(run["worse"]).finish(1)
    rig.worker(run["bad"]).fail(ValueError("again"))
    rig.settle()
    assert {run[name].failure.message.rpartition(": ")[2] for name in ("next", "last", "both")} == {"again"}
    assert run.status == "failed"
    rig.check()


def test_a_task_of_a_map_that_is_retried_alone_takes_the_map_up(controller):
    """With all that the map has blocked; a map that is retried runs every task again that has no result."""
    ran, broken = [], {1, 2}

    def scale(n):
        ran.append(n)
        if n in broken:
            raise ValueError("planted")
        return n * 10

    pipeline = Pipeline("map", on_failure=AggregationPolicy.all_settled)
    pipeline.add(sum, pipeline.map(scale, range(4), name="scale"), name="total")
    run = run_of(pipeline, controller)
    broken.remove(1)
    run["scale[1]"].retry(force=True)
    assert run.wait(PATIENCE) == "failed"
    assert run["total"].failure.message.endswith("upstream 'scale[2]' failed: planted")
    assert sorted(ran) == [0, 1, 1, 2, 3]
    broken.clear()
    run["scale"].retry()
    assert run.wait(PATIENCE) == "succeeded"
    assert run.result("total") == 60
    assert sorted(ran) == [0, 1, 1, 2, 2, 3]


def test_a_map_that_was_stopped_is_retried_with_its_tasks():
    """What had succeeded stays."""
    rig = Rig()
    pipeline = Pipeline("stopped", on_failure=AggregationPolicy.all_settled)
    pipeline.add(job, deps=pipeline.map(job, range(3), name="map"), name="after")
    run = pipeline.submit(rig.controller)
    rig.settle()
    rig.worker(run["map[0]"]).finish(0)
    rig.settle()
    run["map"].stop(wait=False)
    rig.settle()
    for name in ("map[1]", "map[2]"):
        rig.worker(run[name]).checkpoint()
    rig.settle()
    assert run.status == "stopped"
    run["map"].retry()
    rig.settle()
    assert [str(each.status) for each in run.tasks("map")] == ["succeeded", "starting", "starting"]
    for name in ("map[1]", "map[2]", "map", "after"):
        rig.worker(run[name]).finish(1)
        rig.settle()
    assert run.status == "succeeded"
    rig.check()


def test_stop_and_cancel(controller):
    """End everything that has not ended, and say so when it is confirmed."""
    for verb, wanted in (("stop", "stopped"), ("cancel", "cancelled")):
        pipeline = Pipeline(verb)
        _, begun = gated(pipeline)
        run = pipeline.submit(controller)
        assert begun.wait(PATIENCE)
        assert getattr(run, verb)() is True
        assert run.status == wanted
        assert {str(status) for status in run.statuses().values()} == {wanted}
        assert getattr(run, verb)() is True
        assert run.status == wanted


def test_a_run_that_is_stopped_by_one_of_its_tasks(controller):
    """Which does not wait for itself."""
    pipeline, made = Pipeline("suicide"), []
    ready = threading.Event()

    def end(ctx):
        ready.wait(PATIENCE)
        assert made[0].pause() is False
        made[0].resume()
        assert made[0].stop() is False
        ctx.checkpoint()

    pipeline.add(end, name="end")
    pipeline.add(lambda: 1, deps="end", name="after")
    made.append(pipeline.submit(controller))
    ready.set()
    assert made[0].wait(PATIENCE) == "stopped"


def test_skip(controller):
    """A node that waits is passed over; what asks for no failure only goes on."""
    pipeline = Pipeline("skips")
    gate, _ = gated(pipeline)
    waits = pipeline.add(lambda: 1, deps="wait", name="waits")
    pipeline.add(lambda: 2, deps=waits, name="strict")
    pipeline.add(lambda: 3, deps=[waits, "wait"], join=JoinMode.NONE_FAILED, name="lenient")
    run = pipeline.submit(controller)
    assert run.skip("waits") is True
    gate.set()
    assert run.wait(PATIENCE) == "succeeded"
    assert (run["waits"].status, run["strict"].status, run["lenient"].status) == ("skipped", "skipped", "succeeded")


def test_a_failed_node_that_is_skipped_lets_the_rest_go_on(controller):
    """After retry_failed: what it has blocked runs, what asks for its success does not."""
    pipeline = Pipeline("over it")
    bad, good = pipeline.add(boom, name="bad"), pipeline.add(lambda: 1, name="good")
    pipeline.add(lambda: 2, deps=[bad, good], join="none_failed", name="lenient")
    run = run_of(pipeline, controller)
    assert run.status == "failed"
    assert run.summary().first_failure[0] == "bad"
    run.skip("bad")
    run.retry_failed()
    assert run.wait(PATIENCE) == "succeeded"
    assert run.summary().first_failure == ()


def test_retry_failed_runs_what_failed_and_what_that_blocked(controller):
    """And nothing else; the history of attempts is kept."""
    ran, broken = [], [True]

    def step(name):
        ran.append(name)
        if name == "b" and broken[0]:
            raise ValueError("planted")
        return name

    pipeline = Pipeline("retry")
    a = pipeline.add(step, "a", name="A")
    b = pipeline.add(step, "b", deps=a, name="B")
    pipeline.add(step, "c", deps=b, name="C")
    run = run_of(pipeline, controller)
    assert (run.status, run.summary().first_failure) == ("failed", ("B", "C"))
    assert run["C"].failure.message == "upstream 'B' failed: planted"
    broken[0] = False
    assert run.retry_failed() == ["B", "C"]
    assert run.wait(PATIENCE) == "succeeded"
    assert ran == ["a", "b", "b", "c"]
    assert [str(each.status) for each in run["B"].attempts] == ["failed", "succeeded"]
    assert run.retry_failed() == []


def test_retry_failed_while_others_are_still_being_stopped(controller):
    """What fail_fast is just ending runs again, too, once it has ended."""
    pipeline, broken = Pipeline("soon"), [True]
    begun, stopping, end = threading.Event(), threading.Event(), threading.Event()

    def slow(ctx):
        if not broken[0]:
            return 1
        try:
            begun.set()
            ctx.sleep(PATIENCE)
        finally:
            stopping.set()
            end.wait(PATIENCE)
        return 0

    def fails():
        begun.wait(PATIENCE)
        if broken[0]:
            raise ValueError("planted")

    pipeline.add(str, pipeline.add(slow, name="slow"), name="after")
    pipeline.add(fails, name="fails")
    run = pipeline.submit(controller)
    assert stopping.wait(PATIENCE)
    broken[0] = False
    assert sorted(run.retry_failed()) == ["after", "fails", "slow"]
    end.set()
    assert run.wait(PATIENCE) == "succeeded"
    assert run.result("after") == "1"


def test_one_of_two_failed_nodes_is_retried(controller):
    """fail_fast does not answer the failure that was there before."""
    broken = {"a", "b"}
    both = threading.Barrier(2)

    def step(ctx, name):
        if len(broken) == 2:
            both.wait(PATIENCE)
        if name in broken:
            raise ValueError("planted")

    pipeline = Pipeline("two", on_failure=AggregationPolicy.all_settled)
    for name in "ab":
        pipeline.add(step, name, name=name)
    run = run_of(pipeline, controller)
    broken.remove("a")
    run["a"].retry(force=True)
    assert run.wait(PATIENCE) == "failed"
    assert (run["a"].status, run.summary().first_failure) == ("succeeded", ("b",))


# policies


def test_a_quorum(controller):
    """Enough of the last nodes, and the run has succeeded; a quorum of more nodes than there are is refused."""
    for needed, wanted in ((1, "succeeded"), (2, "succeeded"), (3, "failed")):
        pipeline = Pipeline("quorum", on_failure=AggregationPolicy.quorum(needed))
        for number in range(3):
            pipeline.add(boom if number == 0 else abs, number, name=f"n{number}")
        assert run_of(pipeline, controller).status == wanted
    pipeline = Pipeline("quorum", on_failure=AggregationPolicy.quorum(4))
    pipeline.add(abs, 1)
    with pytest.raises(ConfigurationError, match="needs 4 of its last nodes to succeed, and has 1"):
        pipeline.submit(controller)


def test_all_settled_and_fail_fast(controller):
    """Independent branches go on, or do not."""
    for policy, status in ((AggregationPolicy.all_settled, "succeeded"), (AggregationPolicy.fail_fast, "cancelled")):
        failed = threading.Event()
        pipeline = Pipeline("policies", on_failure=policy)
        pipeline.add(boom, name="bad")
        other = pipeline.add(lambda ctx, failed=failed: failed.wait(PATIENCE) and ctx.checkpoint(), name="other")
        pipeline.add(lambda: 1, deps=other, name="independent")
        run = pipeline.submit(controller)
        run["bad"].wait(PATIENCE)
        controller._link.sync()
        failed.set()
        assert run.wait(PATIENCE) == "failed"
        assert run["independent"].status == status


# what it tells


def test_events_of_a_run(controller):
    """Subscribers hear of every change of its status, in order, once it is so."""
    pipeline = Pipeline("events")
    pipeline.add(abs, -1)

    def listener():
        """What collects events, those, and what is set at the last one."""
        found, over = [], threading.Event()

        def hear(event):
            found.append(event)
            if event.to_status == "succeeded":
                over.set()

        return hear, found, over

    hear_every, every, every_over = listener()
    hear_one, heard, one_over = listener()
    with controller.watch(hear_every, types=[PipelineRunStatusChanged]):
        gate, begun = gated(pipeline)
        run = pipeline.submit(controller)
        with controller.watch(hear_one, task_id=run.id):
            begun.wait(PATIENCE)
            gate.set()
            run.wait(PATIENCE)
            assert one_over.wait(PATIENCE)
        assert every_over.wait(PATIENCE)
    assert [(each.from_status, each.to_status) for each in every] == [("pending", "running"), ("running", "succeeded")]
    assert {each.task_id for each in heard} == {run.id}


def test_a_frame(controller):
    """A row for each node and each task of a map."""
    pipeline = Pipeline("frame")
    pipeline.map(abs, [1, 2], name="map")
    frame = run_of(pipeline, controller).frame()
    assert list(frame["name"]) == ["map", "map[0]", "map[1]"]


def test_a_chart(controller):
    """Names are text, whatever they hold."""
    pipeline = Pipeline("chart")
    odd = pipeline.add(abs, 1, name='a "b" <i> & #1;\n`c`')
    pipeline.map(abs, [1], deps=odd, when=lambda up: True, name="map")
    assert pipeline.to_mermaid() == (
        "flowchart LR\n"
        '    n0["a #quot;b#quot; #lt;i#gt; #amp; #35;1; #96;c#96;"]\n'
        '    n1[["map"]]\n'
        "    n0 -. when .-> n1"
    )
    run = run_of(pipeline, controller)
    assert ":::succeeded" in pipeline.to_mermaid(run)
    assert "classDef succeeded" in pipeline.to_mermaid(run)


# mistakes


def test_mistakes_are_told_with_the_nodes_they_are_in(controller):
    """Before anything is started."""
    pipeline = Pipeline("mistakes")
    a = pipeline.add(abs, 1, name="a", deps="c")
    b = pipeline.add(abs, a, name="b")
    pipeline.add(abs, b, name="c")
    with pytest.raises(ConfigurationError, match="has a cycle: 'a' → 'b' → 'c' → 'a'; each waits for the one before"):
        pipeline.validate()
    with pytest.raises(ConfigurationError, match="has a cycle"):
        pipeline.submit(controller)
    assert find_cycle([(0,)]) == [0, 0]

    cases = [
        (lambda p: p.add(abs, 1, name="x", deps="x"), "'x' → 'x'"),
        (
            lambda p: p.add(abs, 1, name="x", deps="lode") and p.add(abs, 1, name="load"),
            "'x' waits for it.*'lode'; did",
        ),
        (lambda p: p.add(abs, 1, 2, name="x"), "node 'x'"),
        (lambda p: p.add("nobody", name="x"), "node 'x': .*'nobody'"),
        (lambda p: p.map("nobody", [], name="x"), "node 'x': .*'nobody'"),
        (lambda p: p.map(abs, [], args=(3,), name="x"), "node 'x'"),
        (lambda p: p.map(abs, [], retry=3, name="x"), r"node 'x': .*retry=RetryPolicy\(max_attempts=3\)"),
        (lambda p: p.map(abs, [1], name="m") and p.add(abs, 1, name="m[3]"), r"a map 'm'.*a node 'm\[3\]'"),
    ]
    for build, said in cases:
        pipeline = Pipeline("wrong")
        build(pipeline)
        with pytest.raises((ConfigurationError, UnknownTask), match=said):
            pipeline.submit(controller)
    assert not any(controller.counts().values())


async def later(upstream):
    """No coroutine is awaited there."""


def endless():
    """A list that holds itself."""
    found = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda p: p.add(abs, Pipeline("other").add(abs, 1, name="far")),
            "'far' of 'other'.*another pipeline than 'p'",
        ),
        (lambda p: p.add(abs, name="a") and p.add(abs, name="a"), "has a node 'a' already"),
        (lambda p: p.add(abs, deps=[5]), "deps takes nodes"),
        (lambda p: p.add(abs, join="most"), "join must be one of"),
        (lambda p: p.add(abs, when=True), "when takes a function"),
        (lambda p: p.add(abs, 1, args=(2,)), "one by one or as args"),
        (lambda p: p.map(abs, 5), "map takes a list"),
        (lambda p: p.map(abs, "text"), "got .text."),
        (lambda p: p.map(abs, [1], max_parallel=0), "max_parallel must be"),
        (lambda p: p["a"], "has no node 'a'"),
        (lambda p: p.add(abs, args=1), r"args takes a tuple of arguments; write args=\(1,\)"),
        (lambda p: p.add(len, args="abc"), "write args=.'abc',"),
        (lambda p: p.map(abs, [1], args="abd"), "write args=.'abd',"),
        (lambda p: p.add(abs, kwargs=[1]), "kwargs takes a mapping"),
        (lambda p: p.map(abs, [1], kwargs={1: 2}), "kwargs takes a mapping.*{1: 2}"),
        (lambda p: p.add(abs, deps=7), "deps takes nodes.*got 7"),
        (lambda p: p.add(abs, deps=None), "deps takes nodes.*got None"),
        (lambda p: p.add(abs, when=later), "when takes a plain function"),
        (lambda p: p.map(abs, later), "map takes .* a plain function"),
        (lambda p: p.add(abs, endless()), "nest too deeply, or hold themselves"),
        (lambda p: p.submit(5), "submit takes a Controller"),
        (lambda p: p.continue_run(5, "x"), "continue_run takes a Controller"),
    ],
)
def test_mistakes_are_told_where_they_are_made(build, said):
    """At the line that is wrong."""
    with pytest.raises(ConfigurationError, match=said):
        build(Pipeline("p"))


def test_what_is_no_pipeline_run_or_node_is_told(controller):
    """Instead of an error from within, or of taking hold of every record of the store."""
    pipeline = Pipeline("p")
    fan = pipeline.map(abs, [1], name="fan")
    controller.submit(abs, -1).result(PATIENCE)
    run = run_of(pipeline, controller)
    for run_id in (None, "", 5):
        with pytest.raises(ConfigurationError, match="continue_run takes the id of a run"):
            pipeline.continue_run(controller, run_id)
    for call in (controller.start_run, lambda it: controller.continue_run(it, run.id)):
        with pytest.raises(ConfigurationError, match="takes a Pipeline, got 5"):
            call(5)
    for name in (5, None, [], "fan[00]", "fan[0", "fan[1]", "fan[-1]", "fan[٠]"):
        with pytest.raises(ConfigurationError, match="has no node"):
            run[name]
        with pytest.raises(ConfigurationError, match="has no node"):
            run.tasks(name)
        with pytest.raises(ConfigurationError, match="has no node"):
            pipeline[name]
    assert run["fan[0]"].result() == 1
    assert (fan in pipeline, "fan" in pipeline, "fun" in pipeline) == (True, True, False)
    assert pipeline[fan] is fan


def test_a_condition_that_gives_a_coroutine_fails_its_node(controller):
    """It is true like any object, and would let the node run whatever it says."""
    pipeline = Pipeline("async")
    pipeline.add(abs, 1, when=lambda up: later(up), name="x")  # noqa: PLW0108 - nobody sees that it is a coroutine's
    run = run_of(pipeline, controller)
    assert "gave a coroutine" in run["x"].failure.message


def test_a_closed_controller(tmp_path):
    """Takes no run; one that it had is stopped, and its verbs say why they do nothing."""
    pipeline = Pipeline("late")
    _, begun = gated(pipeline)
    controller = Controller(artifacts=tmp_path, echo=False)
    run = pipeline.submit(controller)
    assert begun.wait(PATIENCE)
    controller.close()
    assert run.status == "stopped"
    for verb in (run.stop, run.pause, run.resume, run.cancel, run.retry_failed, lambda: pipeline.submit(controller)):
        with pytest.raises(ControllerClosed):
            verb()
    assert run.wait(1) == "stopped"


# many


def test_two_runs_of_one_pipeline_at_once(controller):
    """Do not know of each other; each map has its own limit."""
    pipeline = Pipeline("twins")
    meet = threading.Barrier(2)

    def work(ctx, n):
        meet.wait(PATIENCE)  # with the other run
        return [n, ctx.input["who"]]

    pipeline.map(work, range(3), max_parallel=1, name="map")
    runs = [pipeline.submit(controller, input={"who": who}) for who in ("one", "two")]
    assert [run.wait(PATIENCE) for run in runs] == ["succeeded"] * 2
    assert [run.result("map")[2] for run in runs] == [[2, "one"], [2, "two"]]
    assert runs[0].id != runs[1].id


@pytest.mark.slow
def test_a_thousand_runs_leave_nothing_behind(tmp_path):
    """No limit, no record beyond those that are kept, no run."""
    pipeline = Pipeline("many")
    pipeline.add(sum, pipeline.map(abs, [1, 2], max_parallel=1, name="map"), when=lambda up: True)
    with Controller(keep_terminal=10, artifacts=tmp_path, capture=False) as controller:
        known = weakref.WeakSet()
        for _ in range(20):
            runs = [pipeline.submit(controller) for _ in range(50)]
            assert {run.wait(PATIENCE) for run in runs} == {"succeeded"}
            known.update(run._run for run in runs)
        assert len({run.id for run in runs}) == 50
        del runs
        engine = controller._link.engine
        controller._link.sync()
        gc.collect()
        assert len(known) <= 10
        assert len(engine.tasks) <= 10
        ready = engine.ready
        assert not any((ready._limits, ready._lanes, ready._holding, ready._where))
        assert not any(lane.queued for *_, lane in ready._open)
        assert not engine.pipelines.busy
        assert not engine.timers


def test_a_run_is_found_again(controller):
    """By whoever has lost the variable; the controller lists those it has."""
    pipeline = Pipeline("quick")
    pipeline.add(len, "abc")
    run = pipeline.submit(controller)
    run.wait(timeout=20)
    assert [each.id for each in controller.runs] == [run.id]
    assert controller.pipeline_run(run.id).status == "succeeded"
    with pytest.raises(UnknownTask, match="continue_run"):
        controller.pipeline_run("quick:unknown")
