"""``buckets``: what waits in each, who takes it, and what is wrong with how they are divided."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection
from typing import TYPE_CHECKING

from chongming_task.cli.commands.run import controller_on
from chongming_task.cli.console import Console
from chongming_task.cli.database import reading
from chongming_task.cli.exit_codes import ExitCode
from chongming_task.cli.render.table import Column, table
from chongming_task.runtime.ownership import this_process

if TYPE_CHECKING:
    from chongming_task.api.recovery import BucketAudit
    from chongming_task.core.ports import TaskStore

__all__ = ["buckets", "ranges"]

_OWNERS = (Column(""), Column("CONTROLLER", widest=80), Column("BUCKETS"))
_BUCKETS = (Column(""), Column("BUCKET", right=True), Column("OPEN", right=True), Column("TAKEN BY"))


def buckets(options: Namespace, console: Console) -> int:
    """Show how a deployment's controllers divide the buckets."""
    with reading(options, console) as store, controller_on(store, capture=False) as controller:
        audit, counts = controller.audit_buckets(), controller.bucket_counts()
        number = store.meta().get("num_buckets")
        here = _on_this_machine(store)
    if console.json:
        console.document(_document(audit, counts, None if number is None else int(number), here))
    else:
        console.lines(_page(audit, counts, number, here, console.room))
    return ExitCode.DONE


def _on_this_machine(store: TaskStore) -> set[str]:
    """The controllers whose process is in this machine's table of processes."""
    machine = _machine(this_process())
    return {lease.owner for lease in store.owner_leases() if lease.process and _machine(lease.process) == machine}


def _machine(process: str) -> str:
    return process.rsplit(":", 2)[0]


def _takers(audit: BucketAudit, bucket: int) -> list[str]:
    return [owner for owner, taken in audit.owners.items() if bucket in taken]


def _document(audit: BucketAudit, counts: dict[int, int], number: int | None, here: set[str]) -> dict[str, object]:
    return {
        "num_buckets": number,
        "owners": [
            {"owner": owner, "buckets": list(taken), "here": owner in here} for owner, taken in audit.owners.items()
        ],
        "open": {str(bucket): count for bucket, count in counts.items()},
        "holes": list(audit.holes),
        "overlaps": {str(bucket): list(owners) for bucket, owners in audit.overlaps.items()},
        "stranded": {str(bucket): count for bucket, count in audit.stranded.items()},
    }


def _page(
    audit: BucketAudit, counts: dict[int, int], number: str | None, here: set[str], room: int | None
) -> list[str]:
    lines = [f"{number} buckets" if number is not None else "no task has a bucket yet"]
    if counts:
        rows = []
        for bucket, count in counts.items():
            takers = _takers(audit, bucket)
            star = "*" if here.intersection(takers) else ""
            rows.append([star, str(bucket), str(count), ", ".join(takers) or ("nobody" if audit.owners else "all")])
        lines += ["", *table(_BUCKETS, rows, room)]
    if audit.owners:
        rows = [["*" if owner in here else "", owner, ranges(taken)] for owner, taken in audit.owners.items()]
        lines += ["", *table(_OWNERS, rows, room), "* on this machine"]
    if audit.holes:
        lines += ["", f"holes, which nobody takes: {ranges(audit.holes)}"]
    if audit.overlaps:
        lines += ["", f"overlaps, which several want: {ranges(audit.overlaps)}"]
    if audit.stranded:
        lines += [f"{sum(audit.stranded.values())} open tasks are in holes"]
    return lines


def ranges(numbers: Collection[int]) -> str:
    """Numbers as ranges.

    Example:
        >>> ranges([0, 1, 2, 5, 7, 8])
        '0-2, 5, 7-8'
    """
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)
