"""What the processes do that `test_continue_run.py` kills: they lead a pipeline half-way."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

from chongming_task import AggregationPolicy, Controller, Pipeline, task

if "pytest" not in sys.modules:  # in a process of its own
    logging.getLogger("chongming_task.task").addHandler(logging.NullHandler())  # some are lost, as they should


def note(folder: Path, word: str) -> None:
    """One line, whole, whoever else writes."""
    file = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{word}\n".encode())
    os.close(file)


def wait_for_go(ctx, folder: Path) -> None:
    """Hangs in the first process."""
    while not (folder / "go").exists():
        ctx.sleep(0.01)


def extract(folder: str) -> list[int]:
    note(Path(folder), "extract")
    return [0, 1, 2]


@task(restartable=True)
def scale(ctx, number: int, folder: str) -> int:
    note(Path(folder), f"scale-{number}")
    if number:
        wait_for_go(ctx, Path(folder))
    return number * ctx.input["factor"]


def plain(ctx, folder: str) -> str:
    print("begins")
    note(Path(folder), "plain")
    wait_for_go(ctx, Path(folder))
    return "plain"


@task(restartable=True)
def slow(ctx, folder: str) -> str:
    note(Path(folder), "slow")
    wait_for_go(ctx, Path(folder))
    return "slow"


def total(numbers: list[int], folder: str) -> int:
    note(Path(folder), "total")
    return sum(numbers)


def journey(folder: Path, policy: str) -> Pipeline:
    """A map from a node's result, a condition, a plain task and restartable ones."""
    pipeline = Pipeline("journey", on_failure=getattr(AggregationPolicy, policy))
    where = str(folder)
    numbers = pipeline.add(extract, where, name="extract")
    scaled = pipeline.map(scale, numbers, args=(where,), name="scale")
    pipeline.add(total, scaled, where, name="total")
    pipeline.add(slow, where, name="slow")
    pipeline.add(str, "after plain", deps=pipeline.add(plain, where, name="plain"), name="after plain")
    pipeline.add(str, "never", deps=scaled, when=lambda up: sum(up["scale"]) > 100, name="skipped")
    return pipeline


def lead(folder: str, policy: str) -> None:
    """Run it half-way, and hang."""
    where = Path(folder)
    controller = Controller(where / "runs.db", echo=False, artifacts=where / "artifacts", max_parallel=8)
    run = journey(where, policy).submit(controller, input={"factor": 10})
    print(run.id, flush=True)
    run["extract"].wait()
    while not run.tasks("scale"):
        time.sleep(0.005)
    run["scale[0]"].wait()
    for name in ("scale[1]", "scale[2]", "plain", "slow"):
        run[name].wait_for("running")
    while len((where / "log").read_text().split()) < 6:
        time.sleep(0.005)
    run["plain"].output()  # which waits until it is stored
    print("half-way", flush=True)
    time.sleep(600)


def part(number: int, folder: str) -> int:
    note(Path(folder), f"map-{number}")
    if number == 2 and not (Path(folder) / "go").exists():
        while "slow" not in (Path(folder) / "log").read_text():
            time.sleep(0.005)
        raise ValueError("planted")
    return number


def failing(folder: Path) -> Pipeline:
    """A task of its map fails, and what runs beside is cancelled for that."""
    pipeline = Pipeline("failing")
    where = str(folder)
    numbers = pipeline.map(part, [0, 2, 1], args=(where,), name="map", max_parallel=1)
    pipeline.add(sum, numbers, name="total")
    pipeline.add(slow, where, name="slow", priority=5)
    return pipeline


def fail(folder: str) -> None:
    """Run it until it has failed, and hang."""
    where = Path(folder)
    controller = Controller(where / "runs.db", echo=False, artifacts=where / "artifacts", max_parallel=8)
    run = failing(where).submit(controller)
    print(run.id, flush=True)
    print(run.wait(30), flush=True)
    time.sleep(600)
