"""How the store does, in a form for logs and panels."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from chongming_task.core.ports import Clock
from chongming_task.runtime.journal import Journal
from chongming_task.runtime.steward import Steward

__all__ = ["Health", "health_of"]

_NAMED = 3  # records, in the sentence
_UNANSWERED_SECONDS = 2.0


class Health(NamedTuple):
    """Whether the store takes what this controller gives it. As text: one sentence for a log or a panel.

    Tasks go on while a store fails; what they changed waits in memory, and is stored when the store works again.

    Example:
        >>> from chongming_task import Controller
        >>> with Controller() as controller:
        ...     print(controller.health)
        the store takes everything
    """

    ok: bool  # it takes everything; changes of this very moment may still be on their way
    at: datetime  # when this was found
    behind: int = 0  # changes that the store does not hold yet, without those of the desynced
    failing_since: datetime | None = None
    last_failure: str | None = None  # also when it is over
    next_try_at: datetime | None = None  # None while failing: with the next news
    desynced: tuple[str, ...] = ()  # records that are not stored: somebody else wrote them, or the store refuses them
    unanswered_since: datetime | None = None  # a call has not come back since; told after some seconds
    unheard_since: datetime | None = None  # what others ask, and that this controller lives, is not passed on since

    def __str__(self) -> str:
        if self.failing_since is not None:
            said = f"{_changes(self.behind)}: the store has failed since {self._told(self.failing_since)}"
            said += f" ({self.last_failure})"
            if self.next_try_at is not None:
                left = max((self.next_try_at - self.at).total_seconds(), 0.0)
                said += f"; next try in {left:.{0 if left >= 1 else 1}f} s"
        elif self.unanswered_since is not None:
            said = f"{_changes(self.behind)}: the store has not answered since {self._told(self.unanswered_since)}"
        else:
            said = "no write has failed" if self.unheard_since is not None else "the store takes everything"
            said += " else" if self.desynced else ""
        if self.unheard_since is not None:
            said += f"; what others ask is not heard since {self._told(self.unheard_since)}"
        if self.desynced:
            more = len(self.desynced) - _NAMED
            named = ", ".join(self.desynced[:_NAMED]) + (f" and {more} more" if more > 0 else "")
            said = f"{said}; not stored any more: {named}"
        return said

    def _told(self, moment: datetime) -> str:
        return f"{moment:{'%H:%M:%S' if moment.date() == self.at.date() else '%Y-%m-%d %H:%M:%S'} UTC}"


def _changes(count: int) -> str:
    return {0: "no change waits", 1: "1 change waits"}.get(count, f"{count} changes wait")


def health_of(journal: Journal, clock: Clock, steward: Steward | None = None) -> Health:
    """What the attributes of a journal and a steward say, from any thread: theirs go on meanwhile."""
    now, at, trouble = clock.monotonic(), clock.now(), journal.trouble
    asked, unheard = journal.asked_at, None if steward is None else steward.deaf_since
    unanswered = asked if asked is not None and now - asked >= _UNANSWERED_SECONDS else None
    since, again = trouble.since, trouble.rests_until
    desynced = (*journal.desynced, *journal.set_aside.writes)

    def moment(then: float | None) -> datetime | None:
        return None if then is None else at + timedelta(seconds=then - now)

    return Health(
        ok=since is None and unanswered is None and unheard is None and not desynced,
        at=at,
        behind=journal.behind,
        failing_since=moment(since),
        last_failure=trouble.last,
        next_try_at=None if since is None else moment(again),
        desynced=desynced,
        unanswered_since=moment(unanswered),
        unheard_since=moment(unheard),
    )
