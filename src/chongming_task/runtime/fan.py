"""The tasks of one map of a pipeline run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from chongming_task.core.graph import BAD, Tally
from chongming_task.core.states import TERMINAL, TaskStatus
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.ready_queue import Limit

__all__ = ["Fan"]

S = TaskStatus


@dataclass(slots=True)
class Fan:
    """The tasks of one map."""

    slots: Limit | None = None  # that its tasks share
    tasks: list[LiveTask] = field(default_factory=list)  # of a run that is continued: those that are stored
    expanded: bool = False
    ended: Counter[TaskStatus] = field(default_factory=Counter)

    def tally(self) -> Tally:
        """How they have ended so far."""
        bad = sum(self.ended[status] for status in BAD)
        return Tally(len(self.tasks), self.ended[S.SUCCEEDED], self.ended[S.SKIPPED], bad)

    def first_bad(self) -> LiveTask:
        """The first by item that did not succeed."""
        return next(live for live in self.tasks if live.draft.status in BAD)

    def expand(self, tasks: Sequence[LiveTask]) -> list[LiveTask]:
        """Its items are known; tasks that are stored already go on, with what is to be run of them.

        Returns:
            Stored tasks whose items are gone: no part of the map any more.
        """
        stored = {live.snapshot.node: live for live in self.tasks}
        found = []
        for made in tasks:
            live = stored.pop(made.snapshot.node, made)
            live.work, live.policy, live.hooks = made.work, made.policy, made.hooks
            live.needs = made.needs if self.slots is None else (*made.needs, self.slots)
            found.append(live)
        for live in stored.values():
            if live.draft.status in TERMINAL:  # of what the map waits for
                self.ended[live.draft.status] -= 1
        self.tasks, self.expanded = found, True
        return list(stored.values())
