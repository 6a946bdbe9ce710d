"""Every verb of the command line: what people read, what scripts read, and every exit code."""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from chongming_task import Controller, Failure, FailureKind, SqliteTaskStore, StoreError
from chongming_task.cli.exit_codes import ExitCode as Code
from chongming_task.cli.main import main
from chongming_task.core.ports import Write
from chongming_task.core.records import AttemptRecord, OutputLine, OwnerLease, TaskSnapshot, Transition
from chongming_task.core.states import TERMINAL
from chongming_task.core.states import TaskStatus as S
from chongming_task.runtime.ids import new_id
from chongming_task.runtime.ownership import this_process
from chongming_task.testing import check_audit
from tests.integration.cli_tasks import hold, travel

HERE = Path(__file__).parent
PATIENCE = 20.0
READING = ["ps", "status X", "logs X", "events", "buckets", "reconcile --dry-run"]
VERBS = ["stop", "cancel", "pause", "resume", "retry", "skip"]


class Shell:
    """Runs the command line in this process, on one database."""

    def __init__(self, path, capsys) -> None:
        self.path = path
        self._capsys = capsys

    def __call__(self, *words, db=None):
        self._capsys.readouterr()
        self.code = main(["--db", str(db or self.path), *(part for word in words for part in word.split())])
        self.out, self.err = self._capsys.readouterr()
        return self.code

    def document(self, *words, db=None):
        self(*words, "--json", db=db)
        return json.loads(self.out)


