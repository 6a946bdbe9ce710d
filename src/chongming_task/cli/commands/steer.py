"""``stop``, ``cancel``, ``pause``, ``resume``, ``retry``, ``skip``: verbs for records, wherever they are watched."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chongming_task.cli.asking import Answer, Way, answer_of, late_answer, reached, refused, way_of
from chongming_task.cli.commands.run import actor, controller_on
from chongming_task.cli.console import Console
from chongming_task.cli.database import writing
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.following import code_of, follow
from chongming_task.cli.interrupts import Interrupts
from chongming_task.cli.lookup import find
from chongming_task.cli.modules import Tasks, tasks_in
from chongming_task.cli.render.text import one_line
from chongming_task.cli.watching import Watching
from chongming_task.core.states import Verb
from chongming_task.errors import InvalidTransition, NotRestartable, UnknownTask

if TYPE_CHECKING:
    from chongming_task.api.controller import Controller
    from chongming_task.core.ports import TaskStore
    from chongming_task.core.records import Command, TaskSnapshot

__all__ = ["steer"]

_GRACE_SECONDS = 10.0  # for what runs here, after Ctrl-C
_Ask = Callable[["Controller", str, Namespace, dict[str, Any]], bool]
_ASK: Mapping[Verb, _Ask] = {
    Verb.STOP: lambda c, task_id, options, said: c.stop(
        task_id, graceful=not options.now, timeout=options.grace, wait=False, **said
    ),
    Verb.CANCEL: lambda c, task_id, options, said: c.cancel(task_id, timeout=options.grace, wait=False, **said),
    Verb.PAUSE: lambda c, task_id, options, said: c.pause(task_id, wait=False, **said),
    Verb.RESUME: lambda c, task_id, options, said: c.resume(task_id, **said),
    Verb.RETRY: lambda c, task_id, options, said: c.retry(task_id, force=options.force, **said),
    Verb.SKIP: lambda c, task_id, options, said: c.skip(task_id, **said),
}


def steer(options: Namespace, console: Console) -> int:
    """Ask a verb of records, and wait a moment for what becomes of it."""
    module = getattr(options, "tasks", None)
    tasks = None if module is None else tasks_in(module)
    with writing(options, console) as store:
        found = {task.task_id: task for task in (find(store, word) for word in options.ids)}
        with controller_on(store, capture=tasks is not None, echo=False) as controller:
            controller.register_all(*(tasks or {}).values())
            answers = _Asking(controller, store, tasks, options, console).ask(list(found.values()))
    results = [_result(options.verb, found[task_id], answer) for task_id, answer in answers.items()]
    if console.json:
        console.document({"results": results})
    else:
        console.lines(_line(found[task_id], answer, options.verb) for task_id, answer in answers.items())
    return max(answer.code for answer in answers.values())


class _Asking:
    """One verb for several records.

    Args:
        controller: Carries it out, or sends it on.
        store: Where they meet.
        tasks: What can be run here; None when nothing was named.
        options: Of the command line.
        console: Shows what runs here.
    """

    def __init__(
        self, controller: Controller, store: TaskStore, tasks: Tasks | None, options: Namespace, console: Console
    ) -> None:
        self._controller = controller
        self._store = store
        self._tasks = tasks
        self._options = options
        self._console = console
        self._verb = Verb(options.verb)
        self._said = {"reason": options.reason, "actor": actor()}
        self._answers: dict[str, Answer] = {}
        self._sent: dict[str, Command] = {}
        self._running: dict[str, int] = {}  # what runs here, and the newest line it had written before

    def ask(self, tasks: Sequence[TaskSnapshot]) -> dict[str, Answer]:
        """The answers, by the ids of the records."""
        watching = Watching(self._store)
        for task in tasks:
            self._ask_one(task, watched=watching.owner_lives(task))
        self._wait()
        if self._running:
            self._see_them_run()
        return {task.task_id: self._answers[task.task_id] for task in tasks}

    def _see_them_run(self) -> None:
        with Interrupts() as interrupts:
            ended = follow(
                self._controller,
                list(self._running),
                self._console,
                interrupts=interrupts,
                grace_seconds=_GRACE_SECONDS,
                after=max(self._running.values()),  # it counts for a single one only
            )
            for task in ended:
                code = code_of(task, interrupted=interrupts.count > 0)
                self._answers[task.task_id] = Answer(code, task.status.value, task.status)

    def _ask_one(self, task: TaskSnapshot, *, watched: bool) -> None:
        force = getattr(self._options, "force", False)
        way = way_of(task, self._verb, watched=watched, force=force, tasks=self._tasks)
        if isinstance(way, Answer):
            self._answers[task.task_id] = way
            return
        newest = self._store.output(task.task_id, limit=1) if way is Way.RUN else []
        before = {command.id for command in self._store.commands(task.task_id)}
        try:
            here = _ASK[self._verb](self._controller, task.task_id, self._options, self._said)
        except (InvalidTransition, NotRestartable) as no:
            now = self._controller.get(task.task_id)
            self._answers[task.task_id] = refused(no, now)
            return
        sent = [command for command in self._store.commands(task.task_id) if command.id not in before]
        mine = [command for command in sent if (command.verb, command.actor) == (self._verb, self._said["actor"])]
        if mine and not here:
            self._sent[task.task_id] = mine[-1]
        elif way is Way.RUN:
            self._running[task.task_id] = newest[-1].seq if newest else 0
        else:
            self._answers[task.task_id] = self._here(task.task_id)

    def _here(self, task_id: str) -> Answer:
        task = self._controller.get(task_id)
        return reached(self._verb, task) or late_answer(None, task, watched=True)

    def _wait(self) -> None:
        """Wait for the answers of those that were sent, as long as the caller is patient."""
        until = time.monotonic() + self._options.wait
        mark = self._store.wait_for_change(0)
        while True:
            for task_id in list(self._sent):
                self._look(task_id)
            left = until - time.monotonic()
            if not self._sent or left <= 0:
                break
            mark = self._store.wait_for_change(left, mark)
        watching = Watching(self._store)
        for task_id in self._sent:
            command, task = self._store.command(self._sent[task_id].id), self._controller.get(task_id)
            self._answers[task_id] = late_answer(command, task, watched=watching.owner_lives(task))

    def _look(self, task_id: str) -> None:
        command, task = self._store.command(self._sent[task_id].id), self._store.get(task_id)
        if command is None or task is None:
            raise UnknownTask(f"the task {task_id} was dropped meanwhile, by a prune")
        answer = answer_of(self._verb, command, task)
        if answer is not None:
            self._answers[task_id] = answer
            del self._sent[task_id]


def _result(verb: str, task: TaskSnapshot, answer: Answer) -> dict[str, Any]:
    return {
        "id": task.task_id,
        "name": task.name,
        "verb": verb,
        "confirmed": answer.code is ExitCode.DONE,
        "code": int(answer.code),
        "status": None if answer.status is None else answer.status.value,
        "message": answer.message,
    }


def _line(task: TaskSnapshot, answer: Answer, verb: str) -> str:
    return f"{verb} {one_line(task.name)} ({task.task_id[-8:]}): {one_line(answer.message)}"
