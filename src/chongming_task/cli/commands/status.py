"""``status``: all about one task."""

from __future__ import annotations

from argparse import Namespace

from chongming_task.cli.console import Console
from chongming_task.cli.database import reading
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.lookup import find
from chongming_task.cli.render.documents import (
    attempt_document,
    command_document,
    task_document,
    transition_document,
)
from chongming_task.cli.render.tasks import status_page
from chongming_task.cli.watching import Watching

__all__ = ["status"]


def status(options: Namespace, console: Console) -> int:
    """Tell what is stored of a record."""
    with reading(options, console) as store:
        task = find(store, options.id)
        trail, attempts = store.transitions(task.task_id), store.attempts(task.task_id)
        commands, watching = store.commands(task.task_id), Watching(store)
    watched = watching.of(task)
    if console.json:
        console.document(
            {
                "task": {**task_document(task, watched), "arguments": task.inputs},
                "attempts": [attempt_document(each) for each in attempts],
                "transitions": [transition_document(each) for each in trail],
                "commands": [command_document(each) for each in commands],
            }
        )
    else:
        console.lines(
            status_page(
                task,
                attempts=attempts,
                trail=trail,
                commands=commands,
                watched=watched,
                now=watching.now,
                verbose=options.verbose,
                colour=console.colour,
                room=console.room,
            )
        )
    return ExitCode.DONE