@pytest.fixture
def shell(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.delenv("CHONGMING_TASK_DB", raising=False)
    return Shell(tmp_path / "runs.db", capsys)


@pytest.fixture
def store(shell):
    with closing(SqliteTaskStore(shell.path)) as made:
        yield made
        check_audit(made)


@pytest.fixture
def worker(store):
    """A controller in another place, whose tasks are looked at and steered."""
    controller = Controller(store, echo=False)
    yield controller
    controller.close(timeout=5, close_store=False)


WAYS = {  # how a record has come to its status
    S.PENDING: [],
    S.QUEUED: [S.QUEUED],
    S.PAUSED: [S.QUEUED, S.PAUSED],
    S.RUNNING: [S.QUEUED, S.STARTING, S.RUNNING],
    S.SUCCEEDED: [S.QUEUED, S.STARTING, S.RUNNING, S.SUCCEEDED],
    S.FAILED: [S.QUEUED, S.STARTING, S.RUNNING, S.FAILED],
}


TRIGGERS = {S.PAUSED: "user:pause", S.STARTING: "scheduler:dispatch"}


def put(store, name="load", status=S.SUCCEEDED, **fields):
    """A stored record of a controller that is gone."""
    at = datetime.now(UTC) - timedelta(hours=1)
    way = WAYS[status]
    ended = {"ended_at": at} if status in TERMINAL else {}
    if status is S.FAILED:
        ended["failure"] = Failure(FailureKind.EXCEPTION, "boom")
    ran = {"started_at": at, "attempt": 1} if S.RUNNING in way else {}
    task = TaskSnapshot(new_id(), name, at, spec_name=name, owner="gone:1", max_attempts=3)._replace(
        status=status, status_version=len(way), live=status is S.RUNNING, **ended, **ran, **fields
    )
    trail = [
        Transition(task.task_id, number, *edge, TRIGGERS.get(edge[1], "test:put"), "test", None, at)
        for number, edge in enumerate(pairwise([S.PENDING, *way]), start=1)
    ]
    attempts = (AttemptRecord(task.task_id, 1, status, at, owner="gone:1", **ended),) if ran else ()
    store.commit([Write(task, None, tuple(trail), attempts)])
    return task


# looking


def test_ps_lists_what_has_not_ended(shell, worker):
    """The newest last; what has ended on demand; the counts of all below."""
    worker.submit(pow, 2, 3, name="quick").wait(PATIENCE)
    handle = worker.submit(hold, name="slow", tags={"io"})
    handle.wait_for("running", timeout=PATIENCE)
    assert shell("ps") == Code.DONE
    assert "slow" in shell.out
    assert "quick" not in shell.out
    assert "in all: 1 running, 1 succeeded" in shell.out
    assert handle.id[-8:] in shell.out
    shell("ps --all")
    assert [line.split()[1] for line in shell.out.splitlines()[1:3]] == ["quick", "slow"]
    shell("ps --all --limit 1")
    assert "quick" not in shell.out
    assert "the newest 1, --limit shows more" in shell.out
    shell("ps --status succeeded,failed")
    assert "quick" in shell.out
    assert "slow" not in shell.out
    shell("ps --tag io")
    assert "slow" in shell.out
    shell("ps --tag nothing")
    assert "none of these" in shell.out
    assert shell("ps --status nonsense") == Code.USAGE
    assert "the statuses are" in shell.err


def test_ps_of_a_pipeline(shell, store):
    """Its nodes, and its counts."""
    put(store, "one", pipeline_run_id="nightly:1", node="one")
    put(store, "two", pipeline_run_id="nightly:2", node="two")
    found = shell.document("ps --all --pipeline nightly:1")
    assert [task["name"] for task in found["tasks"]] == ["one"]
    assert found["counts"]["succeeded"] == 1


def test_ps_says_when_all_have_ended_and_when_there_is_nothing(shell, store):
    """An empty list is explained."""
    shell("ps")
    assert shell.out == "in all: no tasks\n"
    put(store, status=S.FAILED)
    shell("ps")
    assert shell.out == "all have ended, --all shows them; in all: 1 failed\n"


def test_ps_shows_what_nobody_watches(shell, store):
    """A status that says running is not believed when its process is gone."""
    put(store, status=S.RUNNING)
    shell("ps")
    assert "its process is gone" in shell.out
    assert shell.document("ps")["tasks"][0]["watched"] is False


def test_ps_watch_shows_every_change_until_ctrl_c(shell, worker, monkeypatch):
    """Where no terminal is, one document a change."""
    seen = []
    handle = worker.submit(hold)

    def lines(self, text):
        documents = [json.loads(line) for line in text]
        seen.extend(document["tasks"][0]["status"] if document["tasks"] else "none" for document in documents)
        if seen[-1] == "none":
            raise KeyboardInterrupt
        if seen[-1] == "running":
            handle.stop(wait=False)

    monkeypatch.setattr("chongming_task.cli.console.Console.lines", lines)
    assert shell("--json ps --watch") == Code.INTERRUPTED
    assert seen[-1] == "none"
    assert "running" in seen


def test_status_tells_all_about_a_record(shell, worker):
    """Attempts, changes, the failure; the traceback on demand."""
    handle = worker.submit(int, "x", name="broken")
    handle.wait(PATIENCE)
    assert shell("status", handle.id) == Code.DONE
    assert "failure     exception: ValueError: invalid literal" in shell.out
    assert "worker:raised" in shell.out
    assert "Traceback" not in shell.out
    shell("status -v", handle.id[-8:])
    assert "Traceback" in shell.out
    told = shell.document("status broken")
    assert told["task"]["id"] == handle.id
    assert told["task"]["failure"]["kind"] == "exception"
    assert [edge["to_status"] for edge in told["transitions"]] == ["queued", "starting", "running", "failed"]
    assert [attempt["status"] for attempt in told["attempts"]] == ["failed"]
    assert told["commands"] == []


def test_logs_show_lines_and_gaps_and_no_escapes(shell, store):
    """The newest on demand, with times on demand."""
    task = put(store)
    at = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    store.append_output(
        [
            OutputLine(task.task_id, 1, 1, "stdout", "one \x1b[31mred", at),
            OutputLine(task.task_id, 1, 4, "log", "two", at, level=30),
        ]
    )
    assert shell("logs load") == Code.DONE
    assert shell.out == "one red\n[2 lines were left out]\nWARNING two\n"
    shell("logs load --tail 1 -t")
    assert shell.out == "03:04:05.000Z WARNING two\n"
    lines = shell.document("logs load")["lines"]
    assert [(line["seq"], line["stream"], line["level"]) for line in lines] == [(1, "stdout", None), (4, "log", 30)]
    assert shell("logs load -f --json") == Code.DONE
    assert [json.loads(line)["seq"] for line in shell.out.splitlines()] == [1, 4]


def test_logs_follow_until_the_end(shell, worker, tmp_path):
    """What was there, what comes, and nothing twice."""
    gate = tmp_path / "gate"
    handle = worker.submit(travel, str(gate))
    handle.wait_for("running", timeout=PATIENCE)
    opener = threading.Timer(0.3, gate.touch)
    opener.start()
    assert shell("logs -f", handle.id) == Code.DONE
    opener.join()
    assert shell.out.splitlines() == ["on the way 重明", "WARNING no ␛[31mgate␛[0m yet"]


@pytest.mark.parametrize(
    ("tail", "shown"), [("", ["1", "2", "5"]), ("--tail 0", []), ("--tail 1", ["5"]), ("--tail 9", ["1", "2", "5"])]
)
def test_logs_follow_after_what_the_tail_leaves_out(shell, store, tail, shown):
    """No lines of before with 0, and all of them without a tail."""
    task, at = put(store), datetime.now(UTC)
    store.append_output([OutputLine(task.task_id, 1, seq, "stdout", str(seq), at) for seq in (1, 2, 5)])
    assert shell("logs -f load", tail) == Code.DONE
    assert [line for line in shell.out.splitlines() if "left out" not in line] == shown


def test_logs_with_tail_0_still_follow(shell, store, worker, tmp_path, monkeypatch):
    """What comes is shown; only what was there is not."""
    gate = tmp_path / "gate"
    handle = worker.submit(travel, str(gate))
    handle.wait_for("running", timeout=PATIENCE)
    before, late = (OutputLine(handle.id, 1, seq, "stdout", str(seq), datetime.now(UTC)) for seq in (100, 101))
    store.append_output([before])
    wait = SqliteTaskStore.wait_for_change

    def write_meanwhile(self, timeout, *mark):
        if self is not store and timeout and not gate.exists():  # it has looked, and found nothing new
            store.append_output([late])
            gate.touch()
        return wait(self, timeout, *mark)

    monkeypatch.setattr(SqliteTaskStore, "wait_for_change", write_meanwhile)
    assert shell("logs -f --tail 0", handle.id) == Code.DONE
    assert shell.out.splitlines() == ["101"]


def test_logs_follow_reads_each_line_once(shell, store, monkeypatch):
    """And asks who watches only when no line came: a long log is not read to be thrown away."""
    task, at = put(store), datetime.now(UTC)
    store.append_output([OutputLine(task.task_id, 1, seq, "stdout", str(seq), at) for seq in (1, 2)])
    read, asked = [], []
    output, leases = SqliteTaskStore.output, SqliteTaskStore.owner_leases

    def counted(self, *args, **kwargs):
        found = output(self, *args, **kwargs)
        read.append(len(found))
        return found

    def noted(self):
        asked.append(len(read))
        return leases(self)

    monkeypatch.setattr(SqliteTaskStore, "output", counted)
    monkeypatch.setattr(SqliteTaskStore, "owner_leases", noted)
    assert shell("logs -f load") == Code.DONE
    assert sum(read) == 2
    assert 1 not in asked  # after the look that found them


def test_logs_do_not_follow_what_nobody_watches(shell, store):
    """They would follow for ever."""
    put(store, status=S.RUNNING)
    assert shell("logs -f load") == Code.LOST
    assert "its process is gone" in shell.err


def test_events_of_one_and_of_all(shell, worker):
    """The feed, and one record's part of it."""
    first = worker.submit(pow, 2, 3, name="first")
    first.wait(PATIENCE)
    worker.submit(pow, 2, 3, name="second").wait(PATIENCE)
    assert shell("events") == Code.DONE
    assert len(shell.out.splitlines()) == 8
    shell("events --limit 3")
    assert len(shell.out.splitlines()) == 3
    assert "second  running → succeeded  worker:returned by engine" in shell.out
    shell("events first")
    assert {line.split()[3] for line in shell.out.splitlines()} == {"first"}
    told = shell.document("events")["events"]
    assert [event["cursor"] for event in told] == sorted({event["cursor"] for event in told})
    assert {event["name"] for event in told} == {"first", "second"}
    assert shell.document("events --limit 0") == {"events": told}


def test_buckets_show_owners_holes_and_overlaps(shell, store):
    """The star is for controllers of this machine."""
    controller = Controller(store, owned_buckets=range(60), echo=False, owner="here")
    far = OwnerLease("far", "elsewhere:1:2:3", datetime.now(UTC) + timedelta(hours=1), (59, 60))
    store.renew_owner(far)
    controller.submit(hold, bucket_key="tenant-1").wait_for("running", timeout=PATIENCE)
    try:
        assert shell("buckets") == Code.DONE
        told = shell.document("buckets")
    finally:
        controller.close(close_store=False)
    assert told["num_buckets"] == 64
    assert told["holes"] == [61, 62, 63]
    assert told["overlaps"] == {"59": ["far", "here"]}
    assert {owner["owner"]: owner["here"] for owner in told["owners"]} == {"far": False, "here": True}
    assert list(told["open"].values()) == [1]


def test_buckets_of_people(shell, store):
    """The same in words."""
    store.fix_meta("num_buckets", "4")
    store.renew_owner(OwnerLease("here", this_process(), datetime.now(UTC) + timedelta(hours=1), (0, 1)))
    put(store, status=S.QUEUED, bucket=0)
    put(store, status=S.QUEUED, bucket=3)
    shell("buckets")
    assert "*  here        0-1" in shell.out
    assert "holes, which nobody takes: 2-3" in shell.out
    assert "1 open tasks are in holes" in shell.out
    assert "nobody" in shell.out


# steering


@pytest.fixture
def travelling(worker, tmp_path):
    """A task that another controller runs."""
    handle = worker.submit(travel, str(tmp_path / "gate"), retry=None)
    handle.wait_for("running", timeout=PATIENCE)
    return handle


def test_a_task_is_steered_from_elsewhere(shell, travelling):
    """Each verb waits until it has come true; the trail says who asked, and why."""
    end = travelling.id[-8:]
    assert shell("pause", end, "--reason lunch") == Code.DONE
    assert shell.out == f"pause travel ({end}): paused\n"
    assert travelling.status == "paused"
    assert shell("resume", end) == Code.DONE
    assert shell("stop", end) == Code.DONE
    assert travelling.status == "stopped"
    asked = [(edge.trigger, edge.reason) for edge in travelling.transitions if edge.actor.startswith("cli")]
    assert asked == [("user:pause", "lunch"), ("user:resume", None), ("user:stop", None)]
    assert shell("stop", end) == Code.DONE
    assert shell("cancel", end) == Code.REFUSED
    assert "it was stopped" in shell.out
    assert shell("retry", end) == Code.REFUSED
    assert "--force" in shell.out
    assert shell("retry", end, "--force") == Code.DONE
    assert shell("cancel", end) == Code.DONE
    assert travelling.wait(PATIENCE) == "cancelled"


def test_skip_and_several_at_once(shell, worker):
    """One line each; the worst of their codes."""
    one, two = (worker.submit(hold, name=name, start=False) for name in ("one", "two"))
    worker.submit(pow, 2, 3, name="three").wait(PATIENCE)
    assert shell("skip one two three") == Code.REFUSED
    assert [line.split()[1] for line in shell.out.splitlines()] == ["one", "two", "three"]
    assert (one.wait(PATIENCE), two.wait(PATIENCE)) == ("skipped", "skipped")
    results = shell.document("skip one three")["results"]
    assert [(each["name"], each["confirmed"], each["code"], each["status"]) for each in results] == [
        ("one", True, 0, "skipped"),
        ("three", False, 4, "succeeded"),
    ]


def test_what_is_not_confirmed_in_time_is_said_so(shell, store):
    """Asked of one that lives and says nothing; the command is there for it to take."""
    store.renew_owner(OwnerLease("gone:1", None, datetime.now(UTC) + timedelta(hours=1)))
    task = put(store, status=S.RUNNING)
    assert shell("stop load --wait 0.1") == Code.UNCONFIRMED
    assert "not answered yet" in shell.out
    assert [command.verb for command in store.commands(task.task_id)] == ["stop"]
    assert shell.document("pause load --wait 0")["results"][0]["confirmed"] is False


def test_a_thread_that_does_not_obey_is_lost(shell, worker):
    """Not stopped: nobody knows what it does."""
    leave = threading.Event()
    handle = worker.submit(leave.wait, 30, name="deaf")
    handle.wait_for("running", timeout=PATIENCE)
    assert shell("stop deaf --now") == Code.LOST
    assert shell.code == 7
    assert handle.status == "lost"
    leave.set()


@pytest.mark.parametrize(
    ("status", "verb", "code", "becomes"),
    [
        (S.RUNNING, "stop", Code.REFUSED, S.LOST),  # the truth comes first
        (S.QUEUED, "stop", Code.DONE, S.STOPPED),
        (S.QUEUED, "skip", Code.DONE, S.SKIPPED),
        (S.PENDING, "cancel", Code.DONE, S.CANCELLED),
        (S.PENDING, "skip", Code.DONE, S.SKIPPED),
        (S.FAILED, "skip", Code.DONE, S.SKIPPED),
        (S.QUEUED, "pause", Code.REFUSED, S.QUEUED),
        (S.PAUSED, "pause", Code.DONE, S.PAUSED),
        (S.PAUSED, "resume", Code.REFUSED, S.PAUSED),
        (S.FAILED, "retry", Code.REFUSED, S.FAILED),
    ],
)
def test_what_nobody_watches_is_steered_here(shell, store, *, status, verb, code, becomes):
    """Applied to the record itself, and nothing is taken over that would end with this command."""
    task = put(store, status=status)
    assert shell(verb, "load") == code, shell.out + shell.err
    assert store.get(task.task_id).status is becomes


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_what_is_unknown(shell, store, verb):
    """An id that nobody has, and one that several have."""
    assert shell(verb, "nothing") == Code.NOT_FOUND
    assert "no task 'nothing'" in shell.err
    put(store), put(store)
    assert shell(verb, "load") == Code.USAGE
    assert "means 2 tasks" in shell.err
    assert shell(verb) == Code.USAGE


def test_retry_runs_it_here_when_its_module_is_named(shell, store, tmp_path):
    """A restartable one whose process is gone; with what it prints now, not with what it printed then."""
    gate = tmp_path / "gate"
    gate.touch()
    task = put(store, "travel", status=S.FAILED, inputs={"args": [str(gate)], "kwargs": {}}, executor="thread")
    store.append_output([OutputLine(task.task_id, 1, 1, "stdout", "long ago", datetime.now(UTC))])
    assert shell("retry travel") == Code.REFUSED
    assert "--tasks MODULE" in shell.out
    assert shell("retry travel --tasks cli_tasks") == Code.DONE, shell.out + shell.err
    assert "on the way" in shell.out
    assert "long ago" not in shell.out
    assert shell.document("status travel")["task"]["result"] == "attempt 2"


def test_what_runs_here_is_shown_from_its_own_last_line(shell, store, tmp_path):
    """Whatever had been written of another, which is refused."""
    gate = tmp_path / "gate"
    gate.touch()
    runs = put(store, "travel", status=S.FAILED, inputs={"args": [str(gate)], "kwargs": {}}, executor="thread")
    broken = put(store, "travel", status=S.FAILED, inputs={"args": 3, "kwargs": {}}, executor="thread")
    store.append_output([OutputLine(runs.task_id, 1, 1, "stdout", "long ago", datetime.now(UTC))])
    assert shell("retry", runs.task_id, broken.task_id, "--tasks cli_tasks") == Code.REFUSED
    assert "its stored inputs are no arguments" in shell.out
    assert "on the way" in shell.out
    assert "long ago" not in shell.out
    assert store.get(runs.task_id).status is S.SUCCEEDED


# tending


def test_reconcile_tells_the_truth(shell, store):
    """First what would be, which changes nothing; then what is."""
    lost, never = put(store, "ran", status=S.RUNNING), put(store, "waits", status=S.QUEUED)
    told = shell.document("reconcile --dry-run")
    assert (told["dry_run"], told["lost"], told["cancelled"]) == (True, [lost.task_id], [never.task_id])
    assert store.get(lost.task_id).status is S.RUNNING
    assert shell("reconcile") == Code.DONE
    assert "1 lost, 1 cancelled; 0 watched and left alone" in shell.out
    assert "gone:1" in shell.out
    assert (store.get(lost.task_id).status, store.get(never.task_id).status) == (S.LOST, S.CANCELLED)
    shell("reconcile")
    assert shell.out == "nothing to do; 0 watched and left alone\n"


def test_reconcile_runs_again_what_was_lost(shell, store, tmp_path):
    """And waits for it; its exit code is theirs."""
    assert shell("reconcile --requeue") == Code.USAGE
    assert "--tasks" in shell.err
    gate = tmp_path / "gate"
    gate.touch()
    inputs = {"args": [str(gate)], "kwargs": {}}
    lost = put(store, "travel", status=S.RUNNING, inputs=inputs)
    never = put(store, "travel", status=S.QUEUED, inputs=inputs)
    told = shell.document("reconcile --requeue --tasks cli_tasks")
    assert shell.code == Code.DONE
    assert (told["requeued"], told["adopted"]) == ([lost.task_id], [never.task_id])
    assert {task["status"] for task in told["ran"]} == {"succeeded"}


@pytest.mark.parametrize("words", ["reconcile", "reconcile --dry-run"])
def test_reconcile_looks_once(shell, store, monkeypatch, words):
    """However many orphans there are; and tells who watched them before."""
    for _ in range(3):
        put(store, status=S.RUNNING)
    calls, single = [], []
    reconcile, get = Controller.reconcile, SqliteTaskStore.get

    def counted(self, **options):
        calls.append(options)
        return reconcile(self, **options)

    def noted(self, task_id):
        single.append(task_id)
        return get(self, task_id)

    monkeypatch.setattr(Controller, "reconcile", counted)
    monkeypatch.setattr(SqliteTaskStore, "get", noted)
    assert shell(words) == Code.DONE
    assert len(calls) == 1
    assert single == []
    assert shell.out.count("gone:1") == 3
    assert "3 lost" in shell.out


def test_prune_drops_the_oldest(shell, store):
    """But so many."""
    put(store, "old"), put(store, "new")
    assert shell("prune --keep 1") == Code.DONE
    assert shell.out == "dropped 1 ended task with their history\n"
    assert [task["name"] for task in shell.document("ps --all")["tasks"]] == ["new"]
    assert shell.document("prune --keep 0") == {"dropped": 1}
    assert shell("prune") == Code.USAGE
    assert shell("prune --keep -1") == Code.USAGE


def test_lint_reads_files_folders_and_modules(shell, tmp_path):
    """And runs none of them."""
    bad = tmp_path / "package" / "bad.py"
    bad.parent.mkdir()
    (bad.parent / "__init__.py").write_text("raise SystemExit('imported')\n")
    bad.write_text("from chongming_task import task\n@task\ndef f(ctx, x):\n    for y in x:\n        y.go()\n")
    for target in (str(bad), "package", "package.bad"):
        assert shell("lint", target) == Code.FAILED
        assert "bad.py:4: " in shell.out
        assert "1 loop never reaches a checkpoint" in shell.err
    told = shell.document("lint package")
    assert [(each["line"], each["function"]) for each in told["findings"]] == [(4, "f")]
    assert shell("lint cli_tasks") == Code.DONE
    assert shell("lint nowhere") == Code.NOT_FOUND
    assert shell("lint nowhere.at.all ..") == Code.NOT_FOUND


# running


def test_run_shows_a_task_and_gives_its_end(shell):
    """What it prints, its progress, its result."""
    assert shell('run --tasks cli_tasks count --args [3] --kwargs {"unit":"words"} --name demo --tag io') == Code.DONE
    assert shell.out == "at 0\nat 1\nat 2\n"
    assert "demo: started as" in shell.err
    assert "demo: succeeded after" in shell.err
    told = shell.document("ps --all --tag io")["tasks"][0]
    assert (told["name"], told["task"], told["result"]) == ("demo", "count", {"counted": 3})


def test_run_as_json_is_one_document(shell):
    """What the task prints is not in it: logs has that."""
    told = shell.document("run --tasks cli_tasks count --args [1]")
    assert told["task"]["status"] == "succeeded"


def test_run_of_a_task_that_fails(shell):
    """The message on stderr, without its colours; one try, or as many as are asked for."""
    assert shell("run --tasks cli_tasks fails") == Code.FAILED
    assert "ValueError: boom" in shell.err
    assert "\x1b" not in shell.err
    assert shell("run --tasks cli_tasks hold --timeout 0.05") == Code.FAILED
    told = shell.document("run --tasks cli_tasks fails --retry 2 --bucket-key k --num-buckets 8")["task"]
    assert told["max_attempts"] == 2
    assert told["bucket"] is not None
    assert shell.code == Code.FAILED
    assert shell("run --tasks cli_tasks count --args [1] --bucket-key k --num-buckets 9") == Code.USAGE


def test_run_goes_on_when_the_store_cannot_be_read(shell, monkeypatch):
    """What a task prints cannot be shown then; that is no reason to stop it."""

    def broken(*_, **__):
        raise StoreError("the server does not answer")

    monkeypatch.setattr(SqliteTaskStore, "output", broken)
    assert shell("run --tasks cli_tasks count --args [3]") == Code.DONE
    assert shell.out == ""


def test_run_brings_an_older_database_up_to_date(shell, tmp_path):
    """As any program does that runs tasks on it."""
    shell.path.write_bytes((HERE.parent / "golden" / "schema-1.db").read_bytes())
    assert shell("run --tasks cli_tasks count --args [1]") == Code.DONE
    assert shell("ps --all") == Code.DONE


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("--tasks cli_tasks cuont", Code.NOT_FOUND, "did you mean 'count'?"),
        ("--tasks cli_tasks helper", Code.NOT_FOUND, "no task 'helper'"),
        ("--tasks cli_tasks fail", Code.NOT_FOUND, "did you mean 'fails'?"),
        ("--tasks nowhere x", Code.NOT_FOUND, "no module 'nowhere'"),
        ("--tasks cli_tasks.deeper x", Code.NOT_FOUND, "no module 'cli_tasks.deeper'"),
        ("--tasks broken x", Code.USAGE, "ZeroDivisionError"),
        ("--tasks needy x", Code.USAGE, "needs 'nowhere_at_all'"),
        ("--tasks twice x", Code.USAGE, "two tasks of twice"),
        ("--tasks cli_tasks count", Code.USAGE, "missing a required argument"),
        ("--tasks cli_tasks count --args 3", Code.USAGE, "a JSON list is expected"),
        ("--tasks cli_tasks count --args [NaN]", Code.USAGE, "no JSON"),
        ("--tasks cli_tasks count --args [", Code.USAGE, "no JSON"),
        ("--tasks cli_tasks count --kwargs []", Code.USAGE, "a JSON object is expected"),
        ("--tasks cli_tasks count --timeout soon", Code.USAGE, "seconds are a number"),
        ("--tasks cli_tasks count --retry 0", Code.USAGE, "1 or more"),
        ("--tasks cli_tasks count --executor fork", Code.USAGE, "invalid choice"),
        ("count", Code.USAGE, "--tasks"),
    ],
)
def test_run_refuses_before_anything_is_made(shell, tmp_path, words, code, said):
    """Misuse of every kind, each with what was expected."""
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "needy.py").write_text("import nowhere_at_all\n")
    twice = "from chongming_task import task\na = task(name='x')(lambda: 1)\nb = task(name='x')(lambda: 2)\n"
    (tmp_path / "twice.py").write_text(twice)
    assert shell("run", words) == code
    assert said in shell.err
    assert shell.out == ""


