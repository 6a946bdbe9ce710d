"""What a shell waits for the command line: for its help, and for the list of a hundred thousand tasks.

make bench ARGS="-k cli"
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chongming_task import SqliteTaskStore, StoreWarning
from chongming_task.core.ports import Write
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus as S
from chongming_task.runtime.ids import new_id

MANY, AT_ONCE = 100_000, 1_000
warnings.simplefilter("ignore", StoreWarning)


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Runs a command, with modules compiled as they are on a user's disk."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(tmp_path_factory.mktemp("compiled"))

    def run(*words: str) -> None:
        command = [sys.executable, "-m", "chongming_task", *words]
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)

    return run


@pytest.fixture(scope="module", params=[S.SUCCEEDED, S.QUEUED])
def many(request, tmp_path_factory) -> Path:
    """A database with many records: all have ended, or all wait."""
    path = tmp_path_factory.mktemp("many") / "runs.db"
    store, now = SqliteTaskStore(path), datetime.now(UTC)
    for _ in range(MANY // AT_ONCE):
        tasks = [TaskSnapshot(new_id(), "load", now, status=request.param, owner="gone:1") for _ in range(AT_ONCE)]
        store.commit([Write(task, None) for task in tasks])
    store.close()
    return path


def bench_help(benchmark, shell):
    """150 ms are the limit."""
    benchmark.pedantic(shell, ("--help",), rounds=20, warmup_rounds=1)


@pytest.mark.parametrize("words", [["ps"], ["ps", "--all"], ["status", "ffff0000"]], ids=" ".join)
def bench_many(benchmark, shell, many, words):
    """A second is the limit for `ps`; `status` looks for an abbreviated id among all of them, in vain."""
    if words[0] == "status":
        benchmark.pedantic(_in_vain, (shell, many, words), rounds=5, warmup_rounds=1)
    else:
        benchmark.pedantic(shell, ("--db", str(many), *words), rounds=10, warmup_rounds=1)


def _in_vain(shell, many, words):
    with pytest.raises(subprocess.CalledProcessError):
        shell("--db", str(many), *words)
