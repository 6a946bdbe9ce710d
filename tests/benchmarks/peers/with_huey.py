"""huey on SQLite: a consumer with as many threads as the others have, otherwise as it comes."""

from __future__ import annotations

import tempfile

from huey import SqliteHuey
from work import SLOTS, per_task, runs_on, tell, tick

place = tempfile.TemporaryDirectory()
huey = SqliteHuey("bench", filename=f"{place.name}/huey.db")


@huey.task()
def nothing() -> bool:
    """Something to wait for: a result of None is not kept."""
    return True


ticking = huey.task()(tick)


def together(times: int) -> None:
    """Put all into the queue, then wait for all."""
    for result in [nothing() for _ in range(times)]:
        result(blocking=True)


def one_by_one(times: int) -> None:
    """Put one into the queue, wait for it, put the next."""
    for _ in range(times):
        nothing()(blocking=True)


def revoked() -> str:
    """What becomes of a running task that is revoked."""
    result = ticking(place.name)
    if not runs_on(place.name, result.revoke):
        raise RuntimeError("a revoked task stops now: measure how long that takes")
    return "runs on"


if __name__ == "__main__":
    consumer = huey.create_consumer(workers=SLOTS, periodic=False)
    consumer.start()
    tell({"together": per_task(200, together), "one by one": per_task(10, one_by_one), "stop": revoked()})
    consumer.stop(graceful=True)
    place.cleanup()
