"""`import chongming_task` is cheap and brings nothing but the standard library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

BUDGET_MILLISECONDS = 80
PATIENCE_SECONDS = 10  # a shared processor has slow spells of some seconds, and the cost is what it is outside of them

PROBE = """
import json, sys, time
before = set(sys.modules)
start = time.process_time()
import chongming_task
took = time.process_time() - start
print(json.dumps({"took": took * 1000, "loaded": sorted(set(sys.modules) - before)}))
"""


def import_once(bytecode: Path) -> tuple[float, set[str]]:
    """The processor milliseconds of one import in a new interpreter, and the top-level modules that it loaded.

    Compiled modules are kept in `bytecode`, as they are on a user's disk, whatever this run's environment says.
    """
    ours = ("COV_", "COVERAGE_", "PYTHONDONTWRITEBYTECODE")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    env["PYTHONPYCACHEPREFIX"] = str(bytecode)
    done = subprocess.run([sys.executable, "-c", PROBE], env=env, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer["took"], {name.partition(".")[0] for name in answer["loaded"]}


def test_import_loads_only_the_standard_library(tmp_path):
    """No extra is needed, nor loaded when installed: pandas and anywidget wait until someone asks for them."""
    _, loaded = import_once(tmp_path)
    assert "chongming_task" in loaded
    assert loaded - sys.stdlib_module_names == {"chongming_task"}


def test_import_is_quick(tmp_path):
    """A script or a command line that only imports the library does not feel it."""
    best, until = import_once(tmp_path)[0], time.monotonic() + PATIENCE_SECONDS
    while best >= BUDGET_MILLISECONDS and time.monotonic() < until:
        best = min(best, import_once(tmp_path)[0])
    assert best < BUDGET_MILLISECONDS, f"importing took {best:.0f} ms at best"
