"""An attempt's folder: made when first used, shared with nobody, and no name leads out of it."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chongming_task import ConfigurationError, Controller, RetryPolicy
from chongming_task.runtime.artifacts import Artifacts, claim_folder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def artifacts(base: Path) -> Artifacts:
    return Artifacts(base, "task-1", 1)


def test_nothing_is_made_until_it_is_used(base, artifacts):
    """Most tasks keep no files; looking at the object is no use yet."""
    assert "not made yet" in repr(artifacts)
    assert not base.exists()
    assert artifacts.folder.is_dir()
    assert str(artifacts.folder) in repr(artifacts)


def test_the_folder_is_named_by_record_and_attempt(base, artifacts):
    """A person finds it again."""
    assert artifacts.folder == base / "task-1" / "1"
    assert os.fspath(artifacts) == str(artifacts.folder)


def test_a_path_is_ready_to_be_written(artifacts):
    """Its folders exist, the file does not; `/` is the same."""
    path = artifacts.path("plots/day 1/loss.png")
    assert not path.exists()
    path.write_text("x")
    assert artifacts / "plots/day 1/loss.png" == path
    assert artifacts / Path("plots/day 1/loss.png") == path


@pytest.mark.parametrize(
    "name", ["model.bin", "a.b.c", ".hidden", "..data", "a..b", "模型.bin", "with space", "a/./b", "a//b"]
)
def test_ordinary_names_are_taken(artifacts, name):
    """Dots, spaces and any script are nobody's escape."""
    path = artifacts.path(name)
    path.write_text("x")
    assert path.resolve().is_relative_to(artifacts.folder.resolve())