# databases


@pytest.mark.parametrize("words", [*READING, *(f"{verb} X" for verb in VERBS), "prune --keep 1", "reconcile"])
def test_no_verb_but_run_makes_a_database(shell, tmp_path, words):
    """A misspelt path is told, and leaves no file behind."""
    missing = tmp_path / "missing.db"
    assert shell(words, db=missing) == Code.UNREACHABLE
    assert "no such database" in shell.err
    assert not missing.exists()


@pytest.mark.parametrize(
    "words", [*READING, *(f"{verb} X" for verb in VERBS), "prune --keep 1", "run --tasks cli_tasks x"]
)
@pytest.mark.parametrize("kind", ["newer", "foreign", "garbage"])
def test_a_database_of_another_kind_is_refused(shell, tmp_path, words, kind):
    """A newer schema, somebody else's tables, no database at all; none of them is touched."""
    path = tmp_path / "other.db"
    if kind == "garbage":
        path.write_bytes(b"this is no database, but long enough to look like one" * 40)
    else:
        if kind == "newer":
            SqliteTaskStore(path).close()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE IF NOT EXISTS meta_of_others (x)")
            if kind == "newer":
                connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    before = path.read_bytes()
    words = words.replace(" x", " fails")
    assert shell(words, db=path) == Code.UNREACHABLE, shell.err
    assert "chongming-task: " in shell.err
    assert "Traceback" not in shell.err
    if not words.startswith("run"):
        assert path.read_bytes() == before


