"""Tables for front ends without widgets: `notebook/static_table.py`."""

from __future__ import annotations

from datetime import datetime
from html.parser import HTMLParser

import pytest

from chongming_task.core.states import TaskStatus
from chongming_task.notebook.rows import make_row
from chongming_task.notebook.static_table import html_table, summary_line, text_table
from tests.notebook.sample_tasks import NOW, ended, one_of_each, running, task

SHOWN = datetime(2026, 11, 30, 12, 3)
EPOCH = round(NOW.timestamp() * 1000)
ROWS = [make_row(each, EPOCH) for each in one_of_each()]
COUNTS = {"running": 4, "failed": 2, "succeeded": 21}


def test_the_summary_counts_in_the_order_of_the_statuses():
    """Empty ones are left out."""
    assert summary_line("etl", {"failed": 3, "running": 1200}) == "etl: 1,203 tasks, 1,200 running, 3 failed"
    assert summary_line("", {"queued": 1}) == "Tasks: 1 task, 1 queued"


def test_no_tasks_is_not_told_as_a_count():
    """A panel is mostly shown before the first task is submitted; "0 tasks" would read as a fact of today."""
    assert summary_line("quickstart", {}) == "quickstart: no tasks yet"


def test_both_tables_say_when_they_were_true_and_where_to_see_more():
    """They stay in the file as they were when they were shown."""
    shown = datetime(2026, 11, 30, 12, 3, 59)
    note = "as of 2026-11-30 12:03 (when this was shown); open the notebook with its kernel for the live view"
    for counts, rows in (({}, []), (COUNTS, ROWS)):
        assert text_table("etl", counts, rows, 0, shown).splitlines()[1] == note
        assert f"<p>{note}</p>" in html_table("etl", counts, rows, 0, shown)
        assert "0 tasks" not in text_table("etl", counts, rows, 0, shown)


def test_the_text_table_is_aligned():
    """One line a task, under its heading."""
    rows = [make_row(running(1, "a", 62), EPOCH), make_row(ended(2, "longer name", TaskStatus.FAILED, 3600), EPOCH)]
    assert text_table("etl", {"running": 1, "failed": 1}, rows, 0, SHOWN).splitlines() == [
        "etl: 2 tasks, 1 running, 1 failed",
        "as of 2026-11-30 12:03 (when this was shown); open the notebook with its kernel for the live view",
        "status     name         progress  try  time",
        "● running  a                      1/3  1:02",
        "✕ failed   longer name            1/1  5.0 s",
    ]


@pytest.mark.parametrize(
    ("milliseconds", "told"),
    [(4, "<0.1 s"), (420, "0.4 s"), (9_999, "9.9 s"), (10_000, "0:10"), (3_723_000, "1:02:03")],
)
def test_a_short_time_is_told_to_the_tenth(milliseconds, told):
    """As the panel does."""
    row = ROWS[9]._replace(started=0, ended=milliseconds)
    assert text_table("etl", COUNTS, [row], 0, SHOWN).splitlines()[3].endswith(told)


def test_an_earlier_worker_that_still_runs_is_told_whatever_the_status():
    """A lost task is that worker itself."""
    (lost,) = [row for row in ROWS if row.name == "parse idle/"]
    again = ROWS[7]._replace(abandoned=True)
    lines = text_table("etl", COUNTS, [lost, again], 0, SHOWN).splitlines()[3:5]
    assert "  still running in the background" in lines[0]
    assert "  an earlier worker still runs in the background" in lines[1]


def test_a_stopped_task_says_how_far_it_came():
    """The reason mostly repeats the status, and stands only where nothing else is known."""
    (stopped,) = [row for row in ROWS if row.name == "parse old/"]
    came = stopped._replace(done=7, total=1914, unit="files")
    lines = text_table("etl", COUNTS, [stopped, came], 0, SHOWN).splitlines()[3:5]
    assert ["stopped by ana" in lines[0], "7/1,914 files" in lines[1], "stopped by ana" in lines[1]] == [
        True,
        True,
        False,
    ]


def test_a_paused_clock_stands_at_the_last_report():
    """Nobody noted when the pause began; without a report no time is claimed."""
    (held,) = [row for row in ROWS if row.name == "held at a checkpoint"]
    lines = text_table("etl", COUNTS, [held, held._replace(progress_at=None)], 0, SHOWN).splitlines()[3:5]
    assert [line.split()[-1] for line in lines] == ["0:40", "1/3"]


def test_what_is_asked_for_is_told():
    """A pause that has not come true is not shown as one."""
    (row,) = [row for row in ROWS if row.name == "parse http/"]
    assert "pausing (asked: pause)" in text_table("etl", COUNTS, [row], 0, SHOWN)


def test_markup_in_texts_stays_text():
    """Names, tags and failures are escaped; no tag but the table's own appears."""

    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.seen: set[str] = set()

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.seen.add(tag)
            assert not attrs

    tags = Tags()
    tags.feed(html_table("<script>x</script>", COUNTS, ROWS, 0, SHOWN))
    assert tags.seen == {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}


def test_control_characters_reach_no_terminal():
    """Neither escapes nor line breaks."""
    row = make_row(task(1, "a\x1b[31m\nb\r\x00c"), EPOCH)
    line = text_table("etl", {"queued": 1}, [row], 0, SHOWN).splitlines()[3]
    assert line == "○ queued  a [31m b  c"


def test_a_long_table_is_cut_and_says_so():
    """The saved notebook stays small."""
    rows = [make_row(task(n, f"n{n}"), EPOCH) for n in range(500)]
    assert text_table("etl", {"queued": 500}, rows, 0, SHOWN).splitlines()[-1] == "… and 440 more"
    assert html_table("etl", {"queued": 500}, rows, 0, SHOWN).count("<tr>") == 61
