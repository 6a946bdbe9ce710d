"""Tasks that run in this process: shown until they have ended, and stopped by Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from chongming_task.cli.commands.logs import line_text
from chongming_task.cli.console import Console
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.interrupts import Interrupts
from chongming_task.cli.render.tasks import counts_line, detail
from chongming_task.cli.render.text import cut, one_line
from chongming_task.cli.render.units import elapsed, progress_text
from chongming_task.core.states import TaskStatus as S
from chongming_task.errors import StoreError, TaskError

if TYPE_CHECKING:
    from chongming_task.api.controller import Controller
    from chongming_task.api.handle import TaskHandle
    from chongming_task.core.records import TaskSnapshot

__all__ = ["code_of", "follow"]

_TURN_SECONDS = 0.1
_NEWS_SECONDS = 10.0  # progress is told so often at least, where there is no screen to show it on
_NEWS_SHARE = 0.1  # and whenever it has come so much further


def code_of(task: TaskSnapshot, *, interrupted: bool) -> ExitCode:
    """The exit code of a command that ran a task.

    Args:
        task: As it has ended.
        interrupted: Whether Ctrl-C was pressed here.
    """
    known = {S.SUCCEEDED: ExitCode.DONE, S.FAILED: ExitCode.FAILED, S.LOST: ExitCode.LOST}
    return known.get(task.status, ExitCode.INTERRUPTED if interrupted else ExitCode.ENDED_OTHERWISE)


def follow(
    controller: Controller,
    task_ids: Sequence[str],
    console: Console,
    *,
    interrupts: Interrupts,
    grace_seconds: float,
    after: int = 0,
) -> list[TaskSnapshot]:
    """Show records of this process until all have ended.

    Args:
        controller: Runs them.
        task_ids: The records.
        console: Where to.
        interrupts: Ctrl-C, counted since before they began.
        grace_seconds: What the first Ctrl-C gives them to end; the second gives none.
        after: The newest line of the output of a single one that was written before.

    Returns:
        How they have ended.
    """
    handles = [controller.handle(task_id) for task_id in task_ids]
    view = _View(controller, handles, console, after)
    heard = 0
    while open_ones := [handle for handle in handles if not handle.done()]:
        if interrupts.count > heard:
            heard = interrupts.count
            view.say("stopping; Ctrl-C again stops at once" if heard == 1 else "stopping at once")
            _stop(open_ones, grace_seconds if heard == 1 else None)
        view.show()
        try:
            open_ones[0].wait(_TURN_SECONDS)
        except TimeoutError:
            pass  # the next turn
    view.show()
    ended = [handle.snapshot for handle in handles]
    for task in ended:
        view.say(_ended(task))
    return ended


def _stop(handles: Sequence[TaskHandle[Any]], grace_seconds: float | None) -> None:
    for handle in handles:
        try:
            handle.stop(graceful=grace_seconds is not None, timeout=grace_seconds or 0.0, wait=False, reason="Ctrl-C")
        except TaskError:
            pass  # it has just ended in another way, or somebody else has it: the view tells


def _ended(task: TaskSnapshot) -> str:
    tries = f", try {task.attempt} of {task.max_attempts}" if task.attempt > 1 else ""
    said = detail(task, None, datetime.now(UTC)) if task.failure is not None else ""
    more = f"\nchongming-task status {task.task_id[-8:]} -v tells more" if task.status in (S.FAILED, S.LOST) else ""
    ending = f"{one_line(task.name)}: {task.status} after {elapsed(task, datetime.now(UTC))}{tries}"
    return f"{ending}{f': {one_line(said)}' if said else ''}{more}"


class _View:
    """What is said of them meanwhile: a line that changes on a screen, else a line for each piece of news."""

    def __init__(
        self, controller: Controller, handles: Sequence[TaskHandle[Any]], console: Console, after: int
    ) -> None:
        self._controller = controller
        self._handles = handles
        self._console = console
        self._deaf = False  # whoever read what we say has gone; the tasks go on
        self._seen = after  # the newest line of the task's output
        self._said = ""
        self._told_at = float("-inf")
        self._told_share = 0.0

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._deaf:
            return
        try:
            if self._console.live:
                self._console.status("")
            self._console.note(text)
        except BrokenPipeError:
            self._deaf = True

    def show(self) -> None:
        """Whatever is new."""
        if self._deaf:
            return
        try:
            if len(self._handles) == 1:
                self._show_output(self._handles[0])
            if self._console.live:
                self._console.status(cut(self._now(), self._console.width - 1))
            else:
                self._tell_news()
        except BrokenPipeError:
            self._deaf = True

    def _show_output(self, handle: TaskHandle[Any]) -> None:
        try:
            lines = self._controller.output(handle.id, after=self._seen)
        except StoreError:  # the task goes on; the library's log tells, and what is stored later is shown then
            return
        if not lines:
            return
        self._seen = lines[-1].seq
        if self._console.live:
            self._console.status("")
        if not self._console.json:
            self._console.lines(map(line_text, lines))

    def _now(self) -> str:
        now = datetime.now(UTC)
        if len(self._handles) > 1:
            return counts_line(self._counts())
        task = self._handles[0].snapshot
        parts = (task.status.value, elapsed(task, now), progress_text(task.progress), detail(task, None, now))
        return f"{one_line(task.name)}: " + one_line("  ".join(part for part in parts if part))

    def _counts(self) -> dict[S, int]:
        counts: dict[S, int] = {}
        for handle in self._handles:
            counts[handle.status] = counts.get(handle.status, 0) + 1
        return counts

    def _tell_news(self) -> None:
        if len(self._handles) > 1:
            said, share = counts_line(self._counts()), 0.0
        else:
            task = self._handles[0].snapshot
            progress = task.progress
            said, share = task.status.value, (progress.fraction or 0.0) if progress is not None else 0.0
        late = self._handles[0].progress is not None and time.monotonic() - self._told_at > _NEWS_SECONDS
        if said != self._said or share >= self._told_share + _NEWS_SHARE or late:
            if not all(handle.done() for handle in self._handles):  # their ends are told by themselves
                self._console.note(self._now())
            self._said, self._told_share, self._told_at = said, share, time.monotonic()
