"""Tasks that the tests of the command line run by name; this folder is where they run it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from chongming_task import task


@task(restartable=True)
def travel(ctx, gate: str) -> str:
    """Goes until there is a file; says how far it has come."""
    print("on the way 重明")
    ctx.log.warning("no \x1b[31mgate\x1b[0m yet")
    steps = 0
    while not Path(gate).exists():
        steps += 1
        ctx.progress(steps, 1_000_000, "steps", "looking for the gate")
        ctx.sleep(0.02)
    return f"attempt {ctx.attempt}"


@task
def hold(ctx, seconds: float = 60.0) -> None:
    """Runs until it is stopped."""
    print("holding")
    ctx.sleep(seconds)


@task
def count(ctx, number: int, unit: str = "rows") -> dict[str, int]:
    """Counts, in steps."""
    for each in ctx.track(range(number), unit=unit):
        print("at", each)
    return {"counted": number}


@task(name="fails")
def fail() -> None:
    """Fails, and tries to paint the terminal."""
    raise ValueError("boom \x1b[31mred")


@task
def deaf() -> None:
    """Obeys nobody."""
    print("deaf", flush=True)
    while True:
        time.sleep(60)  # no-checkpoint


@task
def argv() -> list[str]:
    """What its process was started with."""
    return [*sys.orig_argv]


def helper() -> None:
    """No task: cannot be run by name."""
