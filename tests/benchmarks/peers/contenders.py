"""Who is measured, in which environment, and what has to be known to read the figures."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BASE", "CONTENDERS", "FOLDER", "TABLES", "Contender", "Row", "Table"]

FOLDER = Path(sys.prefix) / "peers"
BASE = "pool"


@dataclass(frozen=True, slots=True)
class Contender:
    """A script, and the environment that it runs in."""

    name: str
    script: str
    argument: str = ""
    package: str = ""  # whose version is told; none for the standard library
    wanted: str = ""  # what its own environment is made of; none: this environment has it

    @property
    def python(self) -> Path:
        """The interpreter that runs it."""
        return FOLDER / self.name / "bin" / "python" if self.wanted else Path(sys.executable)

    def make(self) -> None:
        """Make its environment, or bring it up to date."""
        if self.wanted:
            if not self.python.exists():
                venv.create(self.python.parents[1], with_pip=True)
            pip = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
            subprocess.run([*pip, self.wanted], check=True)

    def version(self) -> str:
        """Name and version of its package."""
        code = f"import importlib.metadata as m; print(m.version({self.package!r}))"
        told = subprocess.run([self.python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
        return f"{self.package} {told}"


CONTENDERS = (
    Contender(BASE, "with_pool.py"),
    Contender("memory", "with_ours.py", "memory", "chongming-task"),
    Contender("sqlite", "with_ours.py", "sqlite", "chongming-task"),
    Contender("sqlite-full", "with_ours.py", "sqlite-full", "chongming-task"),
    Contender("process", "with_ours.py", "process", "chongming-task"),
    Contender("dask", "with_dask.py", "", "distributed", "dask[distributed]>=2026,<2027"),
    Contender("dbos", "with_dbos.py", "", "dbos", "dbos>=3,<4"),
    Contender("huey", "with_huey.py", "", "huey", "huey>=3,<4"),
    Contender("prefect", "with_prefect.py", "", "prefect", "prefect>=3,<4"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table."""

    title: str
    contender: str
    note: str
    measures: tuple[str, ...] = ()  # where they have another name than the table's


@dataclass(frozen=True, slots=True)
class Table:
    """Figures of one kind, each divided by what the standard library takes in the same round."""

    title: str
    text: str
    columns: tuple[str, ...]
    measures: tuple[str, ...]
    rows: tuple[Row, ...]


_TASK = Table(
    "A task that does nothing",
    "Eight at once. Together: all are submitted, then all are waited for. One by one: the next is submitted when "
    "the one before has ended. 1 is what `ThreadPoolExecutor` takes.",
    ("together", "one by one"),
    ("together", "one by one"),
    (
        Row(
            "ThreadPoolExecutor",
            "pool",
            "Faster than all that follow: it calls functions. It keeps no record, and cannot pause, stop or retry.",
        ),
        Row(
            "chongming-task, memory",
            "memory",
            "With a record, an attempt and a trail of changes for every task. That is what it costs beyond the "
            "pool: for work of microseconds use the pool, and make one task of many calls.",
        ),
        Row(
            "dask.distributed",
            "dask",
            "One worker process with eight threads on this machine. It sends every task through a scheduler and over a "
            "socket, which is what lets it use other machines; the rows above stay within one process.",
        ),
        Row(
            "chongming-task, SQLite",
            "sqlite",
            "Writes in batches, behind the caller: what `submit` returned a few milliseconds ago may not be stored "
            "yet. The time includes waiting until all is. Survives the death of the process; a power cut may "
            "take the last moments.",
        ),
        Row(
            "chongming-task, SQLite, `full_sync`",
            "sqlite-full",
            "The same, waiting for the disk at every commit, as DBOS and huey do on SQLite by default: the row to "
            "compare with theirs.",
        ),
        Row(
            "DBOS, SQLite",
            "dbos",
            "A workflow without steps. It is stored before the call that starts it returns, one commit for each, which "
            "promises more than a batch. Its authors recommend PostgreSQL for production.",
        ),
        Row(
            "huey, SQLite",
            "huey",
            "A queue for other processes to work on: it stores the call and the result, and no attempts or changes. "
            "Results and an empty queue are polled, every tenth of a second at first, so one by one it is either "
            "at once or a tenth of a second.",
        ),
        Row(
            "Prefect",
            "prefect",
            "Tasks of a flow, with the server that it starts by itself. States go to that server over HTTP, and on "
            "from there to its web pages; it is made for tasks of seconds and more.",
        ),
    ),
)
_GRAPH = Table(
    "A graph of 1,000 nodes",
    "111 diamonds in a row, each of them forking into eight nodes that join again; every node does nothing. From the "
    "first declaration to the last result. 1 is what `graphlib` with a `ThreadPoolExecutor` takes.",
    ("a node",),
    ("node",),
    (
        Row(
            "graphlib and ThreadPoolExecutor",
            "pool",
            "Faster than all that follow: twenty lines, without records or a second try.",
        ),
        Row("chongming-task, memory", "memory", "A pipeline: every node is a task with a record of its own."),
        Row("chongming-task, SQLite", "sqlite", "The same, stored."),
        Row(
            "dask.distributed",
            "dask",
            "Delayed calls, computed as one graph. Results stay on the workers, which matters for large ones.",
        ),
        Row(
            "DBOS, SQLite",
            "dbos",
            "It has no graphs: a workflow calls 1,000 steps one after the other, so nothing runs side by side. Every "
            "step is committed before the next begins.",
        ),
        Row("Prefect", "prefect", "199 nodes, for a graph of 1,000 would take too long here; futures as arguments."),
    ),
)
_STOP = Table(
    "How long a stop takes",
    "From asking a running task to stop until its code has stopped. The task looks every half millisecond, where it "
    "can look at all. 1 is an event that a function in a `ThreadPoolExecutor` polls: a thread can be "
    "no faster.",
    ("a stop",),
    ("stop",),
    (
        Row(
            "ThreadPoolExecutor, an event that the code polls",
            "pool",
            "Written by hand; `Future.cancel` does nothing to a running call.",
        ),
        Row("chongming-task, at a checkpoint", "memory", "The task passes `ctx.checkpoint()`."),
        Row(
            "chongming-task, a process that hears nothing",
            "process",
            "It sleeps in one long call, is killed, and is known to be gone. No other row stops such code. In a thread "
            "we cannot either: the task is shown as LOST.",
        ),
        Row(
            "dask.distributed, `Future.cancel`",
            "dask",
            "The scheduler forgets the task. Its thread goes on.",
        ),
        Row(
            "dask.distributed, an `Event` that the code polls",
            "dask",
            "The way that it offers for this: each look asks the scheduler, so it is not the same half millisecond.",
            ("stop by event",),
        ),
        Row(
            "DBOS, `cancel_workflow`",
            "dbos",
            "Ends the workflow at the beginning of its next step; these steps take half a millisecond, besides what it "
            "takes to store them. Within a step nothing is stopped.",
        ),
        Row("huey, `revoke`", "huey", "Keeps what waits in the queue from starting. What runs goes on."),
    ),
)
TABLES = (_TASK, _GRAPH, _STOP)
