"""What is sent to one view, and when: `notebook/outlet.py`, on a clock moved by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from chongming_task.core.records import Progress
from chongming_task.core.states import TaskStatus
from chongming_task.notebook.feed import Feed
from chongming_task.notebook.inbound import Signal
from chongming_task.notebook.outlet import ANSWERS_TOGETHER, MOST_ANSWERS, Outlet
from tests.notebook.sample_tasks import ended, running, task


@dataclass
class Bench:
    """A feed, one outlet, its fake widget and its fake time."""

    now: float = 1000.0
    idle_since: float | None = 0.0
    feed: Feed = field(default_factory=lambda: Feed("etl", 0))
    sent: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    broken: bool = False

    def __post_init__(self) -> None:
        self.feed.absorb([running(1, "a", 5), task(2, "b")])
        self.outlet = Outlet(self.feed, self, self.now)

    @property
    def unix_ms(self) -> int:
        """The wall clock."""
        return round(self.now * 1000)

    def deliver(self, message: dict[str, Any]) -> None:
        """As the widget's."""
        if self.broken:
            raise RuntimeError("the comm is closed")
        self.sent.append((self.now, message))

    def save(self, table: dict[str, Any]) -> None:
        """As the widget's."""
        self.sent.append((self.now, {"kind": "save", **table}))

    def hello(self) -> None:
        """The view is displayed."""
        self.outlet.hear(Signal.HELLO, self.now)
        self.outlet.tick(self)

    def move(self, done: int) -> None:
        """The first task gets on."""
        self.feed.absorb([running(1, "a", 5, progress=Progress(done))])
        self.outlet.changed(self.now)

    def run(self, seconds: float, *, each: Any = None, pong: bool = True) -> None:
        """Lets time pass in steps of 10 ms; `each` is called at every step."""
        for _ in range(round(seconds * 100)):
            self.now += 0.01
            if each is not None:
                each()
            self.outlet.tick(self)
            if pong and self.sent and self.sent[-1] == (self.now, {"kind": "ping"}):
                self.outlet.hear(Signal.PONG, self.now)

    def kinds(self, *without: str) -> list[str]:
        """What was sent, oldest first."""
        return [message["kind"] for _, message in self.sent if message["kind"] not in without]

    def answers(self) -> list[dict[str, Any]]:
        """The answers among them, also those that went together."""
        told = [message for _, message in self.sent if message["kind"].startswith("answer")]
        return [each for message in told for each in message.get("answers", [message])]


def test_nothing_is_sent_before_a_hello_but_the_saved_table():
    """Messages to a view that is not displayed are lost; the trait is what it starts from."""
    bench = Bench()
    bench.move(1)
    bench.run(5)
    assert bench.kinds() == ["save"]


def test_hello_brings_a_reset_then_only_changes():
    """At once, and nothing more while nothing changes."""
    bench = Bench()
    bench.hello()
    assert bench.kinds() == ["reset"]
    bench.run(3)
    assert bench.kinds() == ["reset"]
    bench.move(1)
    bench.outlet.tick(bench)
    assert bench.kinds() == ["reset", "patch"]


def test_never_more_than_ten_messages_in_any_second():
    """Under constant changes, with answers, pings and saves between them."""
    bench = Bench()
    bench.hello()
    steps = iter(range(10_000))

    def busy() -> None:
        step = next(steps)
        bench.move(step)
        if step % 25 == 0:
            bench.outlet.answer({"kind": "answer", "id": str(step)})

    bench.run(40, each=busy)
    times = [at for at, _ in bench.sent]
    assert max(sum(start <= at < start + 1 for at in times) for start in times) <= 10
    assert {"patch", "answer", "ping", "save"} <= set(bench.kinds())
    assert len(times) > 40 * 7


def test_an_answer_never_overtakes_the_change_it_speaks_of():
    """Although it is queued while the line is busy."""
    bench = Bench()
    bench.hello()
    for round_ in range(50):
        bench.move(round_)
        bench.outlet.answer({"kind": "answer", "id": str(round_)})
        bench.run(0.31)
    told = 0
    for _, message in bench.sent:
        if message["kind"] == "patch":
            told = message["blocks"][0]["cols"].get("done", [0])[0]
        elif message["kind"] == "answer":
            assert told >= int(message["id"])
    assert bench.kinds().count("answer") == 50


def test_an_answer_to_a_quiet_view_goes_at_once():
    """A click does not wait for the beat."""
    bench = Bench()
    bench.hello()
    bench.outlet.answer({"kind": "answer", "id": "1"})
    bench.outlet.tick(bench)
    assert bench.kinds() == ["reset", "answer"]


