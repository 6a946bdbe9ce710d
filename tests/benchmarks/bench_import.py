"""What a script pays for `import chongming_task`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("code", ["pass", "import chongming_task"], ids=["bare-interpreter", "with-import"])
def bench_import(benchmark, code, tmp_path):
    """A new interpreter each round, modules compiled; the difference of the two is the price."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(tmp_path)
    benchmark.pedantic(
        subprocess.run, ([sys.executable, "-c", code],), {"env": env, "check": True}, rounds=20, warmup_rounds=1
    )
