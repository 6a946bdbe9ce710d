"""A notebook cell as the function of a task.

It reads the notebook's names as they stood when it was submitted, on every attempt. What it assigns is its own until it
succeeds; then the notebook gets all of it at once. A cell that fails or is stopped leaves the notebook as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from chongming_task.core.results import ResultPolicy, StrictJson
from chongming_task.errors import ResultInvalid
from chongming_task.notebook.cell_code import ACHECKPOINT, CHECKPOINT, VALUE, CellCode
from chongming_task.runtime.results import MemoryResults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chongming_task.runtime.context import TaskContext

__all__ = ["CellResults", "CellTask"]

_MISSING: Any = object()
_HISTORY = frozenset({"_", "__", "___", "ctx"})  # IPython's own, and the context: never handed to the notebook


class CellTask:
    """What a task runs: the cell, with names of its own.

    Args:
        cell: The compiled cell.
        notebook: The notebook's names. Read now, and written on success.
        divert: Makes what the cell displays go to the task's output while it runs.
    """

    def __init__(self, cell: CellCode, notebook: dict[str, Any], divert: Callable[[], Any] | None = None) -> None:
        self._cell = cell
        self._notebook = notebook
        self._divert = divert or _nothing
        self._before: dict[str, Any] | None = dict(notebook)

    def __call__(self, ctx: TaskContext) -> Any:
        """Run it; for a cell that awaits, the coroutine that does."""
        # A cell that has succeeded keeps nothing of the notebook alive; run once more, it begins with what is there.
        before = dict(self._notebook) if self._before is None else self._before
        names = {**before, "ctx": ctx, CHECKPOINT: ctx.checkpoint, ACHECKPOINT: ctx.acheckpoint}
        if self._cell.awaits:
            return self._run_awaiting(ctx, before, names)
        with self._divert():
            exec(self._cell.code, names)
            ctx.checkpoint()  # one that was told to stop, or given up, hands nothing over
            return self._hand_over(ctx, before, names)

    async def _run_awaiting(self, ctx: TaskContext, before: dict[str, Any], names: dict[str, Any]) -> Any:
        with self._divert():
            running: Coroutine[Any, Any, None] = eval(self._cell.code, names)
            await running
            await ctx.acheckpoint()
            return self._hand_over(ctx, before, names)

    def _hand_over(self, ctx: TaskContext, before: dict[str, Any], names: dict[str, Any]) -> Any:
        """Gives the notebook what the cell assigned, all at once, and returns the value of its last expression."""
        value = names.pop(VALUE, None)
        assigned = {
            name: each for name, each in names.items() if _is_public(name) and before.get(name, _MISSING) is not each
        }
        deleted = [name for name in before if name not in names and _is_public(name)]
        notebook = self._notebook
        meanwhile = [
            name for name in (*assigned, *deleted) if notebook.get(name, _MISSING) is not before.get(name, _MISSING)
        ]
        notebook.update(assigned)
        for name in deleted:
            if name not in meanwhile:
                notebook.pop(name, None)
        replaced = [name for name in meanwhile if name in assigned]
        if replaced:
            ctx.log.warning(
                "assigned in the notebook while this cell ran, and replaced by what the cell assigned: %s",
                ", ".join(sorted(replaced)),
            )
        self._before = None
        return value

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A cell cannot leave its notebook."""
        raise TypeError("a cell works on the notebook's own names, which no other process has")


class CellResults:
    """What becomes of a cell's value: JSON is stored; anything else stays in this process, and its repr is stored."""

    def __init__(self) -> None:
        self._json: ResultPolicy = StrictJson()
        self._memory: ResultPolicy = MemoryResults()

    def keep(self, value: Any, folder: Callable[[], Any]) -> Any:
        """See :class:`~chongming_task.core.results.ResultPolicy`."""
        try:
            return self._json.keep(value, folder)
        except ResultInvalid:
            return self._memory.keep(value, folder)


def _is_public(name: str) -> bool:
    return name not in _HISTORY and not (name.startswith("__") and name.endswith("__"))


@contextmanager
def _nothing() -> Iterator[None]:
    yield
