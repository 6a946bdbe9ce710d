"""``reconcile``: the truth about records whose process is gone."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from chongming_task.cli.commands.run import controller_on
from chongming_task.cli.console import Console
from chongming_task.cli.database import reading, writing
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.following import code_of, follow
from chongming_task.cli.interrupts import Interrupts
from chongming_task.cli.modules import tasks_in
from chongming_task.cli.render.documents import task_document
from chongming_task.cli.render.table import Column, table
from chongming_task.core.query import TaskQuery
from chongming_task.core.states import OPEN
from chongming_task.errors import ConfigurationError

if TYPE_CHECKING:
    from chongming_task.api.recovery import OnOrphan, ReconcileReport
    from chongming_task.core.ports import TaskStore
    from chongming_task.core.records import TaskSnapshot

__all__ = ["reconcile"]

_COLUMNS = (Column("BECOMES"), Column("ID"), Column("NAME", widest=40), Column("WAS WATCHED BY", widest=80))


def reconcile(options: Namespace, console: Console) -> int:
    """Say what has become of orphans, and run here what can be run."""
    if options.requeue and options.tasks is None:
        raise ConfigurationError("--requeue runs tasks here: name the module that holds them, --tasks MODULE")
    tasks = {} if options.tasks is None else tasks_in(options.tasks)
    opened = reading if options.dry_run else writing
    ended: list[TaskSnapshot] = []
    with (
        opened(options, console) as store,
        Interrupts() as interrupts,
        controller_on(store, capture=bool(tasks), echo=False) as controller,
    ):
        controller.register_all(*tasks.values())
        before = {task.task_id: task for task in store.query(TaskQuery(status=OPEN))}  # by whom they were watched
        on_orphan: OnOrphan = "requeue" if options.requeue else "mark"
        report = controller.reconcile(on_orphan=on_orphan, dry_run=options.dry_run)
        if not console.json:
            _show(report, before, store, options, console)
        if not options.dry_run and (running := [*report.requeued, *report.adopted]):
            ended = follow(controller, running, console, interrupts=interrupts, grace_seconds=options.grace)
    if console.json:
        fates = {name: list(ids) for name, ids in report._asdict().items()}
        ran = [task_document(task, None) for task in ended]
        console.document({"dry_run": options.dry_run, **fates, "ran": ran})
    return max((code_of(task, interrupted=interrupts.count > 0) for task in ended), default=ExitCode.DONE)


def _show(
    report: ReconcileReport, before: dict[str, TaskSnapshot], store: TaskStore, options: Namespace, console: Console
) -> None:
    fates = {task_id: name for name, ids in report._asdict().items() for task_id in ids if name != "untouched"}
    rows = []
    for task_id, fate in fates.items():
        task = before.get(task_id) or store.get(task_id)
        rows.append([fate, task_id[-8:], "" if task is None else task.name, (task and task.owner) or ""])
    if rows:
        console.lines(table(_COLUMNS, rows, console.room))
    would = "would be " if options.dry_run else ""
    counts = ", ".join(f"{len(ids)} {name}" for name, ids in report._asdict().items() if name != "untouched" and ids)
    console.lines([f"{would}{counts or 'nothing to do'}; {len(report.untouched)} watched and left alone"])
    if any((task := before.get(task_id)) is not None and task.inputs is not None for task_id in report.cancelled):
        console.note("what was restartable among the cancelled can run here, with --tasks MODULE, or by retry")
