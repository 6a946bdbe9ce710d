"""A task that sleeps with checkpoints is alive: no idle limit takes it for stuck."""

from __future__ import annotations

import pytest

from chongming_task import Timeout, run_task

pytestmark = pytest.mark.parametrize("executor", ["thread", "process"])
SHORT = Timeout(idle=0.3)


def doze(ctx):
    """Sleep twice as long as the idle limit, in one piece."""
    ctx.sleep(0.6)
    return "rested"


async def adoze(ctx):
    """The same, awaiting."""
    await ctx.asleep(0.6)
    return "rested"


@pytest.mark.parametrize("task", [doze, adoze])
def test_a_sleep_longer_than_the_idle_limit_is_no_silence(task, executor):
    """It could be stopped at any moment of its sleep, and that is what the limit asks for."""
    assert run_task(task, timeout=SHORT, executor=executor).result() == "rested"
