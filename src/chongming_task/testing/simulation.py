"""A simulated world that breaks the engine in every order it can think of, from a seed.

One thread plays everybody: callers with verbs, workers that begin, obey, ignore, fail and come late, a network that
delays and doubles their reports, a store that fails and recovers, clocks that jump, a controller that dies and one that
comes back as a zombie. Nothing sleeps, so a thousand steps take a second, and the same seed plays the same world.

    python -m chongming_task.testing.simulation --seed 17 --steps 400        replays one world and tells every step

What must hold is checked after every step: the audit of the store, the slots, the limits, and that nothing is told or
started before it is stored.
"""

from __future__ import annotations

import argparse
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from chongming_task.api.controller import Controller
from chongming_task.api.task import task
from chongming_task.core.commands import command_of
from chongming_task.core.policies import ConcurrencyPolicy, FixedBackoff, RetryPolicy, Timeout
from chongming_task.core.ports import AttemptRequest
from chongming_task.core.records import OwnerLease, TaskSnapshot
from chongming_task.core.states import TERMINAL, TaskStatus, Verb
from chongming_task.core.triggers import Asked, Forced
from chongming_task.runtime.driver import ManualDriver
from chongming_task.runtime.engine import Engine
from chongming_task.runtime.live import Work
from chongming_task.testing.audit import check_audit
from chongming_task.testing.clock import FakeClock
from chongming_task.testing.invariants import command_faults, rest_faults, slot_faults, word_faults
from chongming_task.testing.manual_executor import ManualExecution
from chongming_task.testing.shaky import ShakyStore, SlowNetworkExecutor, overheard

__all__ = ["Simulation", "SimulationError", "simulate"]

S = TaskStatus
_TAGS = ("db", "gpu")
_LIMITS = {"db": 2, "gpu": 1}
_SLOTS = 4
_RECORDS = 8  # open at once; more are not submitted, so that the same ones are tormented


class SimulationError(AssertionError):
    """Something happened that must not: tells what, the seed, the step and the way there."""


