"""How it stands with a store that fails: for how long it is left alone, and what the log hears of it."""

from __future__ import annotations

import logging
from collections import deque

__all__ = ["Trouble", "rest_seconds"]

_logger = logging.getLogger("chongming_task.store")
_KEPT_FAILURES = 100
_LINE_SECONDS = 1.0  # between two lines of the log, whatever happens
_SAME_SECONDS = 60.0  # between two lines about the same error
_OWED_LINES = 5


def rest_seconds(failures: int) -> float:
    """How long a store is left alone that has failed so many times in a row: 0.25, 0.5, 1, 2, 4, 5, 5, ... seconds."""
    return min(0.25 * 2.0 ** (min(failures, 6) - 1), 5.0)


class Trouble:
    """Takes note of what a store could not do. The engine's own; its attributes may be read from any thread."""

    def __init__(self) -> None:
        self.failures: deque[str] = deque(maxlen=_KEPT_FAILURES)  # what went wrong, newest last
        self.last: str | None = None  # the error that came last; also when it is over
        self.since: float | None = None  # monotonic; None: the store takes everything
        self.rests_until: float | None = None  # monotonic; None: it may be tried at any time
        self.in_a_row = 0  # tries that failed, since something was stored
        self._told_at = float("-inf")
        self._told: str | None = None  # the error that the last line was about
        self._was_told = False  # whether a line was about what goes on
        self._left_out = 0
        self._owed: list[tuple[int, str]] = []  # lines that must not be left out, and came too soon after another

    def failed(self, now: float, what: str, error: Exception) -> None:
        """Note that the store failed."""
        self.last = text = f"{type(error).__name__}: {error}"
        self.failures.append(f"{what}: {text}")
        if self.since is None:
            self.since = now
        if self._may_tell(now, text):
            self._was_told, self._told = True, text
            self._log(now, [(logging.ERROR, f"the task store failed: {what}: {text}")])
        else:
            self._left_out += 1

    def told(self, now: float, what: str, error: Exception) -> None:
        """Note that something is not stored although the store works; the log tells it, if not now then soon."""
        text = f"{what}: {type(error).__name__}: {error}"
        self.failures.append(text)
        self._owe(logging.ERROR, text)
        self.pay(now)

    def rest(self, now: float) -> None:
        """Leave the store alone for a while: a try has failed."""
        self.in_a_row += 1
        self.rests_until = now + rest_seconds(self.in_a_row)

    def over(self, now: float, waited: int) -> None:
        """Note that the store has taken everything, so many changes with the last try."""
        if self.since is None:
            return
        if self._was_told:
            took = now - self.since
            self._owe(logging.INFO, f"the task store works again, after {took:.1f} s; changes that waited: {waited}")
        self.since = self.rests_until = self._told = None
        self._was_told, self.in_a_row = False, 0
        self.pay(now)

    def pay(self, now: float) -> None:
        """Log what is owed, if it is time."""
        if self._owed and now >= self.pays_at:
            owed, self._owed = self._owed, []
            self._log(now, owed)

    def end(self) -> None:
        """Log what is owed, and expect no further try."""
        if self._owed:
            self._log(self._told_at, self._owed)
            self._owed = []
        self.rests_until = None

    @property
    def pays_at(self) -> float:
        """When the next line may be logged: monotonic seconds."""
        return self._told_at + _LINE_SECONDS

    @property
    def owes(self) -> bool:
        """Whether a line waits for its turn."""
        return bool(self._owed)

    def _may_tell(self, now: float, error: str) -> bool:
        self.pay(now)
        return now >= self._told_at + (_SAME_SECONDS if error == self._told else _LINE_SECONDS)

    def _owe(self, level: int, text: str) -> None:
        if len(self._owed) < _OWED_LINES or level == logging.INFO:  # nobody may be left with the bad news only
            self._owed.append((level, text))
        else:
            self._left_out += 1

    def _log(self, now: float, lines: list[tuple[int, str]]) -> None:
        text = "; ".join(line for _, line in lines)
        if self._left_out:
            text += f" (failures not logged before: {self._left_out})"
        _logger.log(max(level for level, _ in lines), "%s", text)
        self._told_at, self._left_out = now, 0
