"""The rows of one pipeline run, with the graph they hang together in, and what each view has still to be told of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from chongming_task.core.records import TaskSnapshot
from chongming_task.notebook.feed import Cursor, Feed
from chongming_task.notebook.graph import MOST_NODES, Shape, map_of

__all__ = ["RunFeed", "Standing"]

SAVED_NODES = 200
"""As many as the saved table has rows: a saved notebook stays small."""


class Standing(NamedTuple):
    """How the run as a whole stands; nobody but the process that leads it knows."""

    status: str | None = None  # None: another process leads it
    paused: bool = False  # it was asked to pause


class RunFeed(Feed):
    """A ``Feed`` that draws as well.

    Args:
        title: What the views are headed with.
        epoch_ms: Now, in Unix milliseconds.
        standing: How the run stands; called often, so it must be quick.
    """

    def __init__(self, title: str, epoch_ms: int, standing: Callable[[], Standing] = Standing) -> None:
        super().__init__(title, epoch_ms)
        self.shape = Shape()
        self.standing = standing

    def absorb(self, tasks: Iterable[TaskSnapshot]) -> bool:
        """Takes in the latest snapshots, and what they tell of the graph."""
        latest = list(tasks)
        self.shape.take(latest)
        return super().absorb(latest)

    def open(self) -> Cursor:
        """A place for one more view."""
        cursor = RunCursor(self)
        self._cursors.append(cursor)
        return cursor

    def heading(self, now_ms: int) -> dict[str, Any]:
        """What a view must know before any row, the graph included."""
        return {**super().heading(now_ms), **self.drawing(MOST_NODES)}

    def saved_table(self, now_ms: int) -> dict[str, Any]:
        """A small table for the saved notebook, with as much of the graph as its rows belong to."""
        return {**super().saved_table(now_ms), **self.drawing(SAVED_NODES)}

    def drawing(self, most: int) -> dict[str, Any]:
        """The graph, and how it stands.

        Args:
            most: Nodes to tell of.
        """
        return {"graph": self.shape.told(most), "maps": self.shape.counts(most), "run": self.standing()._asdict()}

    def _place(self, number: int) -> Any:
        """Nodes come before the tasks of maps: with them the graph is whole."""
        return (map_of(self.row(number).node or "") is not None, *super()._place(number))


class RunCursor(Cursor):
    """A ``Cursor`` that tells of the graph when that has changed."""

    def __init__(self, feed: RunFeed) -> None:
        super().__init__(feed)
        self._run = feed
        self._shape_told = -1
        self._maps_told: dict[str, dict[str, int]] = {}
        self._standing_told: Standing | None = None

    @property
    def dirty(self) -> bool:
        """Whether there is anything to tell."""
        return super().dirty or self._standing_told != self._run.standing()

    def reset(self, now_ms: int) -> dict[str, Any]:
        """Begins anew."""
        message = super().reset(now_ms)
        self._shape_told = self._run.shape.version
        self._maps_told = message["maps"]
        self._standing_told = Standing(**message["run"])
        return message

    def patch(self, now_ms: int) -> dict[str, Any] | None:
        """What changed since the last message; of the maps, those whose counts did."""
        message = super().patch(now_ms)
        if message is None:
            return None
        shape, standing = self._run.shape, self._run.standing()
        if shape.version != self._shape_told:
            self._shape_told = shape.version
            message["graph"] = shape.told()
        maps = shape.counts()
        if changed := {node: counts for node, counts in maps.items() if counts != self._maps_told.get(node)}:
            self._maps_told = maps
            message["maps"] = changed
        if standing != self._standing_told:
            self._standing_told = standing
            message["run"] = standing._asdict()
        return message
