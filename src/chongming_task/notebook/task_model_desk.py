"""Brings news of tasks to their models: in time, and never more of it than a notebook's connection bears.

The engine's thread only notes who has changed. A thread of the desk's own, which lives while there is something to
tell, keeps the beat: every eighth of a second it has the pump's thread, the only one that may touch widgets, show some
models how their tasks stand. Of several changes of a task the last one counts; those that have ended go first.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol
from weakref import ReferenceType, WeakKeyDictionary, ref

from chongming_task.core.records import TaskSnapshot
from chongming_task.notebook.pump import PUMP, TaskSource

__all__ = ["DESK", "Desk", "Model"]

BEAT = 0.125  # seconds between two rounds
MODELS_A_ROUND = 25  # 200 a second: with a few linked widgets each, below what Jupyter's server lets through
TICK = 1.0  # seconds between two looks at a clock that runs
PATIENCE = 5.0  # seconds to wait for the pump


class Model(Protocol):
    """Shows one task."""

    task_id: str

    def show(self, task: TaskSnapshot) -> None:
        """How the task stands; called by the pump's thread. Must not raise."""


class _Line:
    """The models of one controller. It lives as long as the controller, whose tap holds it."""

    __slots__ = ("__weakref__", "models", "unheard", "untap")

    def __init__(self) -> None:
        self.models: dict[str, list[Model]] = {}  # by task
        self.unheard: set[Model] = set()  # nothing has come for them yet
        self.untap: Callable[[], None] = lambda: None


class Desk:
    """Knows all models of the process. Nothing it keeps leads to a controller, so that one can be forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards everything below
        self._lines: WeakKeyDictionary[TaskSource, ReferenceType[_Line]] = WeakKeyDictionary()
        self._news: OrderedDict[Model, TaskSnapshot] = OrderedDict()
        # Whose clock runs: as last shown and when, longest ago first.
        self._moving: OrderedDict[Model, tuple[TaskSnapshot, float]] = OrderedDict()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, controller: TaskSource, model: Model, look: Callable[[], TaskSnapshot]) -> Callable[[], None]:
        """Begins to bring a model news of its task.

        Args:
            controller: Who has the task.
            model: Who is told.
            look: The task as it stands; asked once, so that nothing is missed between two looks.

        Returns:
            The function that ends it.
        """
        with self._lock:
            known = self._lines.get(controller)
            line = None if known is None else known()
            new = line is None
            if line is None:
                line = _Line()
                self._lines[controller] = ref(line)
            line.models.setdefault(model.task_id, []).append(model)
            line.unheard.add(model)
            if new:  # within the lock: who comes next relies on it
                line.untap = controller.tap(lambda tasks: self._hear(line, tasks))
        seen = look()
        with self._lock:
            if model in line.unheard:  # else what came meanwhile is newer
                self._note(line, model, seen)
        # Held weakly, for the model keeps what is returned, and the line keeps the model.
        held, whose = ref(line), ref(controller)
        return lambda: self._remove(held(), whose(), model)

    def _remove(self, line: _Line | None, controller: TaskSource | None, model: Model) -> None:
        with self._lock:
            self._news.pop(model, None)
            self._moving.pop(model, None)
            if line is None or model not in line.models.get(model.task_id, ()):
                return
            line.models[model.task_id].remove(model)
            line.unheard.discard(model)
            if not line.models[model.task_id]:
                del line.models[model.task_id]
            last = not line.models
            if last and controller is not None:
                self._lines.pop(controller, None)
        if last:
            line.untap()
        self._wake.set()

    def _hear(self, line: _Line, tasks: Iterable[TaskSnapshot]) -> None:
        """Notes who has changed. On the engine's thread: quick."""
        with self._lock:
            for task in tasks:
                for model in line.models.get(task.task_id, ()):
                    self._note(line, model, task)

    def _note(self, line: _Line, model: Model, task: TaskSnapshot) -> None:
        """Has a model told; the lock is held."""
        line.unheard.discard(model)
        self._news[model] = task
        if task.is_terminal:
            self._news.move_to_end(model, last=False)
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="chongming-models", daemon=True)
            self._thread.start()
        self._wake.set()

    # ---- the desk's thread

    def _serve(self) -> None:
        let_go = PUMP.hold()
        try:
            while (rest := self._rest()) is not None:
                self._wake.wait(rest)
                self._wake.clear()
                shown = threading.Event()
                PUMP.post(lambda shown=shown: self._show(shown))  # type: ignore[misc]  # mypy sees no default here
                shown.wait(PATIENCE)
                time.sleep(BEAT)
        finally:
            let_go()

    def _rest(self) -> float | None:
        """How long nothing is due; None when nothing will be, and the thread ends."""
        with self._lock:
            if self._news:
                return 0.0
            if self._moving:
                _, shown_at = next(iter(self._moving.values()))
                return max(shown_at + TICK - time.monotonic(), 0.0)
            self._thread = None
            return None

    # ---- the pump's thread

    def _show(self, shown: threading.Event) -> None:
        try:
            for model, task in self._take():
                model.show(task)
        finally:
            shown.set()

    def _take(self) -> Sequence[tuple[Model, TaskSnapshot]]:
        """Whose turn it is: those with news, then those whose clock was shown longest ago."""
        now = time.monotonic()
        with self._lock:
            taken = [self._news.popitem(last=False) for _ in range(min(MODELS_A_ROUND, len(self._news)))]
            for model, _ in taken:
                self._moving.pop(model, None)
            while len(taken) < MODELS_A_ROUND and self._moving:
                model, (task, shown_at) = next(iter(self._moving.items()))
                if shown_at + TICK > now:
                    break
                del self._moving[model]
                taken.append((model, task))
            self._moving.update((model, (task, now)) for model, task in taken if _clock_runs(task))
            return taken


def _clock_runs(task: TaskSnapshot) -> bool:
    return task.started_at is not None and task.ended_at is None and not task.is_at_rest


DESK = Desk()
"""The desk of this process. It has no thread while there is nothing to tell."""
