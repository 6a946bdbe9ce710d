"""A progress bar that tells the task it runs in: change one import, and a loop with ``tqdm`` reports and can be held.

    from chongming_task.tqdm import tqdm

Outside a task it is ``tqdm.auto.tqdm``. Inside one,

- every step of the loop, and every ``update()``, is a checkpoint and reports the progress: the count as done,
  ``total``, ``unit``, and the description with the postfix as message;
- of nested bars the outermost reports, and all give checkpoints;
- no bar is drawn, since many tasks would draw over each other; ``disable=False`` asks for one all the same.

Needs the extra ``tqdm``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, Never, TypeVar, overload
from weakref import ref

from chongming_task.errors import ConfigurationError
from chongming_task.runtime.context import TaskContext, running_context

try:
    from tqdm.auto import tqdm as _AutoBar  # noqa: N812 - what it is, a class
except ModuleNotFoundError as missing:
    raise ConfigurationError(
        'chongming_task.tqdm needs tqdm, which is not installed. Run: pip install "chongming-task[tqdm]"'
    ) from missing

__all__ = ["tqdm", "trange"]

T = TypeVar("T")

if TYPE_CHECKING:
    _Bar = _AutoBar
else:

    class _Bar(_AutoBar, Generic[T]):
        """Their stubs know what a bar goes through, their class does not."""


_UNKNOWN = math.nan  # clears the total of the bar before; None would leave it
_outermost: ContextVar[ref[tqdm[Any]] | None] = ContextVar("chongming_task_outermost_bar", default=None)

# What tqdm's constructor takes by position, after iterable, desc and total.
_POSITIONAL = (  # noqa: SIM905
    "leave file ncols mininterval maxinterval miniters ascii disable unit unit_scale dynamic_ncols "
    "smoothing bar_format initial position postfix unit_divisor write_bytes lock_args nrows colour delay gui"
).split()


class tqdm(_Bar[T]):  # noqa: N801 - it takes the place of tqdm's own
    """A bar as tqdm's, that reports to the current task and gives it checkpoints.

    Args:
        iterable: What to go through; leave it out to call ``update`` by hand.
        desc: What is going on; the progress message.
        total: How many steps there are; taken from ``len(iterable)`` where that works.
        *args: As tqdm's.
        **options: As tqdm's; in a task ``disable`` is True unless given.

    Raises:
        TaskCancelled: From the loop and from ``update``, when the task was asked to stop.

    Example:
        >>> from chongming_task import run_task
        >>> from chongming_task.tqdm import tqdm
        >>> def add(ctx):
        ...     return sum(tqdm(range(4), unit="numbers"))
        >>> handle = run_task(add)
        >>> handle.result(), handle.progress.done, handle.progress.unit
        (6, 4, 'numbers')
    """

    _task: TaskContext | None = None  # the one it was made in
    _unit = "it"
    _closed = False

    @overload
    def __init__(
        self, iterable: Iterable[T], desc: str | None = None, total: float | None = None, *args: Any, **options: Any
    ) -> None: ...
    @overload
    def __init__(
        self: tqdm[Never],
        iterable: None = None,
        desc: str | None = None,
        total: float | None = None,
        *args: Any,
        **options: Any,
    ) -> None: ...
    def __init__(
        self,
        iterable: Any = None,
        desc: str | None = None,
        total: float | None = None,
        *args: Any,
        **options: Any,
    ) -> None:
        options.update(zip(_POSITIONAL, args, strict=False))
        task = running_context.get()
        if task is not None:
            options.setdefault("disable", True)
        super().__init__(iterable, desc, total, **options)
        if task is None:
            return
        self._task, self._unit = task, options.get("unit", "it")
        if self.disable:  # then tqdm sets none of these
            self.desc, self.postfix = desc or "", ""
        self._report(self.n)

    # as tqdm's, and then some

    def __iter__(self) -> Iterator[T]:
        """Go through the iterable; in a task with a checkpoint before every item and the progress after it."""
        items = super().__iter__()
        return items if self._task is None else self._reported(items)

    def _reported(self, items: Iterator[T]) -> Iterator[T]:
        done = self.n
        try:
            for item in items:
                self._pass_checkpoint()
                yield item
                done += 1
                self._report(done)
        finally:
            self.n = done
            self.close()

    async def __anext__(self) -> T:
        """The same in ``async for``: held without holding up the loop."""
        if self._task is not None and running_context.get() is self._task:
            await self._task.acheckpoint()
        return await super().__anext__()

    def update(self, n: float | None = 1) -> bool | None:
        """Count ``n`` more steps; in a task also a checkpoint.

        Args:
            n: How many more are done.
        """
        drawn = super().update(n)
        if self._task is not None:
            if self.disable:  # then tqdm does not count
                self.n += n or 0
            self._report(self.n)
            self._pass_checkpoint()
        return drawn

    def reset(self, total: float | None = None) -> None:
        """Begin anew.

        Args:
            total: How many there are now; None: as before.
        """
        super().reset(total)
        self._report(self.n)

    def set_description(self, desc: str | None = None, refresh: bool | None = True) -> None:
        """Say what is going on.

        Args:
            desc: The text before the bar.
            refresh: Whether to draw it now.
        """
        super().set_description(desc, refresh)
        self._say()

    def set_description_str(self, desc: str | None = None, refresh: bool | None = True) -> None:
        """The same, without a colon."""
        super().set_description_str(desc, refresh)
        self._say()

    def set_postfix(
        self, ordered_dict: Mapping[str, object] | None = None, refresh: bool | None = True, **values: object
    ) -> None:
        """Say how it stands.

        Args:
            ordered_dict: Names and values.
            refresh: Whether to draw it now.
            values: The same by keyword.
        """
        super().set_postfix(ordered_dict, refresh, **values)
        self._say()

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
        """The same, as text."""
        super().set_postfix_str(s, refresh)
        self._say()

    def close(self) -> None:
        """End the bar; the next one of the task reports."""
        super().close()
        self._closed = True

    # to the task

    def _pass_checkpoint(self) -> None:
        # A bar may be updated from other threads than its task's: those are not the task's to stop.
        if self._task is not None and running_context.get() is self._task:
            self._task.checkpoint()

    def _report(self, done: float) -> None:
        if self._task is not None and self._is_outermost():
            self._task.progress(done, self.total)

    def _say(self) -> None:
        if self._task is not None and self._is_outermost():
            self._task.progress(message=self._message())

    def _message(self) -> str:
        parts = ((self.desc or "").removesuffix(": "), self.postfix or "")
        return ", ".join(str(part) for part in parts if part)

    def _is_outermost(self) -> bool:
        """Whether this bar is the one that reports; where none does, it begins to."""
        holder = _outermost.get()
        bar = holder() if holder is not None else None
        if bar is not None and not bar._closed and bar._task is self._task:
            return bar is self
        self._closed = False
        _outermost.set(ref(self))
        if self._task is not None:
            total = _UNKNOWN if self.total is None else self.total
            self._task.progress(self.n, total, self._unit, self._message())
        return True


def trange(*args: int, **options: Any) -> tqdm[int]:
    """``tqdm(range(*args), **options)``.

    Args:
        args: As for ``range``.
        options: As for :class:`tqdm`.

    Example:
        >>> from chongming_task import run_task
        >>> run_task(lambda: sum(trange(4, disable=True))).result()
        6
    """
    return tqdm(range(*args), **options)
