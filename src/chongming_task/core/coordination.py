"""What a store offers beside records: commands from one process to another, leases on buckets, news of changes.

The store carries commands and does not understand them. Every time it compares leases with is the caller's ``now``, so
that tests can move it; processes on several machines need clocks that agree to well within a lease.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Protocol

from chongming_task.core.records import BucketLease, Change, Command, OwnerLease

__all__ = ["BucketLeases", "ChangeFeed", "CommandQueue", "DeploymentMeta", "OwnerLeases"]


class CommandQueue(Protocol):
    """Verbs for records that another process watches. A taken command is leased, so a taker that dies loses none."""

    def submit_command(self, command: Command) -> None:
        """Store a command for whoever watches its record. One whose id is known already is left as it is."""
        ...

    def claim_commands(
        self,
        owner: str,
        *,
        now: datetime,
        lease_seconds: float,
        limit: int = 50,
        records_of: Collection[str] | None = None,
    ) -> list[Command]:
        """Take open commands, oldest first: those nobody holds, and those whose lease is over (``lease_until <= now``).

        No command is taken twice within its lease, whatever the number of takers.

        Args:
            owner: Who takes them.
            now: The time.
            lease_seconds: How long they are the owner's alone.
            limit: At most so many.
            records_of: Only commands for records whose ``owner`` is among these; None: for any record, known or not.
        """
        ...

    def complete_command(self, command_id: str, owner: str, *, now: datetime, outcome: Any = None) -> bool:
        """Write the outcome, a JSON value, of a command back. It is not handed out again.

        Returns:
            Whether it is complete with this owner's outcome: True as well for a second try after a lost answer, whose
            outcome is not looked at. False when somebody else holds or completed it, or there is no such command.
        """
        ...

    def release_commands(self, owner: str, command_ids: Collection[str] | None = None) -> int:
        """Give back open commands without an outcome; None: all that ``owner`` holds. Returns how many."""
        ...

    def command(self, command_id: str) -> Command | None:
        """The command, or None. It stays until ``prune`` drops its record, or finds that there is none."""
        ...

    def commands(self, task_id: str) -> list[Command]:
        """All commands for a record, oldest first."""
        ...


class OwnerLeases(Protocol):
    """Who watches records, and lives: one lease for each controller, however many records it has."""

    def renew_owner(self, lease: OwnerLease) -> None:
        """Store a lease, in place of the one the owner had. Not told as a change: nothing a reader shows has moved."""
        ...

    def release_owner(self, owner: str) -> bool:
        """Forget an owner's lease: it is gone. Returns whether there was one."""
        ...

    def owner_leases(self) -> list[OwnerLease]:
        """All leases by owner, also those that are over."""
        ...


class BucketLeases(Protocol):
    """Who takes the work of which bucket: at most one owner each at any time."""

    def claim_buckets(
        self, owner: str, buckets: Collection[int], *, now: datetime, lease_seconds: float
    ) -> frozenset[int]:
        """Take those of ``buckets`` that are free, whose lease is over, or that ``owner`` holds already.

        Returns:
            Those that are the owner's now, until ``now + lease_seconds``.
        """
        ...

    def renew_buckets(self, owner: str, *, now: datetime, lease_seconds: float) -> frozenset[int]:
        """Prolong all that ``owner`` holds, also what is over but nobody else has taken. Returns what it holds."""
        ...

    def release_buckets(self, owner: str, buckets: Collection[int] | None = None) -> int:
        """Give up buckets; None: all of the owner's. Others' are left alone. Returns how many went."""
        ...

    def bucket_leases(self) -> list[BucketLease]:
        """All leases by bucket, also those that are over."""
        ...


class ChangeFeed(Protocol):
    """What has changed, for readers that follow."""

    def changes(self, after: int = 0, limit: int = 1_000) -> list[Change]:
        """The audit trails of all records as one, in the order they were committed.

        A reader that goes on after the last ``cursor`` it was given meets every transition exactly once, also those
        whose transaction took long to commit. What ``prune`` has dropped is left out.

        Args:
            after: The cursor of the last change known; 0 for the beginning.
            limit: At most so many.
        """
        ...

    def last_change(self) -> int:
        """The cursor of the newest change; 0 when there is none. What is committed later has a higher one."""
        ...

    def wait_for_change(self, timeout: float, seen: int | None = None) -> int:
        """Wait until anything in the store changes, by whomever: records, news of them, output, commands, leases.

        It may return early without a change, and several changes may be told once; so look, then wait again::

            mark = store.wait_for_change(0)
            while following:
                cursor = read_on(cursor)
                mark = store.wait_for_change(5.0, mark)

        Args:
            timeout: Seconds to wait at most; 0 to look only.
            seen: What the last call returned: a change since then is told at once. None: wait for one from now on.

        Returns:
            A mark of how things stand: another number than ``seen`` when something changed. It means something to this
            store object only. ``close`` ends the wait.
        """
        ...


class DeploymentMeta(Protocol):
    """What all processes on a store must agree on."""

    def meta(self) -> Mapping[str, str]:
        """What is fixed so far; ``schema_version`` always."""
        ...

    def fix_meta(self, name: str, value: str) -> None:
        """Fix a constant of the deployment, such as ``num_buckets``. The first to come decides.

        Raises:
            ConfigurationError: When the store holds another value.
        """
        ...
