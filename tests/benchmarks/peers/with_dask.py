"""dask.distributed: a local cluster of one worker process with as many threads as the others have."""

from __future__ import annotations

import statistics
import tempfile
import time

import dask
from distributed import Client, Event, LocalCluster
from work import BEFORE_STOP_SECONDS, SLOTS, STEP_SECONDS, STOPS, diamonds, no_op, per_task, runs_on, tell, tick


def together(client: Client, times: int) -> None:
    """Submit all, then gather all. Not pure: the same call again is another task."""
    client.gather([client.submit(no_op, pure=False) for _ in range(times)])


def one_by_one(client: Client, times: int) -> None:
    """Submit one, wait for it, submit the next."""
    for _ in range(times):
        client.submit(no_op, pure=False).result()


def graph(client: Client) -> None:
    """Delayed calls, computed as one graph."""
    call = dask.delayed(no_op, pure=False)
    steps = []
    for _node, upstream in diamonds():
        steps.append(call(*[steps[each] for each in upstream]))
    client.compute(steps[-1]).result()


def look(running: str, end: str) -> float:
    """A task that asks the scheduler whether the event is set."""
    Event(running).set()
    event = Event(end)
    while not event.is_set():
        time.sleep(STEP_SECONDS)
    return time.time()


def stop_by_event() -> float:
    """Until a task that polls an event of the cluster has seen it."""
    client, found = Client.current(), []
    for number in range(STOPS):
        running, end = Event(f"running {number}"), Event(f"end {number}")
        future = client.submit(look, running.name, end.name, pure=False)
        running.wait()
        time.sleep(BEFORE_STOP_SECONDS)
        asked = time.time()
        end.set()
        found.append(future.result() - asked)
    return statistics.median(found)


def cancelled(client: Client, folder: str) -> str:
    """What becomes of a running task whose future is cancelled."""
    future = client.submit(tick, folder, pure=False)
    if not runs_on(folder, future.cancel):
        raise RuntimeError("a cancelled future stops its task now: measure how long that takes")
    return "runs on"


if __name__ == "__main__":
    with (
        LocalCluster(n_workers=1, threads_per_worker=SLOTS, dashboard_address=None) as cluster,
        Client(cluster) as connected,
        tempfile.TemporaryDirectory() as place,
    ):
        figures: dict[str, float | str | None] = {
            "together": per_task(600, lambda times: together(connected, times)),
            "one by one": per_task(60, lambda times: one_by_one(connected, times)),
            "node": per_task(1_000, lambda _nodes: graph(connected), repeat=2),
            "stop by event": stop_by_event(),
            "stop": cancelled(connected, place),
        }
    tell(figures)
