"""The inbox: in order, in portions, from any thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from chongming_task.runtime.inbox import Inbox


def said(*words: Any) -> None:
    """A call that is never made here."""


def drained(inbox: Inbox, timeout: float | None = 0.0) -> list[tuple[Any, ...]]:
    return [args for _, args in inbox.drain(timeout)]


def test_messages_come_in_order():
    """A call and its arguments."""
    inbox = Inbox()
    inbox.put(said)
    inbox.put(said, 1, "two")
    assert len(inbox) == 2
    assert list(inbox.drain()) == [(said, ()), (said, (1, "two"))]
    assert len(inbox) == 0
    assert drained(inbox) == []


def test_what_comes_in_meanwhile_is_for_the_next_time():
    """No sender can hold a tick up for ever."""
    inbox = Inbox()
    inbox.put(said, 0)
    seen = []
    for _, (number,) in inbox.drain():
        seen.append(number)
        inbox.put(said, number + 1)
        assert number < 10, "this tick would never end"
    assert seen == [0]
    assert drained(inbox) == [(1,)]


@pytest.mark.parametrize("timeout", [0.0, 10.0, None])
def test_nobody_waits_while_there_is_something(timeout):
    """Whatever the patience."""
    inbox = Inbox()
    inbox.put(said, 1)
    inbox.put(said, 2)
    assert drained(inbox, timeout) == [(1,), (2,)]


@pytest.mark.parametrize("timeout", [0.0, 0.001])
def test_patience_ends(timeout):
    """With nothing, and no error."""
    assert drained(Inbox(), timeout) == []


@pytest.mark.parametrize("timeout", [30.0, None])
def test_the_first_message_ends_the_wait(timeout):
    """And brings what came with it."""
    inbox, waiting = Inbox(), threading.Event()

    def send() -> None:
        waiting.wait(10)
        inbox.put(said, "come")
        inbox.put(said, "along")

    sender = threading.Thread(target=send)
    sender.start()
    drain = inbox.drain(timeout)
    waiting.set()
    assert next(drain) == (said, ("come",))
    sender.join(10)
    assert list(drain) == [(said, ("along",))]
    assert len(inbox) == 0


@pytest.mark.parametrize("first", [True, False])
def test_who_gathers_takes_what_comes_soon(first):
    """After the first message, whether it was there already or came."""
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        inbox.put(said, "soon")

    inbox = Inbox(sleep)
    sender = threading.Thread(target=inbox.put, args=(said, "now"))
    sender.start()
    if first:
        sender.join(10)
    assert list(inbox.drain(10.0, 0.25)) == [(said, ("now",)), (said, ("soon",))]
    assert slept == [0.25]
    sender.join(10)


def test_who_does_not_wait_gathers_nothing():
    """A tick by hand takes what there is."""
    inbox = Inbox(lambda seconds: pytest.fail("it slept"))
    inbox.put(said, "now")
    assert list(inbox.drain(0.0, 0.25)) == [(said, ("now",))]
    assert list(inbox.drain(0.001, 0.25)) == []


def test_many_senders_lose_nothing():
    """Each one's messages stay in its order."""
    inbox = Inbox()

    def send(sender: int) -> None:
        for number in range(300):
            inbox.put(said, sender, number)

    threads = [threading.Thread(target=send, args=(sender,)) for sender in range(6)]
    for thread in threads:
        thread.start()
    found: list[tuple[Any, ...]] = []
    while len(found) < 6 * 300:
        portion = drained(inbox, 10.0)
        assert portion, "nothing came for ten seconds"
        found += portion
    for thread in threads:
        thread.join(10)
    for sender in range(6):
        assert [number for who, number in found if who == sender] == list(range(300))
