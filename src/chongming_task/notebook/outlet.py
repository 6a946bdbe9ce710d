"""One view's line out: what is sent when. The clock is handed in, and nothing here waits.

- At most ten messages in any second, whatever happens in the kernel.
- An answer never overtakes the change it speaks of.
- A ping every ten seconds. When nothing came back for a minute the line sleeps, because servers keep messages for
  closed tabs without bound. A kernel that runs a cell may be unable to hear anybody, so that time does not count.
- The saved table is renewed seldom, and is what a view shows that cannot be heard yet.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Any, Protocol

from chongming_task.notebook.feed import Cursor, Feed
from chongming_task.notebook.inbound import Signal

__all__ = ["Moment", "Outlet", "Port"]

logger = logging.getLogger(__name__)

MESSAGE_INTERVAL = 0.125  # seconds; with the one message that may come early, ten in a second
MESSAGE_INTERVAL_UNHEARD = 1.0  # while a long cell keeps us from knowing whether anybody is there
PING_INTERVAL = 10.0
SLEEP_AFTER = 60.0
SAVE_INTERVAL = 5.0
SAVE_INTERVAL_UNHEARD = 2.0  # while the saved table is all that a view can show
SAVE_WHEN_QUIET = 1.0
ANSWERS_TOGETHER = 100
MOST_ANSWERS = 16  # with a body, waiting to be sent


class Port(Protocol):
    """The widget, as the publisher thread sees it."""

    def deliver(self, message: dict[str, Any]) -> None:
        """Sends a custom message."""

    def save(self, table: dict[str, Any]) -> None:
        """Replaces the saved table."""


class Moment(Protocol):
    """What time it is, and whether anybody could be heard."""

    @property
    def now(self) -> float:
        """Seconds on a monotonic clock."""

    @property
    def unix_ms(self) -> int:
        """Wall clock, milliseconds."""

    @property
    def idle_since(self) -> float | None:
        """When the kernel last became able to hear its views; None while it runs a cell."""


class Outlet:
    """One view.

    Args:
        feed: The rows it shows.
        port: Its widget.
        now: When it was made; it counts as heard then.
    """

    def __init__(self, feed: Feed, port: Port, now: float) -> None:
        self.feed = feed
        self.awake = True
        self._port = port
        self._cursor: Cursor | None = None  # opened by the first hello
        self._reset_wanted = False
        self._answers: deque[dict[str, Any]] = deque()
        self._ripe = 0  # how many answers may go: the changes they speak of are sent
        self._heard_at = now
        self._pinged_at = now
        self._saved_at = now
        self._changed_at: float | None = None  # since the last save
        self._next_at = now

    # ---- what happens to it

    def hear(self, signal: Signal | None, now: float) -> None:
        """Something came from the view: a signal, or (None) a verb.

        Args:
            signal: What it says of itself.
            now: Seconds on the monotonic clock.
        """
        self._heard_at = now
        self.awake = True
        if signal in (Signal.HELLO, Signal.RESYNC) or self._cursor is None:
            self._reset_wanted = True

    def answer(self, message: dict[str, Any]) -> None:
        """Queues an answer; it goes after the changes known by now.

        Large ones do not pile up: whoever asks faster than answers can go is told so instead.
        """
        if "body" in message and len(self._answers) >= MOST_ANSWERS:
            message = {**message, "ok": False, "error": "too many answers wait to be sent; ask again"}
            del message["body"]
        self._answers.append(message)

    def changed(self, now: float) -> None:
        """Rows of the feed changed."""
        self._changed_at = now

    def close(self) -> None:
        """Forgets what the view has still to be told."""
        if self._cursor is not None:
            self.feed.close(self._cursor)
            self._cursor = None

    # ---- what it does

    def tick(self, moment: Moment) -> float | None:
        """Sends what is due. Returns when to come again (monotonic seconds), or None: not before something happens."""
        self._fall_asleep_if_unheard(moment)
        if not self.awake:
            return None
        try:
            while self._may_send(moment.now) and self._send_next(moment):
                self._next_at = max(moment.now, self._next_at) + self._interval(moment.now)
        except Exception as error:  # the widget's comm may be gone, at any moment and for any reason: stop using it
            logger.warning("a view could not be sent to (%s); it sleeps until it says hello", type(error).__name__)
            self._sleep()
            return None
        return self._due_at(moment)

    def _interval(self, now: float) -> float:
        return MESSAGE_INTERVAL if now - self._heard_at < SLEEP_AFTER else MESSAGE_INTERVAL_UNHEARD

    def _may_send(self, now: float) -> bool:
        """One message may come an interval early: a click's answer does not wait for the beat."""
        return now >= self._next_at - MESSAGE_INTERVAL

    def _send_next(self, moment: Moment) -> bool:
        """Sends the most urgent message. Returns whether there was one."""
        if self._ripe:
            self._send_answers(self._ripe)
            return True
        if self._reset_wanted:
            self._send_reset(moment)
        elif moment.now >= self._pinged_at + PING_INTERVAL:
            self._pinged_at = moment.now
            self._port.deliver({"kind": "ping"})
        elif (due := self._save_due()) is not None and moment.now >= due:
            self._saved_at, self._changed_at = moment.now, None
            self._port.save(self.feed.saved_table(moment.unix_ms))
        elif self._cursor is not None and (patch := self._cursor.patch(moment.unix_ms)) is not None:
            self._port.deliver(patch)
            self._ripe = len(self._answers)
        elif self._answers:
            self._send_answers(len(self._answers))
        else:
            return False
        return True

    def _send_answers(self, most: int) -> None:
        """The next one; with it those that follow, where all of them are short."""
        together = [self._answers.popleft()]
        most = min(most, ANSWERS_TOGETHER)
        while self._answers and len(together) < most and _are_short(together[-1], self._answers[0]):
            together.append(self._answers.popleft())
        self._ripe = max(self._ripe - len(together), 0)
        self._port.deliver(together[0] if len(together) == 1 else {"kind": "answers", "answers": together})

    def _send_reset(self, moment: Moment) -> None:
        self._reset_wanted = False
        self._pinged_at = moment.now  # it has just spoken
        if self._cursor is None:
            self._cursor = self.feed.open()
        self._port.deliver(self._cursor.reset(moment.unix_ms))
        self._ripe = len(self._answers)

    def _save_due(self) -> float | None:
        if self._changed_at is None:
            return None
        interval = SAVE_INTERVAL if self._cursor is not None else SAVE_INTERVAL_UNHEARD
        when_quiet = max(self._changed_at + SAVE_WHEN_QUIET, self._saved_at + SAVE_INTERVAL_UNHEARD)
        return min(self._saved_at + interval, when_quiet)

    def _due_at(self, moment: Moment) -> float:
        waiting = self._answers or self._reset_wanted or (self._cursor is not None and self._cursor.dirty)
        times = [self._pinged_at + PING_INTERVAL]
        if waiting:
            times.append(moment.now)
        if (save := self._save_due()) is not None:
            times.append(save)
        return max(min(times), self._next_at - MESSAGE_INTERVAL)

    def _fall_asleep_if_unheard(self, moment: Moment) -> None:
        if moment.idle_since is not None and moment.now - max(self._heard_at, moment.idle_since) >= SLEEP_AFTER:
            self._sleep()

    def _sleep(self) -> None:
        self.awake = False
        self._answers.clear()
        self._ripe = 0
        self._reset_wanted = False
        self.close()


def _are_short(*answers: dict[str, Any]) -> bool:
    return all("body" not in answer and len(answer.get("results", ())) <= 1 for answer in answers)
