"""Speaks for a controller on a store that others share: keeps its leases, and takes in what they ask of its records.

It works beside the engine, so that a slow store delays neither, and it changes no record: what others ask is handed to
the engine like any caller's verb.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from weakref import WeakSet

from chongming_task.core.commands import refused
from chongming_task.core.ports import Clock, TaskStore
from chongming_task.core.records import Command, OwnerLease
from chongming_task.errors import ConfigurationError, ControllerClosed, StoreError
from chongming_task.runtime.ownership import Watchers, this_process

__all__ = ["Steward"]

_logger = logging.getLogger("chongming_task.store")
_REST_SECONDS = 1.0  # a store that failed is left alone for so long
_PAUSE_SECONDS = 0.02  # between two looks: under load the store changes all the time
_COMMAND_SECONDS = 10.0  # a command is ours for so long
_REMEMBERED = 10_000  # commands that were taken
_naming = threading.Lock()
_announced: WeakSet[Steward] = WeakSet()  # those of this process that are not closed


class Steward:
    """One controller's word to the others.

    Args:
        store: Where they meet.
        owner: What the controller calls itself.
        buckets: Those it takes; None: all, and no lease on any.
        lease_seconds: How long it is taken to live without being heard of.
        clock: Time.
        take: Carries out a command; must answer it, by ``complete_command`` or with the change it makes. Called once
            for each.
        follow: Looks at records that others have taken over; called whenever the store may have changed.
        doubt: Finds out which records are still this controller's; called when its lease had run out.
    """

    def __init__(
        self,
        store: TaskStore,
        *,
        owner: str,
        buckets: frozenset[int] | None,
        lease_seconds: float,
        clock: Clock,
        take: Callable[[Command], None],
        follow: Callable[[], None],
        doubt: Callable[[], None],
    ) -> None:
        self._held: frozenset[int] = frozenset()  # the buckets that are this controller's now
        self._held_until = float("-inf")  # monotonic: others may take them then
        self._store = store
        self._owner = owner
        self._buckets = buckets
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._take = take
        self._follow = follow
        self._doubt = doubt
        self._taken: OrderedDict[str, str] = OrderedDict()  # commands and their records
        self._taking = threading.Lock()
        self._renew_at = float("-inf")  # monotonic
        self._leased_until = datetime.max.replace(tzinfo=UTC)  # no lease yet that could have run out
        self._failed = 0  # times in a row
        self._heard_at: float | None = None  # monotonic: when the store was last asked, and answered
        self._told_missing: frozenset[int] = frozenset()
        self._closing = threading.Event()
        self._leasing = threading.Lock()
        self._gone = False
        self._thread: threading.Thread | None = None

    def announce(self) -> None:
        """Take the leases for the first time. A store that fails is tried again by itself.

        Raises:
            ConfigurationError: When another controller goes by the same name.
        """
        with _naming:
            _announced.add(self)
        try:
            self._refuse_a_name_in_use()
            self.renew()
        except StoreError as error:
            _logger.warning("the controller could not be announced in its store: %s", error)
        except BaseException:
            self._give_name_up()
            raise

    def _give_name_up(self) -> None:
        with _naming:
            _announced.discard(self)

    def _refuse_a_name_in_use(self) -> None:
        known = Watchers(self._store.owner_leases(), self._clock.now()).living.get(self._owner)
        if known is None:
            return
        with _naming:
            others = _announced - {self}
        if known.process != this_process():
            where = f"in the process {known.process}; give this one"
        elif any(other._owner == self._owner for other in others):
            where = "in this process; close it, or give this one"
        else:  # it was closed while the store could not be told
            return
        raise ConfigurationError(
            f"the owner {self._owner!r} is another controller on this store, {where} a name of its own, or leave "
            "owner= away"
        )

    def holds(self, bucket: int) -> bool:
        """Whether a bucket is this controller's alone, for sure."""
        return bucket in self._held and self._clock.monotonic() < self._held_until

    def turn(self) -> bool:
        """Do what is due now; whether a command was taken.

        Raises:
            StoreError: When the store cannot be asked.
        """
        if self._clock.monotonic() >= self._renew_at:
            self.renew()
        self._follow()
        heard = self.hear(self._owner)
        self._heard_at = self._clock.monotonic()
        return heard

    @property
    def deaf_since(self) -> float | None:
        """Monotonic time of the last turn that went well, if it is followed by failures or by too long a silence."""
        heard_at, quiet = self._heard_at, self._thread is None or self._closing.is_set()  # nobody turns by itself
        if heard_at is None or quiet:
            return None
        late = self._clock.monotonic() - heard_at > self._lease_seconds * 2 / 3 + _REST_SECONDS
        return heard_at if late or self._failed > 1 else None

    def hear(self, owner: str) -> bool:
        """Take what is asked of the records of an owner, this one or one that is gone; whether there was anything.

        Raises:
            StoreError: When the store cannot be asked.
        """
        now = self._clock.now()
        found = self._store.claim_commands(self._owner, now=now, lease_seconds=_COMMAND_SECONDS, records_of={owner})
        # One that is taken again was not answered within its lease: the answer waits for the store, as the change does.
        new = [command for command in found if command.id not in self._taken]
        failed: StoreError | None = None
        for command in new:
            try:
                self._take(command)
            except StoreError as error:  # it is taken again; those behind it do not wait for that
                failed = failed or error
            else:
                self._remember(command)
        if failed is not None:
            raise failed
        return bool(new)

    def _remember(self, command: Command) -> None:
        with self._taking:
            self._taken[command.id] = command.task_id
            if len(self._taken) > _REMEMBERED:
                self._taken.popitem(last=False)

    def forget(self, task_ids: Collection[str]) -> None:
        """Take commands for records anew that come from another owner: if this one had the records before, and was
        asked, its answers went with them."""
        with self._taking:
            for command_id in [known for known, task_id in self._taken.items() if task_id in task_ids]:
                del self._taken[command_id]

    def renew(self) -> None:
        """Prolong the controller's leases.

        Raises:
            StoreError: When the store cannot do it.
        """
        now = self._clock.now()
        until, late = now + timedelta(seconds=self._lease_seconds), self._leased_until < now
        buckets = None if self._buckets is None else tuple(sorted(self._buckets))
        with self._leasing:
            if self._gone:
                return
            self._store.renew_owner(OwnerLease(self._owner, this_process(), until, buckets))
            if self._buckets is not None:
                self._claim_buckets(self._buckets)
        self._leased_until = until
        self._renew_at = self._clock.monotonic() + self._lease_seconds / 3
        if late:
            self._doubt()

    def _claim_buckets(self, wanted: frozenset[int]) -> None:
        """Take the wanted buckets; one whose holder is gone is taken from it before its lease is over."""
        now, began = self._clock.now(), self._clock.monotonic()
        held = self._store.claim_buckets(self._owner, wanted, now=now, lease_seconds=self._lease_seconds)
        missing = wanted - held
        if missing:
            living = Watchers(self._store.owner_leases(), now).living
            gone = {lease.owner for lease in self._store.bucket_leases() if lease.bucket in missing} - living.keys()
            for owner in gone:
                self._store.release_buckets(owner, missing)
            if gone:
                held = self._store.claim_buckets(self._owner, wanted, now=now, lease_seconds=self._lease_seconds)
                missing = wanted - held
        self._held, self._held_until = held, began + self._lease_seconds
        if missing - self._told_missing:
            _logger.warning("buckets %s are held by another controller; see audit_buckets()", sorted(missing))
        self._told_missing = missing

    # by itself

    def start(self) -> None:
        """Turn by itself from now on."""
        self._heard_at = self._clock.monotonic()
        self._thread = threading.Thread(target=self._run, name="chongming-steward", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Turn until ``stop``, whenever the store changes or a lease is due."""
        mark: int | None = None
        while not self._closing.is_set():
            try:
                mark = self._store.wait_for_change(0, mark)
                self.turn()
                self._failed = 0
                patience = max(self._renew_at - self._clock.monotonic(), 0.0)
                self._store.wait_for_change(patience, mark)
            except Exception as error:  # whatever the store raises: the controller goes on, and this is told once
                self._failed += 1
                # A store that is away for a moment is told by who writes to it.
                if self._failed == 1 + isinstance(error, StoreError) and not self._closing.is_set():
                    _logger.warning("the store could not be asked for commands: %s: %s", type(error).__name__, error)
                self._closing.wait(_REST_SECONDS)
            else:
                self._closing.wait(_PAUSE_SECONDS)

    def stop(self) -> None:
        """Take in nothing more; the leases stay until ``close``."""
        self._closing.set()

    def close(self) -> None:
        """Give the leases back, so that the others know at once that this controller is gone."""
        self.stop()
        with self._leasing:
            self._gone = True
        self._give_name_up()
        try:
            if self._buckets is not None:
                self._store.release_buckets(self._owner)
            self._store.release_owner(self._owner)
            self._join()
            self._refuse_the_rest()
        except Exception as error:  # they run out by themselves
            _logger.warning("the controller's leases could not be given back: %s: %s", type(error).__name__, error)
        finally:
            self._join()

    def _join(self) -> None:
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_REST_SECONDS)

    def _refuse_the_rest(self) -> None:
        """Answer what was not heard any more. Whoever asks from here on sees that this controller is gone."""
        outcome = refused(ControllerClosed("its controller was closed, and has not done this; ask again"))
        self._store.release_commands(self._owner)
        while left := self._store.claim_commands(
            self._owner, now=self._clock.now(), lease_seconds=_COMMAND_SECONDS, records_of={self._owner}
        ):
            for command in left:
                self._store.complete_command(command.id, self._owner, now=self._clock.now(), outcome=outcome)