def test_short_answers_that_wait_go_together():
    """Ten thousand of them hold up what follows for seconds, not for minutes; none is left out, none overtakes."""
    bench = Bench()
    bench.hello()
    for number in range(10_000):
        bench.outlet.answer(
            {"kind": "answer", "id": str(number), "ok": False, "error": "verb is one of …", "results": []}
        )
    bench.outlet.answer({"kind": "answer", "id": "long", "ok": True, "error": None, "results": [{}] * 500})
    bench.run(20)
    told = [message for _, message in bench.sent if message["kind"].startswith("answer")]
    assert [each["id"] for each in bench.answers()] == [*map(str, range(10_000)), "long"]
    assert "answers" not in told[-1]
    assert max(len(message.get("answers", ())) for message in told) == ANSWERS_TOGETHER
    times = [at for at, _ in bench.sent]
    assert all(sum(at <= other < at + 1 for other in times) <= 10 for at in times)


def test_large_answers_do_not_pile_up():
    """Whoever asks faster than answers can go hears so, for every question; and the beat is kept."""
    bench = Bench()
    bench.hello()
    for number in range(100):
        bench.outlet.answer({"kind": "answer", "id": str(number), "ok": True, "error": None, "body": {"x": "y" * 1000}})
    bench.run(20)
    answers = bench.answers()
    assert [answer["id"] for answer in answers] == [str(number) for number in range(100)]
    assert sum("body" in answer for answer in answers) == MOST_ANSWERS
    assert {answer["error"] for answer in answers if "body" not in answer} == {
        "too many answers wait to be sent; ask again"
    }
    times = [at for at, _ in bench.sent]
    assert all(sum(at <= other < at + 1 for other in times) <= 10 for at in times)


def test_a_view_that_does_not_answer_pings_is_left_alone_until_it_says_hello():
    """Servers keep messages for closed tabs without bound."""
    bench = Bench()
    bench.hello()
    bench.run(59, pong=False)
    assert bench.outlet.awake
    bench.run(2, pong=False)
    assert not bench.outlet.awake
    before = len(bench.sent)
    bench.run(30, each=lambda: bench.move(int(bench.now * 10)))
    assert len(bench.sent) == before
    assert bench.outlet.tick(bench) is None
    bench.hello()
    assert bench.kinds("save")[before:] == ["reset"]


def test_pongs_keep_a_view_awake():
    """For hours, with one small message every ten seconds."""
    bench = Bench()
    bench.hello()
    bench.run(600)
    assert bench.outlet.awake
    assert 58 <= bench.kinds().count("ping") <= 60
    assert set(bench.kinds("ping")) == {"reset"}


def test_a_running_cell_is_no_silence():
    """A kernel without subshells hears nobody while it runs a cell: it goes on telling, only slower."""
    bench = Bench()
    bench.hello()
    bench.idle_since = None
    bench.run(300, each=lambda: bench.move(int(bench.now * 100)), pong=False)
    assert bench.outlet.awake
    late = [at for at, message in bench.sent if message["kind"] == "patch" and at > bench.now - 100]
    assert 60 <= len(late) <= 101  # the other messages of that second are pings and saves
    bench.idle_since = bench.now
    bench.run(59, pong=False)
    assert bench.outlet.awake
    bench.run(2, pong=False)
    assert not bench.outlet.awake


def test_the_saved_table_is_renewed_seldom_and_at_quiet():
    """Every five seconds under load; once more when it becomes quiet; never without a change."""
    bench = Bench()
    bench.hello()
    bench.run(30, each=lambda: bench.move(int(bench.now * 100)))
    under_load = bench.kinds().count("save")
    assert 5 <= under_load <= 7
    bench.run(60)
    assert bench.kinds().count("save") == under_load + 1
    last = [message for _, message in bench.sent if message["kind"] == "save"][-1]
    assert last["blocks"][0]["cols"]["done"][0] == int((bench.now - 60) * 100)


def test_a_broken_comm_puts_the_line_to_sleep():
    """The other views go on, and this one may come back."""
    bench = Bench()
    bench.hello()
    bench.broken = True
    bench.move(1)
    bench.run(1)
    assert not bench.outlet.awake
    bench.broken = False
    bench.hello()
    assert bench.kinds() == ["reset", "reset"]


def test_it_says_when_it_wants_to_be_called_again():
    """The publisher sleeps until then."""
    bench = Bench()
    bench.hello()
    assert bench.outlet.tick(bench) == pytest.approx(bench.now + 10, abs=0.01)
    bench.move(1)
    bench.outlet.tick(bench)
    bench.move(2)
    due = bench.outlet.tick(bench)
    assert due is not None
    assert bench.now < due <= bench.now + 0.25


def test_a_large_table_stays_far_below_what_servers_drop():
    """Jupyter's server drops messages beyond a million bytes a second."""
    bench = Bench()
    bench.feed.absorb([ended(n, "x" * 150, TaskStatus.SUCCEEDED, n) for n in range(20_000)])
    bench.hello()
    bench.run(3)
    rows = sum(len(block["rows"]) for _, message in bench.sent for block in message.get("blocks", []))
    assert 1_000 < rows < 20_000
    assert sum(len(str(message)) for _, message in bench.sent) / 3 < 600_000
