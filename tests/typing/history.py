"""Filters are checked: their names and their types."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd

from chongming_task import Controller, History, MemoryTaskStore, TaskStatus
from chongming_task.history import plot_durations

with Controller() as controller, History.open("runs.db") as elsewhere:
    now = datetime.now(UTC)
    frame: pd.DataFrame = controller.history.tasks(status=["failed", TaskStatus.LOST], tag="io", limit=10)
    elsewhere.attempts(since=now - timedelta(hours=1), until=now, bucket=[1, 2], task_id="t1")
    elsewhere.durations(by=["pipeline", "node"], pipeline="nightly")
    elsewhere.at(now, name="load").sort_values("changed_at")
    elsewhere.runs(status="failed", limit=3)
    elsewhere.tasks(nmae="load")  # type: ignore[call-arg]
    elsewhere.output(limit="ten")  # type: ignore[arg-type]
    plot_durations(frame, by="node").set_title("nodes")
    controller.submit(len, "abc").frame()

History(MemoryTaskStore()).transitions()
