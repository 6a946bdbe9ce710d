"""Events for coroutines: in order, bounded, and over when they are over."""

from __future__ import annotations

import asyncio
import functools
import gc
import threading

import pytest

from chongming_task import (
    ConfigurationError,
    Controller,
    ControllerClosed,
    EventsLost,
    ProgressUpdated,
    TaskStatusChanged,
    task,
)
from chongming_task.api.streaming import EventStream
from chongming_task.runtime import mailbox
from chongming_task.runtime.bus import Bus
from tests.unit.runtime.test_bus import changed, progress


def everything(event):
    """Accept it."""
    return True


async def within(awaitable, seconds=10):
    """Await, with a limit that only a fault reaches."""
    return await asyncio.wait_for(awaitable, seconds)


def test_a_stream_tells_a_record_s_life_in_order():
    """Opened before the record, it misses nothing; a filter holds."""

    async def main(controller):
        with controller.stream(types=[TaskStatusChanged], tag="mine") as stream:
            controller.submit(len, "abc")
            handle = controller.submit(len, args=("abc",), tags=["mine"])
            found = [await within(anext(stream)) for _ in range(4)]
        assert {event.task_id for event in found} == {handle.id}
        return [str(event.to_status) for event in found]

    with Controller() as controller:
        assert asyncio.run(main(controller)) == ["queued", "starting", "running", "succeeded"]


def test_a_stream_ends_when_the_controller_is_closed():
    """What was told before is still read, then the loop is over; no thread was needed for it."""

    async def main():
        controller = Controller()
        stream = controller.stream(types=[TaskStatusChanged])
        names = {thread.name for thread in threading.enumerate()}
        controller.submit(len, "abc")
        reader = asyncio.ensure_future(collect(stream))
        await asyncio.to_thread(controller.wait_all, 10)
        await asyncio.to_thread(controller.close)
        assert stream.closed
        return await within(reader), names

    async def collect(stream):
        return [str(event.to_status) async for event in stream]

    statuses, names = asyncio.run(main())
    assert statuses == ["queued", "starting", "running", "succeeded"]
    assert "chongming-subscriber" not in names


def test_a_stream_of_a_closed_controller_is_refused():
    """As a subscription is."""
    controller = Controller()
    controller.close()
    with pytest.raises(ControllerClosed):
        controller.stream()


def test_a_coroutine_function_is_no_callback():
    """Nobody would await it: refused at once, with what to use."""

    class Follower:
        async def __call__(self, event):
            """What an instance with an async call is: it is no better."""

    async def follow(event):
        """Never called."""

    with Controller() as controller:
        for callback in (follow, Follower(), functools.partial(follow)):
            with pytest.raises(ConfigurationError, match=r"async.*controller\.stream\(\)"):
                controller.watch(callback)


def test_cancelling_the_reader_loses_nothing():
    """An event that arrives as the reader is cancelled is there for the next one."""

    async def main():
        bus = Bus()
        stream, found = EventStream(bus, everything), []
        for number in range(50):
            reader = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0)  # it waits
            bus.publish([changed(number)], [])
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader
            found.append((await within(anext(stream))).version)
        return found

    assert asyncio.run(main()) == list(range(50))


def test_a_stream_that_is_not_read_is_bounded():
    """Progress beyond its size is dropped and counted; changes are not."""

    async def main():
        bus = Bus()
        stream = EventStream(bus, everything, size=10)
        for number in range(100):
            bus.publish([progress(number), changed(number)], [])
        stream.close()
        return stream, [event async for event in stream]

    stream, heard = asyncio.run(main())
    assert [event.version for event in heard if isinstance(event, TaskStatusChanged)] == list(range(100))
    assert sum(isinstance(event, ProgressUpdated) for event in heard) == 5
    assert stream.dropped == 95


def test_a_stream_nobody_reads_any_more_is_given_up(monkeypatch, caplog):
    """And says so to who reads it after all, so that the end is no surprise."""
    monkeypatch.setattr(mailbox, "STUCK_CHANGES", 50)

    async def main():
        bus = Bus()
        stream = EventStream(bus, everything)
        bus.publish([changed(number) for number in range(60)], [])
        assert (stream.closed, stream.waiting, bus.narrator) == (True, 0, None)
        await anext(stream)

    with pytest.raises(EventsLost):
        asyncio.run(main())
    assert "a stream was not read" in caplog.text


def test_a_stream_left_by_break_is_closed_by_itself():
    """With the next event: nothing is kept for nobody."""

    async def main():
        bus = Bus()
        bus_events = [changed(1), changed(2)]
        stream = EventStream(bus, everything)
        bus.publish(bus_events, [])
        async for event in stream:
            assert event.version == 1
            break
        del stream
        gc.collect()
        bus.publish(bus_events, [])
        return bus.narrator

    assert asyncio.run(main()) is None


def test_two_readers_share_a_stream():
    """Each event goes to one of them, and both end with it."""

    async def main():
        bus = Bus()
        stream = EventStream(bus, everything)

        async def collect():
            return [event.version async for event in stream]

        readers = [asyncio.ensure_future(collect()) for _ in range(2)]
        await asyncio.sleep(0)
        for number in range(20):
            bus.publish([changed(number)], [])
            await asyncio.sleep(0)
        stream.close()
        one, two = await within(asyncio.gather(*readers))
        return sorted(one + two)

    assert asyncio.run(main()) == list(range(20))


def test_a_reader_with_much_to_read_lets_others_run():
    """A loop over a full mailbox gives the event loop its turns."""

    async def main():
        bus = Bus()
        stream = EventStream(bus, everything)
        bus.publish([changed(number) for number in range(10_000)], [])
        turns = 0

        async def other():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.ensure_future(other())
        stream.close()
        async for _ in stream:
            pass
        beside.cancel()
        return turns

    assert asyncio.run(main()) >= 100


def test_a_stream_whose_loop_is_gone_disturbs_nobody():
    """The loop ended while it was awaited; tasks go on, and another loop can read on."""
    bus = Bus()
    stream = EventStream(bus, everything)

    async def give_up():
        reader = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        reader.cancel()

    asyncio.run(give_up())
    bus.publish([changed(1)], [])

    async def read():
        return (await within(anext(stream))).version

    assert asyncio.run(read()) == 1


@task
def chatty(ctx, number: int) -> int:
    """Report progress more often than anybody can read."""
    for done in range(number):
        ctx.progress(done + 1, number)
    return number


def test_a_hundred_thousand_reports_are_few_events_and_the_last():
    """In a real task, read by a real loop."""

    async def main(controller):
        with controller.stream(types=[ProgressUpdated]) as stream:
            handle = controller.submit(chatty, 100_000)
            await asyncio.to_thread(handle.wait, 30)
            stream.close()
            return [event.progress.done async for event in stream], stream.dropped

    with Controller() as controller:
        heard, dropped = asyncio.run(main(controller))
    assert heard == sorted(heard)
    assert heard[-1] == 100_000
    assert len(heard) <= 200
    assert dropped == 0
