"""Takes what workers have written into their records' output: numbered, bounded, a few times a second. The engine's."""

from __future__ import annotations

import logging

from chongming_task.core.ports import OutputWritten
from chongming_task.core.records import OutputLine
from chongming_task.runtime.live import LiveTask
from chongming_task.runtime.task_log import fields_of

__all__ = ["collect"]

_LOOK_SECONDS = 0.25  # how soon after one look the next one comes, while the task writes
_LINES_PER_SECOND = 5_000  # more are not taken of one task: what finds no room until then is left out, and counted

_logger = logging.getLogger("chongming_task.engine")


def collect(live: LiveTask, news: OutputWritten | None = None) -> tuple[list[OutputLine], float | None]:
    """What the workers of a record have written since the last look.

    Args:
        live: The record; its lines are counted on.
        news: The report that brings the look about; None for a look at all workers that wrote lately.

    Returns:
        The lines, and in how many seconds to look again; None when that is not needed.
    """
    if news is not None:
        if news.source not in live.writers:
            live.writers[news.source] = news.attempt
        sources = [news.source]
    else:
        sources = list(live.writers)
    found: list[OutputLine] = []
    for source in sources:
        try:
            batch = source.take()
        except Exception:  # an executor's fault is not the record's: what it holds stays where it is
            _logger.exception(
                "the engine could not read the output of %s", live.draft.task_id, extra=fields_of(live.draft)
            )
            batch = None
        if batch is not None:
            task_id, attempt = live.draft.task_id, live.writers[source]
            for stream, text, at, level, skipped in batch.lines:
                live.output_seq += skipped + 1
                found.append(OutputLine(task_id, attempt, live.output_seq, stream, text, at, level))
        if batch is None or batch.final:
            del live.writers[source]
    return found, max(_LOOK_SECONDS, len(found) / _LINES_PER_SECOND) if live.writers else None