class Simulation:
    """One world.

    Args:
        seed: Decides everything that happens.
        tell: Takes a line for every step; for replays.

    Example:
        >>> Simulation(seed=1).run(50)
        50
    """

    def __init__(self, seed: int, tell: Callable[[str], None] | None = None) -> None:
        self.seed = seed
        self.dice = random.Random(seed)
        self.clock = FakeClock()
        self.store = ShakyStore()
        self.trace: deque[str] = deque(maxlen=40)
        self.faults: list[str] = []
        self.step = 0
        self._settled = True
        self._tell = tell
        self._active: dict[ManualExecution, float] = {}  # seconds a worker has had, pauses left out
        self._zombie: tuple[Controller, ManualDriver] | None = None
        self._killable = self.dice.random() < 0.4
        # Every world has a mood of its own: a slow network here, impatient callers there. Races need extremes.
        self._mood = {name: weight * self.dice.choice((0.2, 1.0, 1.0, 4.0)) for name, weight in _ACTIONS.items()}
        self._boot()

    def _boot(self) -> None:
        self.executor = SlowNetworkExecutor(self.clock, killable=self._killable, on_launch=self._check_launch)
        self.driver = ManualDriver()
        self.controller = Controller(
            self.store,
            self.executor,
            concurrency=ConcurrencyPolicy(max_parallel=_SLOTS, limits=_LIMITS),
            clock=self.clock,
            driver=self.driver,
            dice=self.dice.random,
            lease_ttl=1e-6,
            capture=False,  # nobody closes a controller that has crashed, and nothing is run that could write
        )
        self.controller.register(_job)
        self._untap = self.controller.tap(self._check_told)

    @property
    def engine(self) -> Engine:
        """The engine of the living controller."""
        return self.controller._link.engine

    def run(self, steps: int) -> int:
        """Play that many steps and let the world come to rest; returns how many were played.

        Raises:
            SimulationError: When something happened that must not.
        """
        with overheard(self.faults):
            try:
                for self.step in range(1, steps + 1):
                    self._play()
                    self._check(thorough=self.step % 8 == 0)
                self._come_to_rest()
            except SimulationError:
                raise
            except Exception as error:
                raise self._error(f"{type(error).__name__}: {error}") from error
        return steps

    def _play(self) -> None:
        (name,) = self.dice.choices(list(self._mood), list(self._mood.values()))
        said = getattr(self, f"_{name}")()
        line = f"{self.step:5d} {name}" + (f": {said}" if said else "")
        self.trace.append(line)
        if self._tell is not None:
            self._tell(line)
        self._settled = self.dice.random() < 0.7  # or the wake-up is late, and more arrives before the next tick
        if self._settled:
            self.driver.settle()

    # callers

    def _submit(self) -> str | None:
        if sum(live.draft.status not in TERMINAL for live in self.engine.tasks.values()) >= _RECORDS:
            return None
        dice = self.dice
        handle = self.controller.submit(
            _job if dice.random() < 0.5 else _plain_job,
            name=f"t{len(self.engine.tasks)}",
            tags={tag for tag in _TAGS if dice.random() < 0.4},
            priority=dice.randint(0, 2),
            retry=RetryPolicy(dice.randint(1, 3), FixedBackoff(dice.choice((0.0, 5.0)))),
            timeout=Timeout(
                start=dice.choice((None, 20.0)),
                per_attempt=dice.choice((None, 9.0)),
                idle=dice.choice((None, 15.0)),
                grace=dice.choice((0.0, 5.0)),
            ),
            start=dice.random() < 0.8,
        )
        return handle.name

    def _verb(self) -> str | None:
        task_id, dice = self._record(), self.dice
        if task_id is None:
            return None
        verb = dice.choice((*Verb, Verb.PAUSE, Verb.PAUSE, Verb.PAUSE, Verb.RESUME))
        asked = Asked(
            verb, force=dice.random() < 0.3, graceful=dice.random() < 0.8, window=dice.choice((0.0, 3.0, 10.0))
        )
        self.engine.ask([task_id], asked, lambda answers: None)
        return f"{verb} {self._name(task_id)}{' by force' if asked.force else ''}"

    def _force(self) -> str | None:
        task_id = self._record()
        if task_id is None:
            return None
        to = self.dice.choice([*TERMINAL, S.QUEUED, S.PENDING])
        self.engine.ask([task_id], Forced(to, "operator", "simulated"), lambda answers: None)
        return f"{self._name(task_id)} → {to}"

    # workers

    def _begin(self) -> str | None:
        return self._worker(lambda worker: worker.begin())

    def _checkpoint(self) -> str | None:
        return self._worker(lambda worker: worker.checkpoint())

    def _progress(self) -> str | None:
        return self._worker(lambda worker: worker.report(self.dice.randint(0, 10), 10))

    def _finish(self) -> str | None:
        return self._worker(lambda worker: worker.finish(7))

    def _fail(self) -> str | None:
        return self._worker(lambda worker: worker.fail(RuntimeError("simulated")))

    def _nap(self) -> str | None:
        """A worker is held for a while at its next checkpoint, and nobody is late."""
        if not self.executor.running:
            return None
        worker = self.dice.choice(self.executor.running)
        task_id = worker.request.task_id
        for verb in (Verb.PAUSE, Verb.RESUME):
            self.engine.ask([task_id], Asked(verb, window=30.0), lambda answers: None)
            self.driver.settle()
            worker.checkpoint()
            while waiting := self.executor.waiting:
                self.executor.hand_over(waiting[0])
            self.driver.settle()
            self._advance(self.dice.choice((0.1, 4.0, 30.0)) if verb is Verb.PAUSE else 0.1)
            self.driver.settle()
        return self._name(task_id)

    def _worker(self, act: Callable[[ManualExecution], None]) -> str | None:
        running = self.executor.running
        if not running:
            return None
        worker = self.dice.choice(running)
        act(worker)
        return f"{self._name(worker.request.task_id)} attempt {worker.request.attempt}"

    # the network

    def _deliver(self) -> str | None:
        waiting = self.executor.waiting
        if waiting:
            self.executor.hand_over(self.dice.choice(waiting))
        return None

    def _deliver_twice(self) -> str | None:
        if self.executor.handed_over:
            self.dice.choice(self.executor.handed_over)()
        return None

    # time

    def _pass_time(self) -> str:
        seconds = self.dice.choice((0.1, 1.0, 4.0, 4.0, 30.0))
        self._advance(seconds)
        return f"{seconds} s"

    def _advance(self, seconds: float) -> None:
        for live in self.engine.tasks.values():
            worker, watch = live.execution, live.watch
            begun = watch is not None and watch.started is not None
            if isinstance(worker, ManualExecution) and begun and live.draft.status is not S.PAUSED:
                self._active[worker] = self._active.get(worker, 0.0) + seconds
        self.clock.advance(seconds)

    def _jump(self) -> str:
        seconds = self.dice.choice((-7200.0, -30.0, 30.0, 7200.0))
        self.clock.jump(seconds)
        return f"{seconds} s"

    # the store, and the process

    def _shake_store(self) -> str:
        self.store.down = not self.store.down and self.dice.random() < 0.5
        return "down" if self.store.down else "up"

    def _crash(self) -> str | None:
        """The process dies between two ticks; a new one takes over what the store holds."""
        if self.store.down:
            return None
        self._zombie = (self.controller, self.driver)
        self._untap()
        self.store.renew_owner(OwnerLease(self.controller.owner, None, self.clock.now()))  # over
        self._boot()
        report = self.controller.reconcile(on_orphan=self.dice.choice(("mark", "requeue")))
        self.driver.settle()
        return f"{len(self.engine.tasks)} orphans: {report.requeued and 'some run again'}"

    def _command(self) -> str | None:
        """Another process asks something of a record."""
        task_id = self._record()
        if task_id is None:
            return None
        asked = Asked(self.dice.choice(list(Verb)), "elsewhere", window=3.0, force=self.dice.random() < 0.3)
        self.store.submit_command(command_of(f"c{self.step}", task_id, asked, self.clock.now()))
        return f"{asked.verb} {self._name(task_id)}"

    def _zombie_writes(self) -> str | None:
        """The one taken for dead was only asleep, and writes what it has in hand."""
        if self._zombie is None:
            return None
        controller, driver = self._zombie
        for live in list(controller._link.engine.tasks.values()):
            controller._link.engine.ask([live.snapshot.task_id], Asked(Verb.STOP, window=0.0), lambda answers: None)
        driver.settle()
        return None

    # what must hold

    def _check_launch(self, request: AttemptRequest) -> None:
        held = self.store.get(request.task_id)
        if self._trusts_store(request.task_id) and (held is None or held.attempt != request.attempt or not held.live):
            self.faults.append(f"attempt {request.attempt} of {request.name} was launched before its start was stored")

    def _check_told(self, changed: Sequence[TaskSnapshot]) -> None:
        for told in changed:
            held = self.store.get(told.task_id)
            if self._trusts_store(told.task_id) and (held is None or held.status_version < told.status_version):
                self.faults.append(f"{told.name}: version {told.status_version} was told before it was stored")

    def _trusts_store(self, task_id: str) -> bool:
        journal = self.engine.journal
        return not self.store.down and not journal.behind and task_id not in journal.desynced

    def _check(self, *, thorough: bool) -> None:
        engine, had = self.engine, self._active if self._settled else None
        found = [*self.faults, *slot_faults(engine, _SLOTS, _LIMITS), *word_faults(engine, self.executor.running, had)]
        if found:
            raise self._error("; ".join(found))
        if thorough:
            check_audit(self.store)

    def _come_to_rest(self) -> None:
        """Everybody behaves from here on: then every record must end, and nothing may be left over."""
        self.store.down = False
        for _ in range(60):
            for task_id, live in self.engine.tasks.items():
                wanted = _TO_REST if isinstance(live.work, Work) else _TO_REST_UNRUN
                verb = wanted.get(live.snapshot.status)
                if verb is not None:
                    self.engine.ask([task_id], Asked(verb), lambda answers: None)
            for worker in self.executor.running:
                worker.begin()
                if worker.stop_reason is not None or worker.pause_request is not None:
                    worker.checkpoint()
                else:
                    worker.finish(1)
            while waiting := self.executor.waiting:
                self.executor.hand_over(waiting[0])
            self.driver.settle()
            self._advance(7.0)
            self.driver.settle()
        self._check_rest()

    def _check_rest(self) -> None:
        self._check(thorough=True)
        found = [*rest_faults(self.engine, self.store), *command_faults(self.engine, self.store)]
        if found:
            raise self._error("; ".join(found))

    def _error(self, what: str) -> SimulationError:
        replay = f"python -m chongming_task.testing.simulation --seed {self.seed} --steps {self.step}"
        return SimulationError(
            f"{what}\nseed {self.seed}, step {self.step}; replay: {replay}\n" + "\n".join(self.trace)
        )

    def _record(self) -> str | None:
        live = [task_id for task_id, each in self.engine.tasks.items() if each.draft.live]
        among = live if live and self.dice.random() < 0.6 else list(self.engine.tasks)  # where the races are
        return self.dice.choice(among) if among else None

    def _name(self, task_id: str) -> str:
        live = self.engine.tasks.get(task_id)
        return live.draft.name if live is not None else task_id


