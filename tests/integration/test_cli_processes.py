"""The command line in processes of its own: several shells on one database, signals, terminals, pipes, passwords."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from chongming_task import SqliteTaskStore
from chongming_task.core.ports import Write
from chongming_task.core.records import TaskSnapshot
from chongming_task.core.states import TaskStatus as S
from chongming_task.runtime.ids import new_id
from chongming_task.stores.open import open_store
from chongming_task.testing import check_audit

HERE = Path(__file__).parent
PATIENCE = 30.0
COMMAND = [sys.executable, "-m", "chongming_task"]


class Place:
    """Shells on one database, which the environment names."""

    def __init__(self, db, folder) -> None:
        self.db = str(db)
        self.folder = folder
        ours = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.env = ours | {"CHONGMING_TASK_DB": self.db}
        for name in ("NO_COLOR", "PYTHONUNBUFFERED"):  # a pipe that breaks within one unbuffered write is not noticed
            self.env.pop(name, None)

    def __call__(self, *words, **env):
        """One command, to its end."""
        return subprocess.run(
            [*COMMAND, *words], cwd=HERE, env=self.env | env, capture_output=True, text=True, timeout=PATIENCE
        )

    @contextmanager
    def start(self, *words, **options):
        """One that goes on meanwhile."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        with subprocess.Popen([*COMMAND, *words], cwd=HERE, env=self.env, **options) as process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def run(self, *words):
        """A task that runs in a shell of its own; gives the process and the record's id."""
        with self.start("run", "--tasks", "cli_tasks", *words) as process:
            id_ = next(found[1] for line in process.stderr if (found := re.search(r"started as (\S+)", line)))
            yield process, id_

    def task(self, id_):
        return json.loads(self("status", id_, "--json").stdout)["task"]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request, tmp_path):
    """A database of each kind."""
    return Place(
        tmp_path / "runs.db" if request.param == "sqlite" else request.getfixturevalue("postgres_dsn"), tmp_path
    )


@pytest.fixture
def files(tmp_path):
    """One in a file."""
    return Place(tmp_path / "runs.db", tmp_path)


def until(process, wanted):
    """Read JSON lines until one is wanted."""
    for line in process.stdout:
        document = json.loads(line)
        if wanted(document):
            return document
    raise AssertionError(f"it ended first: {process.stderr.read()}")


def until_status(process, status):
    return until(process, lambda found: [task["status"] for task in found["tasks"]] == [status])


def test_the_demo(place):
    """Run in one shell, watch, pause, resume, stop, retry and read logs from others."""
    gate = place.folder / "gate"
    words = ("travel", "--args", json.dumps([str(gate)]), "--retry", "3", "--tag", "demo")
    with place.run(*words) as (runner, id_), place.start("ps", "--all", "--watch", "--json") as watcher:
        until_status(watcher, "running")
        end = id_[-8:]
        with place.start("logs", "-f", end) as reader:
            assert reader.stdout.readline() == "on the way 重明\n"
            for verb, status in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
                done = place(verb, end, "--reason", f"demo {verb}", "--wait", "20")
                assert (done.returncode, done.stdout) == (0, f"{verb} travel ({end}): {status}\n"), done.stderr
                until_status(watcher, status)
            assert reader.wait(PATIENCE) == 0
        assert runner.wait(PATIENCE) == 8
        assert "travel: stopped" in runner.stderr.read()
        refused = place("retry", end)
        assert refused.returncode == 4
        assert "--tasks MODULE" in refused.stdout
        gate.touch()
        again = place("retry", end, "--tasks", "cli_tasks")
        assert again.returncode == 0, again.stdout + again.stderr
        until_status(watcher, "succeeded")
    told = json.loads(place("status", "travel", "--json").stdout)
    assert told["task"]["result"] == "attempt 2"
    assert [each["status"] for each in told["attempts"]] == ["stopped", "succeeded"]
    asked = [edge["reason"] for edge in told["transitions"] if edge["actor"].startswith("cli")]
    assert asked == ["demo pause", "demo resume", "demo stop", None]
    assert [each["verb"] for each in told["commands"]] == ["pause", "resume", "stop"]
    page = place("status", end).stdout
    assert "demo pause" in page
    assert "Asked from elsewhere" in page
    store = open_store(place.db)
    check_audit(store, settled=True)
    store.close()


def test_events_are_followed_across_processes(place):
    """Each change once, as it happens."""
    assert place("run", "--tasks", "cli_tasks", "count", "--args", "[1]").returncode == 0
    with place.start("events", "-f", "--json", "--limit", "1") as follower:
        assert until(follower, lambda event: True)["to_status"] == "succeeded"
        assert place("run", "--tasks", "cli_tasks", "count", "--args", "[1]").returncode == 0
        seen = [until(follower, lambda event: True)["to_status"] for _ in range(4)]
        assert seen == ["queued", "starting", "running", "succeeded"]
        follower.send_signal(signal.SIGINT)
        assert follower.wait(PATIENCE) == 130
        assert follower.stderr.read() == ""


