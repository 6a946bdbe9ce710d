"""``run``: a task in this process, until its end."""

from __future__ import annotations

import getpass
import logging
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from chongming_task.api.controller import Controller
from chongming_task.cli.console import Console
from chongming_task.cli.database import making
from chongming_task.cli.following import code_of, follow
from chongming_task.cli.interrupts import Interrupts
from chongming_task.cli.modules import task_of
from chongming_task.cli.render.documents import task_document
from chongming_task.cli.render.text import one_line
from chongming_task.core.policies import BucketPolicy

if TYPE_CHECKING:
    from chongming_task.api.task import TaskFunction
    from chongming_task.core.ports import TaskStore

__all__ = ["actor", "controller_on", "run"]

_CLOSE_SECONDS = 2.0  # what still runs has been given its time


def run(options: Namespace, console: Console) -> int:
    """Submit a task and show it."""
    task = _as_asked(task_of(options.tasks, options.name), options)
    buckets = None if options.num_buckets is None else BucketPolicy(options.num_buckets)
    with (
        making(options, console) as store,
        controller_on(store, executor=options.executor, bucket_policy=buckets, echo=False) as controller,
        Interrupts() as interrupts,
    ):
        handle = controller.submit(
            task,
            args=tuple(options.args),
            kwargs=options.kwargs,
            name=options.called,
            tags=options.tag or None,
            bucket_key=options.bucket_key,
        )
        controller.transitions(handle.id)  # waits until it is stored: others can find it by what is told here
        console.note(f"{one_line(handle.name)}: started as {handle.id}")
        (ended,) = follow(controller, [handle.id], console, interrupts=interrupts, grace_seconds=options.grace)
    if console.json:
        console.document({"task": task_document(ended, None)})
    return code_of(ended, interrupted=interrupts.count > 0)


def _as_asked(task: TaskFunction[..., object], options: Namespace) -> TaskFunction[..., object]:
    """The task with the limits that were asked for; what else its policies say stays."""
    policy = task.spec.policy
    retry = policy.retry if options.retry is None else replace(policy.retry, max_attempts=options.retry)
    timeout = policy.timeout if options.timeout is None else replace(policy.timeout, per_attempt=options.timeout)
    return task.with_options(retry=retry, timeout=timeout)


@contextmanager
def controller_on(store: TaskStore, **options: Any) -> Iterator[Controller]:
    """A controller for the time of one command. It says itself what becomes of its tasks, so their log is quiet."""
    log, quiet = logging.getLogger("chongming_task.task"), logging.NullHandler()
    log.addHandler(quiet)
    try:
        controller = Controller(store, **options)
        try:
            yield controller
        finally:
            controller.close(timeout=_CLOSE_SECONDS, close_store=False)
    finally:
        log.removeHandler(quiet)


def actor() -> str:
    """Who asks, for the audit trail."""
    try:
        return f"cli:{getpass.getuser()}"
    except (OSError, KeyError, ImportError):  # a user without a name
        return "cli"