@task(restartable=True)
def _job() -> Any:
    raise AssertionError("the executor of a simulation runs nothing")


@task
def _plain_job() -> Any:
    raise AssertionError("the executor of a simulation runs nothing")


_TO_REST = {S.PAUSED: Verb.RESUME, S.PENDING: Verb.START}
_TO_REST_UNRUN = {S.PAUSED: Verb.CANCEL, S.PENDING: Verb.CANCEL}  # of those that cannot be run here
_ACTIONS: dict[str, float] = {
    "submit": 6,
    "verb": 12,
    "force": 0.5,
    "begin": 8,
    "checkpoint": 10,
    "progress": 3,
    "finish": 3,
    "fail": 3,
    "nap": 1,
    "deliver": 20,
    "deliver_twice": 2,
    "pass_time": 6,
    "jump": 1,
    "shake_store": 1.5,
    "crash": 0.3,
    "zombie_writes": 0.3,
    "command": 2,
}
"""What can happen, and how often."""


def simulate(seeds: Sequence[int], steps: int) -> int:
    """Play one world for every seed; returns how many steps were played in all.

    Raises:
        SimulationError: With the seed to replay.
    """
    return sum(Simulation(seed).run(steps) for seed in seeds)


def main() -> None:
    """Replay one world, telling every step."""
    parser = argparse.ArgumentParser(description="Replay a simulated world.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args()
    Simulation(options.seed, tell=print).run(options.steps)
    print(f"seed {options.seed}: {options.steps} steps, all as it must be")  # noqa: T201 - a command's own output


if __name__ == "__main__":
    main()
