"""A slow store: workers that report at about the same time share a transaction, and nobody else waits for that."""

from __future__ import annotations

import pytest

from chongming_task import MemoryTaskStore
from chongming_task.runtime.inbox import Inbox


class SlowStore(MemoryTaskStore):
    """Takes its time, on the rig's clock."""

    seconds = 0.0
    clock = None

    def commit(self, writes):
        if self.clock is not None:
            self.clock.advance(self.seconds)
        return super().commit(writes)


@pytest.mark.parametrize(
    ("workers", "seconds", "waits"),
    [(2, 0.02, [0.001]), (2, 0.0005, []), (1, 0.02, []), (2, 60.0, [0.005])],
    ids=["slow", "quick", "a single worker", "stuck"],
)
def test_a_tick_waits_for_more(make_rig, workers, seconds, waits):
    """A twentieth of what the store took, while others are at work; not long, however slow it was."""
    slept = []
    store = SlowStore()
    rig = make_rig(store)
    store.clock, store.seconds = rig.clock, seconds
    for _ in range(workers):
        rig.submit()
    rig.settle()
    rig.engine.inbox = Inbox(slept.append)
    rig.engine.call(lambda: None)
    rig.engine.tick(None)
    assert slept == pytest.approx(waits)
    store.clock = None
