"""The controllers of the session: what ``%%task`` submits to and ``%tasks`` shows, unless another one is named.

There is one for each executor that was asked for, made when it is first needed, and one of them, or one of the user's
own, is the default. They outlive the extension: unloading it, or loading it again, ends no task.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable

from chongming_task.api.closing import CloseReport
from chongming_task.api.controller import Controller

__all__ = ["SESSION", "Session"]

_PATIENCE_AT_EXIT = 1.0  # seconds for running cells when the kernel ends; Jupyter kills it soon after


class Session:
    """Keeps them. All of it is called from cells, one at a time."""

    def __init__(self) -> None:
        self._made: dict[str, Controller] = {}  # by executor
        self._chosen: Controller | None = None

    @property
    def begun(self) -> bool:
        """Whether a controller has been made."""
        return bool(self._made)

    def default(self, executor: str, make: Callable[[str], Controller]) -> Controller:
        """The controller that was chosen, else the session's own.

        Args:
            executor: Of the session's own.
            make: Makes that, when it is first needed.
        """
        return self.made(executor, make) if self._chosen is None else self._chosen

    def made(self, executor: str, make: Callable[[str], Controller]) -> Controller:
        """The session's own controller with this executor; one that was closed has a successor.

        Args:
            executor: Its name.
            make: Makes one.
        """
        known = self._made.get(executor)
        if known is None or known._link.closed:
            known = self._made[executor] = make(executor)
        return known

    def choose(self, controller: Controller) -> None:
        """Makes one of the user's own the default, until the session's own are closed."""
        self._chosen = controller

    def close(self, timeout: float = 10.0) -> list[CloseReport]:
        """Closes the session's own controllers, which stops their tasks, and forgets the one that was chosen.

        Args:
            timeout: Seconds of grace for what runs.
        """
        self._chosen = None
        reports = []
        while self._made:
            reports.append(self._made.popitem()[1].close(timeout))
        return reports


SESSION = Session()
"""The session of this process."""

atexit.register(SESSION.close, _PATIENCE_AT_EXIT)
