"""What the shell is told: one number for each way a command can end."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """The table of ``docs/cli.md``. Of several records the highest of their codes is told."""

    DONE = 0
    FAILED = 1  # a task failed; lint has findings
    USAGE = 2  # what was written cannot be meant
    NOT_FOUND = 3  # no such record, task, module or file
    REFUSED = 4  # the record's state does not allow it
    UNCONFIRMED = 5  # asked, and not known to have come true
    UNREACHABLE = 6  # the store cannot be opened or read, or is of another version
    LOST = 7  # nobody knows how the task ended
    ENDED_OTHERWISE = 8  # run: somebody stopped, cancelled or skipped it
    BUG = 70  # a fault of the command line itself
    INTERRUPTED = 130  # Ctrl-C
    READER_GONE = 141  # whoever read the output, such as head, went away