HOSTILE = [
    "",
    " ",
    ".",
    "./.",
    "..",
    "../x",
    "a/../../x",
    "a/..",
    "a/../b",  # harmless here, and not worth telling apart
    "/etc/passwd",
    "//server/share/x",
    "\\\\server\\share\\x",
    "..\\x",
    "a\\..\\..\\x",
    "C:\\x",
    "C:x",
    "\\x",
    ".. /x",
    "... /x",
    "nul\0byte",
    "line\x01",
    "\ud800",
    None,
    5,
    b"bytes",
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_are_refused(base, artifacts, name):
    """On every system alike, whatever that system would make of them; and nothing is made for them."""
    with pytest.raises(ConfigurationError, match="artifact's name"):
        artifacts.path(name)
    assert not base.exists()


@given(st.text() | st.lists(st.sampled_from(["..", ".", "a", "/", "\\", "C:", " ", "~"])).map("/".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
def test_no_name_leads_out(tmp_path, name):
    """Whatever the text: it is refused, or it is inside."""
    artifacts = Artifacts(tmp_path / "artifacts", "task", 1)
    try:
        path = artifacts.path(name)
    except (ConfigurationError, OSError):  # OSError: longer than the system's names
        return
    assert path.resolve().is_relative_to(artifacts.folder.resolve())
    assert path.resolve() != artifacts.folder.resolve()


@pytest.mark.parametrize("name", ["out/x", "out", "deep/out/x"])
def test_a_symbolic_link_leads_nowhere_else(tmp_path, artifacts, name):
    """A link that a task made, or unpacked, to a folder of somebody else."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (artifacts.folder / "deep").mkdir()
    for link in ("out", "deep/out"):
        (artifacts.folder / link).symlink_to(outside)
    with pytest.raises(ConfigurationError, match="symbolic link"):
        artifacts.path(name)
    assert not list(outside.iterdir())


def test_a_link_inside_is_fine_and_a_circle_is_refused(artifacts):
    """What stays inside stays allowed."""
    (artifacts.folder / "real").mkdir()
    (artifacts.folder / "alias").symlink_to("real")
    (artifacts.folder / "circle").symlink_to("circle")
    artifacts.path("alias/x").write_text("x")
    assert (artifacts.folder / "real" / "x").read_text() == "x"
    with pytest.raises((ConfigurationError, OSError)):
        artifacts.path("circle/x")


@pytest.mark.parametrize("task_id", ["../escape", "/abs", "..", ""])
def test_a_hostile_record_id_is_refused(base, task_id):
    """Ids are ours, but a record may come from somebody's database."""
    with pytest.raises(ConfigurationError):
        Artifacts(base, task_id, 1).folder  # noqa: B018 - asking makes it


def test_the_same_attempt_twice_gets_two_folders(base):
    """After a reset attempts are counted anew, and a worker that was given up may still write into the first."""
    folders = [Artifacts(base, "task", 1).folder for _ in range(3)]
    assert [folder.name for folder in folders] == ["1", "1-2", "1-3"]


def test_claims_at_once_never_meet(base):
    """Two processes that take up the same record make two folders."""
    base.mkdir()
    with ThreadPoolExecutor(16) as pool:
        folders = list(pool.map(lambda _: claim_folder(base, "x"), range(200)))
    assert len(set(folders)) == 200


def test_retries_never_share_a_folder(base):
    """And a later attempt can look at what the earlier one left."""
    seen = []

    def flaky(ctx):
        seen.append(ctx.artifacts.folder)
        (ctx.artifacts / "mine.txt").write_text(str(ctx.attempt))
        if ctx.attempt < 3:
            raise OSError("again")

    with Controller(artifacts=base) as controller:
        handle = controller.submit(flaky, retry=RetryPolicy(max_attempts=3))
        handle.result(timeout=30)
        assert seen == [base / handle.id / str(number) for number in (1, 2, 3)]
    assert [(folder / "mine.txt").read_text() for folder in seen] == ["1", "2", "3"]


def test_a_reset_record_starts_with_an_empty_folder(base):
    """Its first attempt is a new one."""
    counts = []

    def count(ctx):
        counts.append(len(list(ctx.artifacts.folder.iterdir())))
        (ctx.artifacts / "x").write_text("x")

    with Controller(artifacts=base) as controller:
        handle = controller.submit(count)
        handle.wait(30)
        handle.reset(confirm=True)
        handle.start()
        handle.wait(30)
    assert counts == [0, 0]


def test_a_new_base_keeps_itself_out_of_repositories(base, artifacts):
    """A folder that was there before is somebody's own and is left alone."""
    artifacts.path("x")
    assert (base / ".gitignore").read_text().endswith("*\n")
    mine = base.parent / "mine"
    mine.mkdir()
    Artifacts(mine, "task", 1).path("x")
    assert [each.name for each in mine.iterdir()] == ["task"]


def test_the_default_is_beside_the_notebook_as_it_was_at_the_start(tmp_path, monkeypatch):
    """A task that changes the directory moves nothing."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Controller() as controller:
        monkeypatch.chdir(tmp_path / "elsewhere")
        handle = controller.submit(lambda ctx: str(ctx.artifacts.folder))
        assert handle.result(timeout=30) == str(tmp_path / ".chongming" / "artifacts" / handle.id / "1")


@pytest.mark.parametrize("value", [5, object()])
def test_a_base_that_is_no_path_is_refused(value):
    """At the line that is wrong."""
    with pytest.raises(ConfigurationError, match="artifacts takes a folder"):
        Controller(artifacts=value)


def test_a_base_that_cannot_be_made_fails_the_task_and_nothing_else(tmp_path):
    """The file system's own error, in the task that needed it."""
    (tmp_path / "file").write_text("x")
    with Controller(artifacts=tmp_path / "file" / "below") as controller:
        assert controller.submit(lambda: 1).result(timeout=30) == 1
        with pytest.raises(OSError, match="file"):
            controller.submit(lambda ctx: str(ctx.artifacts.folder)).result(timeout=30)


def test_tasks_without_files_do_not_load_pathlib():
    """It costs milliseconds at import."""
    code = "import sys; before = set(sys.modules)\nimport chongming_task\nprint('pathlib' in set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "False"
