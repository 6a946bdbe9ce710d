"""``prune``: drop old records."""

from __future__ import annotations

from argparse import Namespace

from chongming_task.cli.console import Console
from chongming_task.cli.database import writing
from chongming_task.cli.exit_codes import ExitCode

__all__ = ["prune"]


def prune(options: Namespace, console: Console) -> int:
    """Drop the oldest ended records but that many, with their history."""
    with writing(options, console) as store:
        gone = store.prune(options.keep)
    if console.json:
        console.document({"dropped": gone})
    else:
        console.lines([f"dropped {gone} ended {'task' if gone == 1 else 'tasks'} with their history"])
    return ExitCode.DONE