def test_an_older_schema_is_left_as_it_is(shell, tmp_path):
    """Steering is no reason to change a database under the programs that use it."""
    path = tmp_path / "old.db"
    path.write_bytes((HERE.parent / "golden" / "schema-1.db").read_bytes())
    for words in ("ps", "stop X", "prune --keep 1"):
        assert shell(words, db=path) == Code.UNREACHABLE
        assert "older than" in shell.err


def test_reading_leaves_writers_alone(shell, store, worker):
    """While somebody holds the write lock, every reading verb answers."""
    put(store, "X")
    with closing(sqlite3.connect(shell.path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for words in READING:
            assert shell(words) == Code.DONE, (words, shell.err)
        connection.execute("ROLLBACK")


def test_a_database_must_be_named_and_may_be_so_in_the_environment(shell, store, monkeypatch, capsys):
    """The option counts more than the variable, and may stand behind the verb."""
    assert main(["ps"]) == Code.USAGE
    assert "CHONGMING_TASK_DB" in capsys.readouterr().err
    monkeypatch.setenv("CHONGMING_TASK_DB", str(shell.path))
    assert main(["ps"]) == Code.DONE
    assert main(["ps", "--db", "nowhere.db"]) == Code.UNREACHABLE
    assert main(["--db", "mysql://me:hunter2@db/x", "ps"]) == Code.USAGE
    told = capsys.readouterr()
    assert "hunter2" not in told.out + told.err


@pytest.mark.parametrize("words", [[], ["fly"], ["ps", "--colour"], ["status"], ["ps", "--limit", "many"]])
def test_misuse_is_two(words, capsys):
    """With the usage."""
    assert main(words) == Code.USAGE
    assert "usage: chongming-task" in capsys.readouterr().err


@pytest.mark.parametrize(
    "verb", ["", "run", "ps", "status", "logs", "events", "buckets", *VERBS, "reconcile", "prune", "lint"]
)
def test_every_verb_has_help(verb, capsys):
    """Nothing of a database in it."""
    assert main([*verb.split(), "--help"]) == Code.DONE
    assert "usage: chongming-task" in capsys.readouterr().out


def test_a_fault_of_ours_is_shown_whole_but_for_secrets(shell, store, monkeypatch):
    """With a traceback, and a code of its own."""
    monkeypatch.setenv("CHONGMING_TASK_DB", "postgresql://me:hunter2@db/work")
    monkeypatch.setattr(SqliteTaskStore, "counts", lambda *a: 1 / int("0"))
    assert shell("ps") == Code.BUG
    assert "ZeroDivisionError" in shell.err

    def leak(*_):
        raise RuntimeError("postgresql://me:hunter2@db/work")

    monkeypatch.setattr(SqliteTaskStore, "counts", leak)
    assert shell("ps") == Code.BUG
    assert "RuntimeError" in shell.err
    assert "hunter2" not in shell.err


def test_exit_codes_are_documented():
    """Each of them, in the table."""
    page = (HERE.parents[1] / "docs" / "cli.md").read_text(encoding="utf-8")
    for code in Code:
        assert f"| {int(code)} |" in page
