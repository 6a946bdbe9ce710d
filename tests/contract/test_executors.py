"""Every executor that ships keeps the contract that ships."""

from __future__ import annotations

from chongming_task import InlineExecutor, ProcessExecutor, ThreadExecutor
from chongming_task.testing import ExecutorContract


class TestThreadExecutor(ExecutorContract):
    """Threads of this process."""

    def make_executor(self):
        return ThreadExecutor()


class TestInlineExecutor(ExecutorContract):
    """The inline executor, for attempts that nobody waits for."""

    def make_executor(self):
        return InlineExecutor()


class TestProcessExecutor(ExecutorContract):
    """Processes of their own."""

    def make_executor(self):
        return ProcessExecutor()


class TestProcessExecutorWithoutSpares(ExecutorContract):
    """Every process fresh, and used once."""

    def make_executor(self):
        return ProcessExecutor(spares=0, max_attempts_per_worker=1)
