"""Commands, bucket leases, the feed and what is agreed on, in SQL tables, whatever the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from chongming_task.core.records import BucketLease, Change, Command, OwnerLease
from chongming_task.stores.agreement import check_agreement
from chongming_task.stores.codec import (
    bucket_lease_from,
    change_from,
    command_from,
    command_row,
    from_micros,
    owner_lease_from,
    owner_lease_row,
    to_json,
    to_micros,
)
from chongming_task.stores.database import Database, Session

__all__ = ["SqlCoordination"]


class SqlCoordination:
    """The half of a store through which processes meet.

    Args:
        database: Where the tables are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # commands

    def submit_command(self, command: Command) -> None:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        row = command_row(command)
        self._database.write(lambda session: session.many("add_command", [row]), tell=lambda _: command.task_id)

    def claim_commands(
        self,
        owner: str,
        *,
        now: datetime,
        lease_seconds: float,
        limit: int = 50,
        records_of: Collection[str] | None = None,
    ) -> list[Command]:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        names = ["claimable"] if records_of is None else ["claimable", "for_records_of"]
        values: dict[str, Any] = {"now": to_micros(now), "limit": max(limit, 0)}
        if records_of is not None:
            values["owners"] = sorted(records_of)
        with self._database.read() as session:  # mostly there is nothing: that costs no write
            if not session.all(*names, "first_claimable", **values | {"limit": min(limit, 1)}):
                return []
        until = to_micros(now + timedelta(seconds=lease_seconds))

        def work(session: Session) -> list[Command]:
            found = list(map(command_from, session.all(*names, "lock_claimable", **values)))
            if found:
                session.run("lease_commands", owner=owner, until=until, ids=[command.id for command in found])
            return found

        found = self._database.write(work, tell=lambda found: "" if found else None)
        return [command._replace(lease_owner=owner, lease_until=from_micros(until)) for command in found]

    def complete_command(self, command_id: str, owner: str, *, now: datetime, outcome: Any = None) -> bool:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        values = {"id": command_id, "owner": owner, "now": to_micros(now), "outcome": to_json(outcome)}

        def work(session: Session) -> bool:
            if session.run("complete_command", **values):
                return True
            rows = session.all("command", id=command_id)
            command = command_from(rows[0]) if rows else None
            return command is not None and command.completed_at is not None and command.lease_owner == owner

        return self._database.write(work)

    def release_commands(self, owner: str, command_ids: Collection[str] | None = None) -> int:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        if command_ids is None:
            return self._database.write(lambda session: session.run("release_commands", owner=owner))
        ids = sorted(command_ids)
        return self._database.write(
            lambda session: session.run("release_commands", "of_these_commands", owner=owner, ids=ids)
        )

    def command(self, command_id: str) -> Command | None:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        with self._database.read() as session:
            rows = session.all("command", id=command_id)
        return command_from(rows[0]) if rows else None

    def commands(self, task_id: str) -> list[Command]:
        """See :class:`~chongming_task.core.coordination.CommandQueue`."""
        with self._database.read() as session:
            rows = session.all("commands", task_id=task_id)
        return list(map(command_from, rows))

    # owner leases

    def renew_owner(self, lease: OwnerLease) -> None:
        """See :class:`~chongming_task.core.coordination.OwnerLeases`."""
        row = owner_lease_row(lease)
        self._database.write(lambda session: session.many("put_owner", [row]), tell=lambda _: None)

    def release_owner(self, owner: str) -> bool:
        """See :class:`~chongming_task.core.coordination.OwnerLeases`."""
        gone = self._database.write(
            lambda session: session.run("drop_owner", owner=owner), tell=lambda gone: "" if gone else None
        )
        return gone > 0

    def owner_leases(self) -> list[OwnerLease]:
        """See :class:`~chongming_task.core.coordination.OwnerLeases`."""
        with self._database.read() as session:
            return list(map(owner_lease_from, session.all("owners")))

    # bucket leases

    def claim_buckets(
        self, owner: str, buckets: Collection[int], *, now: datetime, lease_seconds: float
    ) -> frozenset[int]:
        """See :class:`~chongming_task.core.coordination.BucketLeases`."""
        wanted = sorted(buckets)
        at, until = to_micros(now), to_micros(now + timedelta(seconds=lease_seconds))

        def work(session: Session) -> frozenset[int]:
            session.serialize()
            session.many("claim_bucket", [{"bucket": b, "owner": owner, "until": until, "now": at} for b in wanted])
            return _buckets_of(session, owner) & frozenset(wanted)

        return self._database.write(work)

    def renew_buckets(self, owner: str, *, now: datetime, lease_seconds: float) -> frozenset[int]:
        """See :class:`~chongming_task.core.coordination.BucketLeases`."""
        until = to_micros(now + timedelta(seconds=lease_seconds))

        def work(session: Session) -> frozenset[int]:
            session.serialize()
            session.run("renew_buckets", owner=owner, until=until)
            return _buckets_of(session, owner)

        return self._database.write(work, tell=lambda _: None)

    def release_buckets(self, owner: str, buckets: Collection[int] | None = None) -> int:
        """See :class:`~chongming_task.core.coordination.BucketLeases`."""
        wanted = None if buckets is None else sorted(buckets)

        def work(session: Session) -> int:
            session.serialize()
            if wanted is None:
                return session.run("release_buckets", owner=owner)
            return session.run("release_buckets", "of_these_buckets", owner=owner, buckets=wanted)

        return self._database.write(work)

    def bucket_leases(self) -> list[BucketLease]:
        """See :class:`~chongming_task.core.coordination.BucketLeases`."""
        with self._database.read() as session:
            return list(map(bucket_lease_from, session.all("bucket_leases")))

    # what changed, and what is agreed

    def changes(self, after: int = 0, limit: int = 1_000) -> list[Change]:
        """See :class:`~chongming_task.core.coordination.ChangeFeed`."""
        with self._database.read() as session:
            return list(map(change_from, session.all("changes", after=after, limit=max(limit, 0))))

    def last_change(self) -> int:
        """See :class:`~chongming_task.core.coordination.ChangeFeed`."""
        with self._database.read() as session:
            return int(session.all("last_change")[0][0])

    def wait_for_change(self, timeout: float, seen: int | None = None) -> int:
        """See :class:`~chongming_task.core.coordination.ChangeFeed`."""
        return self._database.wait(timeout, seen)

    def meta(self) -> Mapping[str, str]:
        """See :class:`~chongming_task.core.coordination.DeploymentMeta`."""
        with self._database.read() as session:
            return {str(name): str(value) for name, value in session.all("meta")}

    def fix_meta(self, name: str, value: str) -> None:
        """See :class:`~chongming_task.core.coordination.DeploymentMeta`."""
        held = self.meta().get(name)
        if held is None:
            self._database.write(lambda session: session.many("add_meta", [{"name": name, "value": value}]))
            held = self.meta()[name]
        check_agreement(name, held, value)


def _buckets_of(session: Session, owner: str) -> frozenset[int]:
    return frozenset(int(row[0]) for row in session.all("buckets_of", owner=owner))
