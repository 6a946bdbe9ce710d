"""The suite's own rules can fail: a leak is told, a required test may not be skipped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
CONFTEST = """
from tests.conftest import *
from tests.support import leaks as _leaks
_leaks.PATIENCE_SECONDS = 0.3
"""


@pytest.fixture
def outcome(pytester, monkeypatch):
    """Runs one test file under the suite's conftest, in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("PYTEST_ADDOPTS", "CHONGMING_REQUIRE", "COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers = browser:\n    notebook:\n    postgres:\n    abandons_threads:\n")

    def run(body: str) -> pytest.RunResult:
        pytester.makepyfile(body)
        return pytester.runpytest_subprocess("-rs", "-p", "no:randomly", "-p", "no:cacheprovider")

    return run


def test_a_library_thread_left_running_is_told(outcome):
    """The name of the thread stands in the message."""
    result = outcome("""
        import threading
        def test_it():
            threading.Thread(target=threading.Event().wait, name="chongming-worker-1", daemon=True).start()
    """)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*thread 'chongming-worker-1' still runs*"])


def test_a_marked_test_may_abandon_threads(outcome):
    """Giving up a stuck worker is what some tests are about."""
    result = outcome("""
        import threading, pytest
        @pytest.mark.abandons_threads
        def test_it():
            threading.Thread(target=threading.Event().wait, name="chongming-worker-1", daemon=True).start()
    """)
    result.assert_outcomes(passed=1)


def test_a_child_process_left_running_is_told(outcome):
    """Its command line stands in the message."""
    result = outcome("""
        import subprocess, sys
        child = None
        def test_it():
            global child
            child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        def test_end():
            child.communicate()
    """)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*child process * still runs: *input()*"])


def test_leaked_file_descriptors_are_told(outcome):
    """A few are forgiven: caches open files."""
    result = outcome("""
        import os
        def test_it():
            for _ in range(20):
                os.dup(1)
    """)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*20 more file descriptors are open*"])


def test_a_missing_need_skips_with_its_reason(outcome):
    """Without a server the test is skipped, and says what to install."""
    result = outcome(NO_SERVER)
    result.assert_outcomes(skipped=1)
    assert "no server here" in result.stdout.str()


def test_a_required_need_that_is_missing_fails(outcome, monkeypatch):
    """CI names what must run; a skip of it is a failure."""
    monkeypatch.setenv("CHONGMING_REQUIRE", "postgres")
    result = outcome(NO_SERVER)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*required in this run (postgres), yet skipped*"])


def test_a_misspelt_requirement_is_told():
    """A typing error must not turn the rule off."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/unit/test_import.py"],
        cwd=ROOT,
        env={"CHONGMING_REQUIRE": "brwoser"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert "brwoser" in done.stdout + done.stderr


NO_SERVER = """
    import pytest, tests.conftest
    tests.conftest.MISSING["postgres"] = lambda: "no server here"
    @pytest.mark.postgres
    def test_it():
        pass
"""
