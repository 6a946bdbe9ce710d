"""The verbs of a controller: applied by its engine, or sent to the controller that watches the record. Part of
:class:`~chongming_task.Controller`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chongming_task.api.elsewhere import Elsewhere
from chongming_task.api.link import EngineLink
from chongming_task.api.verbs import Verbs
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import Verb
from chongming_task.core.triggers import Asked, Forced
from chongming_task.errors import ConcurrencyConflict, NotRestartable, UnknownTask
from chongming_task.runtime.context import running_task_id
from chongming_task.runtime.engine import Answer

__all__ = ["Steering"]

_MAY_RUN = frozenset({Verb.START, Verb.RESUME, Verb.RETRY})


class Steering(Verbs):
    """The verbs. Each waits until its change is stored, and raises what the rules refuse it with.

    A record is meant by its id or by its handle. An unknown id raises UnknownTask, a closed controller
    ControllerClosed.

    Every verb returns whether it is confirmed. False says it was asked and no more; so it is with a record that another
    controller on the same store watches, whose answer :meth:`commands` shows. A record that nobody watches any more is
    taken over. To run one again its task must be restartable and registered here, else NotRestartable says so.
    """

    _link: EngineLink
    _elsewhere: Elsewhere

    def _do(self, task_id: str, trigger: Asked | Forced) -> bool:
        """Apply a verb here, whoever watched the record; False when it is on its way to who watches it."""
        may_run = isinstance(trigger, Forced) or trigger.verb in _MAY_RUN
        post = self._link.ask_and_run if may_run else self._link.ask
        try:
            post(task_id, trigger)
        except (UnknownTask, ConcurrencyConflict):  # of the latter somebody else has taken it over just now
            held = self._elsewhere.reach(task_id, trigger)
            if held is None:
                return False
            post(task_id, trigger)
        except NotRestartable:  # as things stood when it came here
            held = self._link.find(task_id)
            if held is None:
                raise
            self._elsewhere.equip(held)
            post(task_id, trigger)
        return True

    def _post(self, task_ids: Sequence[str], asked: Asked, done: Callable[[list[Answer]], None]) -> None:
        self._link.check_open()
        self._link.engine.ask(task_ids, asked, done)

    def _snapshot(self, task_id: str) -> TaskSnapshot:
        return self._link.snapshot(task_id)

    def _wait_for(self, task_id: str, satisfied: Callable[[TaskSnapshot], bool], timeout: float) -> None:
        if task_id == running_task_id():  # a task that stops itself must not wait for itself
            return
        live = self._link.find(task_id)
        if live is not None:
            self._link.wait_until(live, satisfied, timeout)
