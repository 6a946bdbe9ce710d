"""A process that is forked off has neither the threads of its parent's controllers nor their place in a store."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

SCRIPT = """
import os, sys, time, warnings
from chongming_task import Controller, ControllerClosed, StoreWarning, task

warnings.simplefilter("ignore", StoreWarning)
warnings.simplefilter("ignore", DeprecationWarning)  # Python's own word on forks beside threads


@task
def hold(ctx):
    ctx.sleep(60)


def refused(call):
    try:
        call()
    except ControllerClosed as error:
        return "forked" in str(error)
    return False


child = None
with Controller(sys.argv[1], echo=False) as controller:
    held = controller.submit(hold)
    held.wait_for("running", timeout=20)
    child = os.fork()
    if child == 0:
        ok = all(
            refused(call)
            for call in (
                lambda: controller.submit(len, args=("abc",)),
                lambda: controller.reconcile(),
                lambda: held.stop(),
                lambda: controller.list_tasks(),
                lambda: controller.counts(),
                lambda: held.wait(),
                lambda: held.result(),
                lambda: controller.wait_all(),
            )
        )
        with Controller(sys.argv[1]) as own:
            ok = ok and own.submit(len, args=("abc",)).result(timeout=20) == 3
        repr(controller)
        controller.close()
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0, "the child could use its parent's controller"
    with Controller(sys.argv[1]) as other:
        assert other.reconcile().untouched == (held.id,), "the child gave its parent's leases back"
    assert held.stop(timeout=5)
"""


def test_a_forked_child_is_told_to_make_a_controller_of_its_own(tmp_path):
    """It hangs on nothing, and its end is not the end of its parent's controller."""
    script = tmp_path / "forking.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script, tmp_path / "runs.db"], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