def test_ctrl_c_stops_gracefully(files):
    """Once is enough for a task that obeys."""
    with files.run("hold") as (runner, id_):
        runner.send_signal(signal.SIGINT)
        assert runner.wait(PATIENCE) == 130
        assert "stopping; Ctrl-C again" in runner.stderr.read()
    assert files.task(id_)["status"] == "stopped"


@pytest.mark.parametrize(("executor", "code", "status"), [("process", 130, "stopped"), ("thread", 7, "lost")])
def test_ctrl_c_twice_stops_at_once(files, executor, code, status):
    """A process is killed; a thread that does not obey is lost, and holds nobody up."""
    with files.run("deaf", "--executor", executor, "--grace", "600") as (runner, id_):
        assert runner.stdout.readline() == "deaf\n"
        runner.send_signal(signal.SIGINT)
        assert next(line for line in runner.stderr if "stopping; Ctrl-C again" in line)
        assert runner.poll() is None
        runner.send_signal(signal.SIGINT)
        assert runner.wait(PATIENCE) == code
    assert files.task(id_)["status"] == status


def test_what_a_killed_shell_has_left_is_told_and_reconciled(files):
    """Its record says running until somebody looks."""
    with files.run("hold") as (runner, id_):
        runner.kill()
        runner.wait(PATIENCE)
    assert "its process is gone" in files("ps").stdout
    assert files("stop", id_).returncode == 4
    assert files.task(id_)["status"] == "lost"
    assert files("reconcile").stdout.startswith("nothing to do")


