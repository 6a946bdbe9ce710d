"""What :meth:`Controller.attach` gives: shows and steers the tasks of controllers in other processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from chongming_task.api.attach_asking import Asking, Unanswered
from chongming_task.api.attach_standing import UNSURE
from chongming_task.api.attach_telling import Following, Telling
from chongming_task.api.naming import id_of, name_hint
from chongming_task.api.reading import Reading
from chongming_task.api.showing import Showing
from chongming_task.api.task import checked_name
from chongming_task.api.verbs import Verbs
from chongming_task.core.ports import Clock, TaskStore
from chongming_task.core.query import TaskQuery
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus
from chongming_task.core.triggers import Asked, Forced
from chongming_task.errors import ControllerClosed, StoreError, TaskError, UnknownTask
from chongming_task.runtime.clock import SystemClock
from chongming_task.runtime.engine import Answer
from chongming_task.runtime.hosting import Notice, block
from chongming_task.stores.open import open_existing

if TYPE_CHECKING:
    from chongming_task.api.handle import TaskHandle
    from chongming_task.history import History
    from chongming_task.notebook.pipeline_view import PipelineView

__all__ = ["Attached"]

S = TaskStatus
_SERVER = ("postgresql://", "postgres://")


class StoreLink:
    """The way to records that others own.

    Args:
        store: Where they are.
        telling: Knows how they stand.
    """

    def __init__(self, store: TaskStore, telling: Telling) -> None:
        self.closed = False
        self.telling = telling
        self._store = store
        self._process = os.getpid()

    @property
    def store(self) -> TaskStore:
        """Where the records are.

        Raises:
            ControllerClosed: See :meth:`sync`.
        """
        self.sync()
        return self._store

    def snapshot(self, task_id: str) -> TaskSnapshot:
        """The record as it stands.

        Raises:
            UnknownTask: When there is none.
        """
        found = self.store.get(task_id)
        if found is None:
            raise UnknownTask(f"no task {task_id!r:.100} in this store{name_hint(task_id)}")
        return self.telling.shown([found])[0]

    def sync(self) -> None:
        """Nothing of ours is on its way to the store.

        Raises:
            ControllerClosed: After ``close``, and in a forked child, whose parent uses the same connections.
        """
        if self._process != os.getpid():
            raise ControllerClosed("this belongs to the process that this one was forked from; attach anew")
        if self.closed:
            raise ControllerClosed("this is closed; attach anew")


class Attached(Verbs, Reading, Showing):
    """The tasks of other processes, as far as their store tells of them; made by :meth:`Controller.attach`.

    It has the questions and the verbs of a controller, and runs and owns nothing. A verb goes to the controller that
    watches the record, and its answer is waited for: it returns True when it is confirmed, raises what the other
    refuses it with, and returns False when a living controller has not answered in ten seconds. Where no controller
    lives that could do it, it raises NotWatched.

    A record whose controller is gone is shown as what it is: lost, if it held a worker, although the store says
    otherwise until somebody reconciles; and one that has not begun says that nobody will start it.

    As the last line of a cell it shows its panel. Close it, or use it in a ``with`` statement.

    Args:
        store: Where the tasks are.
        name: What its panel is headed with.
        ours: Whether the store is closed with it.
        clock: Time.

    Example:
        >>> import tempfile
        >>> from chongming_task import Controller
        >>> with tempfile.TemporaryDirectory() as folder, Controller(f"{folder}/runs.db") as controller:
        ...     handle = controller.submit(pow, 2, 10)
        ...     _ = handle.wait(timeout=10)
        ...     with Controller.attach(f"{folder}/runs.db") as operator:
        ...         print(operator.get(handle.id).status, operator.can(handle.id, "reset"))
        succeeded (True, None)
    """

    _link: StoreLink

    def __init__(self, store: TaskStore, *, name: str, ours: bool, clock: Clock | None = None) -> None:
        self.name: str | None = checked_name(name)
        self._clock: Clock = SystemClock() if clock is None else clock
        self._store = store
        self._ours = ours
        self._telling = Telling(store, self._clock)
        self._asking = Asking(store, self._clock)
        self._link = StoreLink(store, self._telling)

    @classmethod
    def to(cls, where: str | os.PathLike[str] | TaskStore, *, name: str | None = None, read_only: bool = False) -> Self:
        """See :meth:`Controller.attach`."""
        if name is not None:
            checked_name(name)
        store = open_existing(where, read_only=read_only)
        return cls(store, name=_name_of(where) if name is None else name, ours=store is not where)

    # questions

    def _found(self, query: TaskQuery) -> list[TaskSnapshot]:
        wanted = query.status
        if wanted is None or not wanted & (UNSURE | {S.LOST}):
            return self._telling.shown(self._link.store.query(query))
        stored = wanted | UNSURE if S.LOST in wanted else wanted  # what is lost may be stored as running
        found = self._telling.shown(self._link.store.query(replace(query, status=stored, limit=None)))
        matching = [task for task in found if task.status in wanted]
        return matching if query.limit is None else matching[max(len(matching) - query.limit, 0) :]

    def _counted(self, pipeline_run_id: str | None) -> dict[TaskStatus, int]:
        counts = dict.fromkeys(S, 0) | self._link.store.counts(pipeline_run_id)
        stored = self._link.store.query(TaskQuery(status=UNSURE, pipeline_run_id=pipeline_run_id))
        for before, now in zip(stored, self._telling.shown(stored), strict=True):
            counts[before.status] -= 1
            counts[now.status] += 1
        return counts

    def waiting_for(self, task_id: str | TaskHandle[Any]) -> list[str]:
        """Nothing: which limits a queued record waits for is known to its own controller only.

        Args:
            task_id: The record: its id or its handle.
        """
        id_of(task_id)
        return []

    def tap(self, callback: Callable[[Sequence[TaskSnapshot]], None]) -> Callable[[], None]:
        """For views: called on a thread of its own with every batch of changed records; must be quick and not raise.

        A store that is away is waited for; once it is back, every record is told. How one stands that had begun before
        is followed once it was listed.

        Args:
            callback: Takes the records as they stand now.

        Returns:
            The function that ends it.
        """
        self._link.sync()
        return self._telling.tap(callback)

    @property
    def health(self) -> Following:
        """Whether the store is followed; never waits for it. As text: one sentence."""
        return self._telling.health

    @property
    def history(self) -> History:
        """Everything the store remembers as pandas DataFrames; see ``docs/history.md``.

        Raises:
            ConfigurationError: When the ``notebook`` extra is not installed.
        """
        from chongming_task.history import History

        return History(self._link.store)

    # verbs

    def _do(self, task_id: str, trigger: Asked | Forced) -> bool:
        answers: list[Answer] = []
        notice = Notice()  # it may be seconds

        def done(found: list[Answer]) -> None:
            answers.extend(found)
            notice.set()

        self._link.sync()
        self._asking.post([task_id], trigger, done)
        block(notice, None)
        error = answers[0].error
        if isinstance(error, Unanswered):
            return False
        if error is not None:
            raise error
        return True

    def _post(self, task_ids: Sequence[str], asked: Asked, done: Callable[[list[Answer]], None]) -> None:
        self._link.sync()
        self._asking.post(task_ids, asked, done)

    def _snapshot(self, task_id: str) -> TaskSnapshot:
        return self._link.snapshot(task_id)

    def _refusal(self, task_id: str, asked: Asked) -> TaskError | None:
        answer = self._asking.answer_at_once(task_id, asked)
        return None if answer is None else answer.error

    def _wait_for(self, task_id: str, satisfied: Callable[[TaskSnapshot], bool], timeout: float) -> None:
        until = time.monotonic() + timeout
        mark = self._link.store.wait_for_change(0)
        while not satisfied(self._snapshot(task_id)) and (left := until - time.monotonic()) > 0:
            mark = self._link.store.wait_for_change(min(left, 1.0), mark)  # a death is no change

    # notebook

    def _check_showable(self) -> None:
        self._link.sync()

    def run_view(self, run_id: str, *, language: str | None = None) -> PipelineView:
        """The live graph of a pipeline run that another process leads, for a notebook; it is steered node by node.

        Args:
            run_id: The ``pipeline_run_id`` of its tasks.
            language: ``"en"`` or ``"zh"``; default: as the browser prefers.

        Raises:
            UnknownTask: When no task belongs to such a run.
            ConfigurationError: When the ``notebook`` extra is not installed, or for another language.
        """
        from chongming_task.notebook.pipeline_view import pipeline_view

        self._link.sync()
        return pipeline_view(self, run_id, language=language)

    # the end

    def close(self) -> None:
        """Let go of the store and of the threads; the tasks go on. Panels keep what they show. Idempotent."""
        self._link.closed = True
        joins = self._telling.stop(), self._asking.stop()
        if self._ours:
            self._store.close()  # this ends every wait for a change
        for join in joins:
            join()

    def __enter__(self) -> Self:
        """Enter the block.

        Raises:
            ControllerClosed: After :meth:`close`, also by an earlier block.
        """
        self._link.sync()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Attached to {self.name}: {self._states()}>"

    def _states(self) -> str:
        if self._link.closed:
            return "closed"
        try:
            counts = self._counted(None)
        except (StoreError, ControllerClosed):  # out of reach, or a parent's: a repr never raises
            return "its store cannot be read"
        return ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "no tasks"


def _name_of(where: str | os.PathLike[str] | TaskStore) -> str:
    """What a store is called where nobody says otherwise; nothing that could hold a password."""
    if isinstance(where, str) and where.startswith(_SERVER):
        from chongming_task.stores.postgres_dsn import Dsn

        return Dsn(where).database
    if isinstance(where, str | os.PathLike):
        return os.path.basename(os.fspath(where))  # noqa: PTH119 - pathlib takes milliseconds to load
    return "attached"
