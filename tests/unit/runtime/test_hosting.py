"""Waits that go through a host, and a notice that can tell."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chongming_task import Controller
from chongming_task.runtime.hosting import Notice, awaiting, block, live_in

PATIENCE = 20


class Rail:
    """A host that writes down who waits."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def block(self, notice: Notice, seconds: float | None, /) -> bool:
        """Waits as without it."""
        self.told.append(f"blocks for {seconds}")
        return notice.wait(seconds)

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """Tells when it begins and when it is over."""
        self.told.append("awaits")
        yield
        self.told.append("is done")


@pytest.fixture
def rail() -> Iterator[Rail]:
    rail = Rail()
    live_in(rail)
    yield rail
    live_in(None)


def test_a_notice_tells_its_listener_once_it_is_set():
    """From the thread that sets it; and nobody who does not want to hear any more."""
    notice, told = Notice(), []
    notice.tell(lambda: told.append((threading.current_thread().name, notice.is_set())))
    thread = threading.Thread(target=notice.set, name="setter")
    thread.start()
    thread.join(PATIENCE)
    assert told == [("setter", True)]
    notice.tell(None)
    notice.set()
    assert len(told) == 1


def test_without_a_host_a_wait_is_a_wait():
    """It ends when the notice is set, or when the time is up."""
    notice = Notice()
    assert block(notice, 0) is False
    notice.set()
    assert block(notice, None) is True
    with awaiting():
        pass


def test_waits_for_states_go_through_the_host(rail):
    """What the engine answers at once does not: nothing may come between a verb and its answer."""
    go = threading.Event()
    with Controller() as controller:
        handle = controller.submit(go.wait, PATIENCE)
        assert rail.told == []
        handle.wait_for("running", timeout=PATIENCE)
        rail.told.clear()
        assert controller.can(handle.id, "stop")[0]
        with pytest.raises(TimeoutError):
            handle.wait(timeout=0.01)
        assert rail.told == ["blocks for 0.01"]
        go.set()
        assert handle.result(timeout=PATIENCE) is True


def test_awaited_states_go_through_the_host(rail):
    """For as long as they are awaited."""

    async def main() -> None:
        go = threading.Event()
        with Controller() as controller:
            handle = controller.submit(go.wait, PATIENCE)
            waiter = asyncio.ensure_future(handle)
            await asyncio.sleep(0)
            assert rail.told == ["awaits"]
            go.set()
            assert await waiter is True
            assert rail.told == ["awaits", "is done"]

    asyncio.run(main())