def through_terminal(place, *words, **env):
    """What a command shows on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, *words], cwd=HERE, env=place.env | env, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], PATIENCE)[0]:
            try:
                shown += os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
        os.close(ours)
    return process.returncode, shown.decode()


def test_a_terminal_shows_a_line_that_changes(files):
    """Progress in place; what the task prints above it."""
    code, shown = through_terminal(files, "run", "--tasks", "cli_tasks", "count", "--args", "[300]", TERM="xterm")
    assert code == 0
    assert "\r\x1b[Kcount: " in shown
    assert "300/300 rows" in shown or "succeeded" in shown
    assert "at 299\r\n" in shown


def test_a_terminal_is_redrawn_and_never_scrolled(files):
    """The newest that fit, with titles; Ctrl-C ends it."""
    fill(files.db, 200)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 60, 0, 0))
    env = files.env | {"TERM": "xterm"}
    words = [*COMMAND, "ps", "--all", "--watch"]
    with subprocess.Popen(words, cwd=HERE, env=env, stdout=theirs, stderr=subprocess.PIPE) as process:
        shown = b""
        while shown.count(b"\x1b[H\x1b[2J") < 2:
            assert select.select([ours], [], [], PATIENCE)[0]
            shown += os.read(ours, 65_536)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr.read() == b""
    os.close(ours), os.close(theirs)
    first = shown.decode().split("\x1b[H\x1b[2J")[1].split("\r\n")
    assert len(first) <= 10
    assert first[0].startswith("ID ")
    assert "task-199" in first[-3]
    assert all(len(re.sub(r"\x1b\[\d*m", "", line)) <= 60 for line in first[:-2])


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)]
)
def test_colours_are_for_terminals_that_want_them(files, env, coloured):
    """And never for a pipe."""
    assert files("run", "--tasks", "cli_tasks", "fails").returncode == 1
    code, shown = through_terminal(files, "ps", "--all", **{"TERM": "xterm"} | env)
    assert code == 0
    assert ("\x1b[31mfailed\x1b[0m" in shown) is coloured
    assert "\x1b" not in files("ps", "--all").stdout


def fill(path, number):
    store = SqliteTaskStore(path)
    now = datetime.now(UTC)
    for first in range(0, number, 1_000):
        tasks = [
            TaskSnapshot(new_id(), f"task-{each}", now, owner="gone:1", status=S.QUEUED if each % 2 else S.SUCCEEDED)
            for each in range(first, min(first + 1_000, number))
        ]
        store.commit([Write(task, None) for task in tasks])
    store.close()


def test_a_reader_that_goes_away_is_no_error(files):
    """As with head: quiet, and a code of its own."""
    fill(files.db, 3_000)
    for words in (("ps", "--all", "--limit", "0"), ("ps", "--all", "--limit", "0", "--json")):
        with files.start(*words) as process:
            process.stdout.read(10)
            process.stdout.close()
            assert process.wait(PATIENCE) == 141
            assert process.stderr.read() == ""


def test_a_task_outlives_its_readers(files):
    """It is run for what it does, not for what it prints."""
    with files.run("count", "--args", "[200]") as (runner, id_):
        runner.stdout.close()
        runner.stderr.close()
        assert runner.wait(PATIENCE) == 0
    assert files.task(id_)["status"] == "succeeded"


@pytest.mark.slow
def test_ps_shows_the_newest_of_many(files):
    """Whatever is listed: two thousand are there, fifty are shown. What it costs is measured beside the tests."""
    fill(files.db, 2_000)
    for words in (("ps",), ("ps", "--all")):
        lines = files(*words).stdout.splitlines()
        assert sum("task-" in line for line in lines) == 50
    assert len(json.loads(files("ps", "--status", "queued", "--json").stdout)["tasks"]) == 50


def test_help_loads_no_store_and_no_extra(files):
    """Nor what a verb needs."""
    code = (
        "import sys; from chongming_task.cli.main import main; main(['--help']); "
        "heavy = {'sqlite3', 'psycopg', 'asyncio', 'pandas', 'chongming_task.cli.commands'}; "
        "print(sorted(heavy & sys.modules.keys()))"
    )
    env = {name: value for name, value in files.env.items() if not name.startswith("COV")}  # it loads some itself
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, env=env)
    assert done.stdout.splitlines()[-1] == "[]"


# passwords


@pytest.mark.postgres
def test_a_password_shows_nowhere(postgres_dsn, tmp_path):
    """Given by the environment: not in the list of processes, help or errors; workers are processes, too."""
    dsn = postgres_dsn.replace("postgres@", "postgres:hunter2@")
    place = Place(dsn, tmp_path)
    with place.run("argv", "--executor", "process") as (runner, id_):
        me = psutil.Process(runner.pid)
        lines = [me.cmdline(), *(child.cmdline() for child in me.children(recursive=True))]
        assert runner.wait(PATIENCE) == 0
    lines.append(place.task(id_)["result"])
    assert "hunter2" not in str(lines)
    told = ""
    for words in (
        ["--help"],
        ["ps"],
        ["ps", dsn],
        [dsn],
        ["--dbb", dsn],
        ["stop", dsn],
        ["status", "x", f"--dbx={dsn}"],
    ):
        done = place(*words)
        told += done.stdout + done.stderr
    for broken in (
        dsn.replace("/postgres?", "/nowhere?"),
        dsn.replace("127.0.0.1", "127.0.0.1:1"),
        dsn.replace("@", ""),
    ):
        done = Place(broken, tmp_path)("ps")
        assert done.returncode in (2, 6)
        told += done.stdout + done.stderr
    assert "hunter2" not in told
    assert dsn not in told


@pytest.mark.postgres
def test_a_password_in_an_option_is_warned_of_once(postgres_dsn, files):
    """It works, and says what is better."""
    dsn = postgres_dsn.replace("postgres@", "postgres:hunter2@")
    done = files("--db", dsn, "run", "--tasks", "cli_tasks", "count", "--args", "[1]")
    assert done.returncode == 0
    assert done.stderr.count("warning: the list of processes shows the password") == 1
    done = files("--db", dsn, "stop", "count")
    assert done.stderr.count("warning") == 1
    assert "hunter2" not in done.stderr


@pytest.mark.postgres
def test_a_password_of_pgpass_shows_nowhere(postgres_dsn, tmp_path):
    """The server's own way to keep it: found, used, never told."""
    passwords = tmp_path / ".pgpass"
    passwords.write_text("*:*:*:*:hunter2\n")
    passwords.chmod(0o600)
    place = Place(postgres_dsn, tmp_path)
    place.env["PGPASSFILE"] = str(passwords)
    done = place("run", "--tasks", "cli_tasks", "fails")
    assert done.returncode == 1
    told = done.stdout + done.stderr
    for broken in (postgres_dsn.replace("/postgres?", "/nowhere?"), "postgresql://me@127.0.0.1:1/x"):
        done = place("ps", CHONGMING_TASK_DB=broken)
        assert done.returncode == 6, done.stderr
        told += done.stderr
    assert "hunter2" not in told


@pytest.mark.postgres
def test_a_server_without_our_tables_or_with_newer_ones(postgres_dsn, tmp_path):
    """Nothing is made there but by run; a newer schema is left alone."""
    import psycopg

    place = Place(postgres_dsn, tmp_path)
    for words in (["ps"], ["stop", "x"], ["prune", "--keep", "1"]):
        done = place(*words)
        assert (done.returncode, "the tables are not there" in done.stderr) == (6, True), done.stderr
    assert place("run", "--tasks", "cli_tasks", "count", "--args", "[1]").returncode == 0
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("UPDATE chongming_meta SET value = '99' WHERE name = 'schema_version'")
    for words in (["ps"], ["stop", "x"], ["run", "--tasks", "cli_tasks", "fails"]):
        done = place(*words)
        assert (done.returncode, "newer" in done.stderr) == (6, True), done.stderr


def test_the_script_is_what_the_package_says():
    """The entry point leads to the command line."""
    import tomllib

    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"chongming-task": "chongming_task.cli.main:main"}
