"""What the types promise to callers; must type-check under mypy --strict, never run.

A line with ``type: ignore[code]`` is a mistake that the types must find: an ignore that nothing needs is an error.
"""

import threading
from collections.abc import Callable
from typing import assert_type

from chongming_task import (
    CloseReport,
    Controller,
    RetryPolicy,
    TaskContext,
    TaskFunction,
    TaskHandle,
    TaskSnapshot,
    TaskStatus,
    Timeout,
    as_completed,
    run_task,
    task,
)


@task
def plain(a: int, b: str = "") -> float:
    return a + len(b)


@task
def with_context(ctx: TaskContext, a: int, *, scale: float = 1.0) -> list[float]:
    ctx.checkpoint()
    ctx.progress(1, total=a, message="going")
    return [number * scale for number in ctx.track(range(a))]


@task(retry=RetryPolicy(max_attempts=3), timeout=Timeout(idle=30), tags={"db"}, priority=2)
def decorated(ctx: TaskContext, key: str) -> dict[str, int]:
    return {key: ctx.attempt}


@task(restartable=True)
def restartable(ctx: TaskContext, rows: list[int], *, depth: int = 1) -> float:
    return len(rows) / depth


def undecorated(a: int) -> bytes:
    return bytes(a)


class Loader:
    def load(self, key: str) -> set[str]:
        return {key}


# @task keeps the parameters, without the context

same: TaskFunction[..., float] = plain
assert_type(plain(1), float)
assert_type(with_context.with_options(name="other")(None, 3), list[float])


def submissions(controller: Controller, loader: Loader) -> None:
    assert_type(controller.submit(plain, 1), TaskHandle[float])
    assert_type(controller.submit(plain, 1, b="x"), TaskHandle[float])
    assert_type(controller.submit(with_context, 3, scale=2.0), TaskHandle[list[float]])
    assert_type(controller.submit(decorated, "k"), TaskHandle[dict[str, int]])
    assert_type(controller.submit(restartable, [1], depth=2), TaskHandle[float])
    assert_type(controller.submit(restartable.with_options(restartable=False), [1]), TaskHandle[float])
    assert_type(controller.submit(undecorated, 5), TaskHandle[bytes])
    assert_type(controller.submit(loader.load, "k"), TaskHandle[set[str]])
    assert_type(controller.submit(len, "abc").result(), int)
    assert_type(controller.submit(undecorated, args=(5,), name="five", tags=["x"], priority=3), TaskHandle[bytes])
    controller.submit(plain, kwargs={"a": 1}, start=False)
    controller.submit(lambda: 5, retry=RetryPolicy(2), priority=3)
    controller.submit("by name", "a", 1, tags=["db"], bucket_key="tenant", retry=RetryPolicy(2), anything=True)

    controller.submit(plain)  # type: ignore[arg-type]
    controller.submit(plain, "no number")  # type: ignore[call-overload]
    controller.submit(plain, 1, colour="red")  # type: ignore[call-arg]
    controller.submit(with_context, 3, scale="big")  # type: ignore[arg-type]
    controller.submit(restartable, "no rows")  # type: ignore[call-overload]
    controller.submit(decorated, 5)  # type: ignore[call-overload]
    controller.submit(undecorated, "no number")  # type: ignore[call-overload]
    controller.submit(loader.load, 5)  # type: ignore[call-overload]
    controller.submit(5)  # type: ignore[call-overload]
    controller.submit("by name", retry=3)  # type: ignore[call-overload]


def decorations() -> None:
    task(retry=3)  # type: ignore[call-overload]
    task(restartable="yes")  # type: ignore[call-overload]
    task(tags=5)  # type: ignore[call-overload]
    task("a name")  # type: ignore[call-overload]


def handles(handle: TaskHandle[float]) -> None:
    assert_type(handle.result(timeout=5), float)
    assert_type(handle.status, TaskStatus)
    assert_type(handle.snapshot, TaskSnapshot)
    assert_type(handle.stop(graceful=False), bool)
    assert_type(handle.can("retry"), tuple[bool, str | None])
    wrong: str = handle.result()  # type: ignore[assignment]
    print(wrong)
    handle.snapshot.status = TaskStatus.LOST  # type: ignore[misc]
    handle.status = TaskStatus.LOST  # type: ignore[misc]
    assert_type(handle.done(), bool)
    assert_type(handle.exception(timeout=5), Exception | None)
    for each in as_completed([handle], timeout=5):
        assert_type(each.result(), float)
    handle.stop("now")  # type: ignore[call-arg, arg-type]
    handle.force_transition("failed")  # type: ignore[call-arg]


def controllers() -> None:
    with Controller(max_parallel=4) as controller:
        assert_type(controller, Controller)
    assert_type(controller.close(timeout=5), CloseReport)
    assert_type(controller.map(plain, [1, 2], b="x"), list[TaskHandle[float]])
    assert_type(controller.map(decorated, ["k"]), list[TaskHandle[dict[str, int]]])
    assert_type(controller.counts(), dict[TaskStatus, int])
    Controller(executor=5)  # type: ignore[arg-type]
    Controller(store=threading.Lock())  # type: ignore[arg-type]
    Controller(max_parallel="many")  # type: ignore[arg-type]
    run_task(undecorated, 5, retry=3)  # type: ignore[arg-type]


callback: Callable[[int, str], float] = plain
