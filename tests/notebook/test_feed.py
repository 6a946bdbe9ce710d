"""What each view is still told: `notebook/feed.py`."""

from __future__ import annotations

import json
import random
from typing import Any

from chongming_task.core.records import Progress
from chongming_task.core.states import VERB_TABLE, TaskStatus
from chongming_task.notebook.feed import MESSAGE_BYTES, Feed
from chongming_task.notebook.rows import DEFAULT_ROW
from tests.notebook.sample_tasks import NOW, ended, one_of_each, running, task

EPOCH = round(NOW.timestamp() * 1000)
S = TaskStatus


class Browser:
    """Applies messages as the view does."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, Any]] = {}
        self.seq = 0
        self.counts: dict[str, int] = {}
        self.behind = 0

    def take(self, message: dict[str, Any]) -> None:
        """One message, through JSON."""
        message = json.loads(json.dumps(message, allow_nan=False))
        assert message["kind"] == "reset" or message["seq"] == self.seq + 1
        self.seq = message["seq"]
        self.counts = message.get("counts", self.counts)
        self.behind = message.get("behind", self.behind)
        for block in message["blocks"]:
            for place, number in enumerate(block["rows"]):
                row = self.rows.setdefault(number, dict(DEFAULT_ROW._asdict()))
                if block.get("whole"):
                    row.update(DEFAULT_ROW._asdict())
                row.update({name: values[place] for name, values in block["cols"].items()})

    def drain(self, cursor: Any) -> int:
        """Takes patches until there are none; returns how many there were."""
        taken = 0
        while (message := cursor.patch(EPOCH)) is not None:
            self.take(message)
            taken += 1
        return taken

    def sees(self, feed: Feed) -> bool:
        """Whether it knows exactly what the feed holds."""
        known = [json.dumps(self.rows.get(number)) for number in range(len(feed))]
        return known == [json.dumps(feed.row(number)._asdict()) for number in range(len(feed))]


def filled(*tasks: Any) -> Feed:
    """A feed that holds these tasks."""
    feed = Feed("etl", EPOCH)
    feed.absorb(tasks)
    return feed


def test_a_reset_holds_a_small_table_whole():
    """With the verb table and the counts."""
    feed = filled(*one_of_each())
    browser = Browser()
    message = feed.open().reset(EPOCH + 40)
    browser.take(message)
    assert browser.sees(feed)
    assert (message["title"], message["at"], message["behind"]) == ("etl", 40, 0)
    assert len(message["situations"]) == len(VERB_TABLE)
    assert browser.counts["running"] == 4
    assert sum(browser.counts.values()) == len(one_of_each())


def test_many_changes_of_a_row_are_one():
    """The row is sent as it stands, with every field that changed."""
    feed = filled(running(1, "a", 5))
    cursor = feed.open()
    cursor.reset(EPOCH)
    for done in range(100):
        feed.absorb([running(1, "a", 5, progress=Progress(done, 100))])
    message = cursor.patch(EPOCH)
    assert message is not None
    assert message["blocks"] == [{"rows": [0], "cols": {"done": [99], "total": [100]}}]
    assert cursor.patch(EPOCH) is None


def test_what_did_not_change_is_not_sent():
    """A snapshot that says the same again makes no message, nor do counts that are the same."""
    feed = filled(running(1, "a", 5), task(2, "b"))
    cursor = feed.open()
    cursor.reset(EPOCH)
    assert not feed.absorb([running(1, "a", 5)])
    assert cursor.patch(EPOCH) is None
    feed.absorb([running(1, "a", 5, progress=Progress(1))])
    assert "counts" not in (cursor.patch(EPOCH) or {})
    feed.absorb([running(2, "b", 0)])
    assert (cursor.patch(EPOCH) or {})["counts"] == {"running": 2}


def test_new_tasks_get_the_next_numbers():
    """Numbers never change, so rows can be told by them."""
    feed = filled(task(1, "a"), task(2, "b"))
    cursor, browser = feed.open(), Browser()
    browser.take(cursor.reset(EPOCH))
    feed.absorb([task(3, "c"), running(1, "a", 1)])
    assert browser.drain(cursor) == 1
    assert browser.sees(feed)
    assert task(3, "c").task_id in feed
    assert "nothing" not in feed


def test_each_view_is_told_on_its_own():
    """A view that was just reset does not take news from another."""
    feed = filled(task(1, "a"))
    first, second = feed.open(), feed.open()
    first.reset(EPOCH)
    feed.absorb([running(1, "a", 1)])
    second.reset(EPOCH)
    assert first.patch(EPOCH) is not None
    assert second.patch(EPOCH) is None
    feed.close(first)
    feed.absorb([ended(1, "a", S.SUCCEEDED, 0)])
    assert not first.dirty
    assert second.dirty


def test_a_large_table_comes_in_pages_active_rows_first():
    """No message is much larger than the limit, and what runs is told at once."""
    tasks = [ended(n, f"part {n}", S.SUCCEEDED, n) for n in range(5000)]
    tasks[4321] = running(4321, "the one that runs", 3)
    feed, browser = filled(*tasks), Browser()
    cursor = feed.open()
    first = cursor.reset(EPOCH)
    sizes = [len(json.dumps(first))]
    browser.take(first)
    assert browser.rows[4321]["name"] == "the one that runs"
    assert browser.behind > 4000
    while (message := cursor.patch(EPOCH)) is not None:
        sizes.append(len(json.dumps(message)))
        browser.take(message)
    assert max(sizes) < 2 * MESSAGE_BYTES
    assert browser.behind == 0
    assert browser.sees(feed)


def test_a_change_goes_before_the_pages():
    """The panel stays live while a large table is still coming; a row not yet told is told whole."""
    feed, browser = filled(*[task(n, f"part {n}") for n in range(5000)]), Browser()
    cursor = feed.open()
    browser.take(cursor.reset(EPOCH))
    untold = feed.in_display_order()[-1]
    assert untold not in browser.rows
    feed.absorb([running(untold, f"part {untold}", 1)])
    message = cursor.patch(EPOCH)
    assert message is not None
    browser.take(message)
    assert browser.rows[untold]["attempt"] == 1
    assert browser.rows[untold]["name"] == f"part {untold}"


def test_a_reset_after_a_gap_says_everything_again():
    """Also what had been marked as sent."""
    feed, browser = filled(*one_of_each()), Browser()
    cursor = feed.open()
    cursor.reset(EPOCH)
    feed.absorb([running(1, "a", 1)])
    cursor.patch(EPOCH)  # lost on its way
    feed.absorb([running(2, "b", 1)])
    browser.take(cursor.reset(EPOCH))
    assert browser.sees(feed)
    assert cursor.patch(EPOCH) is None


def test_whatever_happens_the_view_ends_up_knowing_the_truth():
    """Random changes, resets and pages, replayed from a seed."""
    chance = random.Random(7)
    feed, browser = Feed("etl", EPOCH), Browser()
    cursor = feed.open()
    browser.take(cursor.reset(EPOCH))
    statuses = [S.QUEUED, S.RUNNING, S.FAILED, S.SUCCEEDED, S.RETRY_WAIT, S.LOST]
    for _ in range(400):
        for number in chance.sample(range(800), 20):
            status = chance.choice(statuses)
            feed.absorb([task(number, f"n{number}", status, progress=Progress(chance.randrange(5)))])
        event = chance.random()
        if event < 0.5:
            message = cursor.patch(EPOCH)
            if message:
                browser.take(message)
        elif event < 0.55:
            browser.take(cursor.reset(EPOCH))
    browser.drain(cursor)
    assert browser.sees(feed)
    assert browser.counts == feed.counts()


def test_the_saved_table_is_small():
    """200 rows at most, the active ones among them, and the counts of all."""
    feed = filled(*[ended(n, f"part {n}", S.SUCCEEDED, n) for n in range(5000)], running(5000, "runs", 1))
    saved = feed.saved_table(EPOCH + 1000)
    rows = [number for block in saved["blocks"] for number in block["rows"]]
    assert len(rows) == 200
    assert 5000 in rows
    assert saved["counts"] == {"running": 1, "succeeded": 5000}
    assert saved["behind"] == 4801
    assert saved["saved_at"] == EPOCH + 1000
    assert len(json.dumps(saved)) < 40_000
