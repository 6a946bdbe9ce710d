"""What becomes of a verb, before it is asked and after. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from typing import NamedTuple

from chongming_task.cli.exit_codes import ExitCode
from chongming_task.core.records import Command, TaskSnapshot
from chongming_task.core.states import Outcome, TaskStatus, Verb, rule_for
from chongming_task.core.verbs import refusal
from chongming_task.errors import TaskError

__all__ = ["Answer", "Way", "answer_of", "late_answer", "reached", "refused", "way_of"]

S = TaskStatus
_RERUNS = frozenset({Verb.RETRY, Verb.RESUME})
_ENDS = frozenset({Verb.STOP, Verb.CANCEL})
_STATE = frozenset({"InvalidTransition", "AttemptsExhausted", "StillRunning", "NotRestartable", "ConfigurationError"})


class Way(Enum):
    """How a verb reaches its record."""

    SEND = "send"  # to the controller that watches it
    APPLY = "apply"  # nobody watches it: here
    RUN = "run"  # the same, and it runs here


class Answer(NamedTuple):
    """What has become of a verb."""

    code: ExitCode
    message: str
    status: S | None = None  # of the record, as far as it is known


def way_of(
    task: TaskSnapshot, verb: Verb, *, watched: bool, force: bool = False, tasks: Collection[str] | None = None
) -> Way | Answer:
    """How to ask, or why there is no need or no way to.

    Args:
        task: The record, as it is stored.
        verb: What is asked.
        watched: Whether its controller lives.
        force: As for ``Controller.retry``.
        tasks: The names of the tasks that can be run here; None when none were named.
    """
    no = refusal(task, verb, force=force)
    if no is not None:
        return refused(no, task)
    if watched:
        return Way.SEND
    if rule_for(task.status, task.live, verb).outcome is Outcome.NOOP and not task.holds_worker:
        return Answer(ExitCode.DONE, "nothing to do", task.status)
    if task.holds_worker or verb not in (*_RERUNS, Verb.PAUSE):
        return Way.APPLY  # one that held a worker becomes lost first, whatever is asked
    if verb is Verb.PAUSE:
        said = "nobody watches it, so nothing would hold it; chongming-task reconcile tells what it has become"
        return Answer(ExitCode.REFUSED, said, task.status)
    return _rerun(task, verb, tasks)


def refused(error: TaskError, task: TaskSnapshot) -> Answer:
    """What a refusal means to whoever asked.

    Args:
        error: What it was refused with.
        task: The record, as it is now.
    """
    return Answer(ExitCode.REFUSED, str(error).replace("force=True", "--force"), task.status)


def _rerun(task: TaskSnapshot, verb: Verb, tasks: Collection[str] | None) -> Way | Answer:
    if task.inputs is None:
        said = (
            "its process is gone, and it was not submitted as @task(restartable=True), so what to run is not known; "
            "submit it again"
        )
    elif tasks is None:
        said = f"its process is gone; to run it here: chongming-task {verb} {task.task_id[-8:]} --tasks MODULE"
    elif task.spec_name not in tasks:
        said = f"its process is gone, and its task {task.spec_name!r} is not in that module"
    else:
        return Way.RUN
    return Answer(ExitCode.REFUSED, said, task.status)


def answer_of(verb: Verb, command: Command, task: TaskSnapshot) -> Answer | None:
    """What has become of a command; None while that is open.

    Args:
        verb: What was asked.
        command: As it is stored.
        task: Its record, as it is stored.
    """
    if command.completed_at is None:
        return None
    outcome = command.outcome if isinstance(command.outcome, Mapping) else {}
    if outcome.get("ok"):
        return reached(verb, task)
    code = ExitCode.REFUSED if outcome.get("error") in _STATE else ExitCode.UNCONFIRMED
    return Answer(code, str(outcome.get("message", "refused")).replace("force=True", "--force"), task.status)


def reached(verb: Verb, task: TaskSnapshot) -> Answer | None:
    """Whether an accepted verb has come true; None while that is open."""
    status = task.status
    if verb in _ENDS and not task.is_terminal:
        return None
    if verb is Verb.PAUSE and status is S.PAUSING:
        return None
    if verb in _ENDS and status is S.LOST:
        return Answer(ExitCode.LOST, "lost: its thread has not obeyed, and may still run", status)
    if verb is Verb.PAUSE and task.is_terminal:
        return Answer(ExitCode.REFUSED, f"it came to its end first: {status}", status)
    if verb is Verb.PAUSE and status is not S.PAUSED:
        return Answer(ExitCode.UNCONFIRMED, f"it was not held, and is {status}", status)
    return Answer(ExitCode.DONE, status.value, status)


def late_answer(command: Command | None, task: TaskSnapshot, *, watched: bool) -> Answer:
    """What to say when the time is up."""
    if not watched and not task.is_terminal:
        said = "asked, but its process is gone; see chongming-task reconcile"
    elif command is not None and command.completed_at is None:
        said = "asked, and not answered yet"
    else:
        said = f"asked, and it is {task.status}; chongming-task status {task.task_id[-8:]} tells what has become of it"
    return Answer(ExitCode.UNCONFIRMED, said, task.status)
