"""The files of an attempt: a folder of its own, made when first used, whose names lead nowhere else.

    <base>/<task id>/<attempt>/...

``base`` is the controller's ``artifacts=`` folder; by default ``.chongming/artifacts`` in the directory the controller
was made in, beside the notebook or script, because what a task saved is meant to be found and kept: a cache or a
temporary folder may be emptied by the system. A ``.gitignore`` in it keeps it out of repositories.

Loads pathlib, which ``import chongming_task`` does without: only tasks that keep files pay for it.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path, PureWindowsPath

from chongming_task.core.text import clean
from chongming_task.errors import ConfigurationError

__all__ = ["Artifacts", "checked_parts", "contains"]

_IGNORE_ALL = "# made by chongming-task\n*\n"


class Artifacts:
    """The folder of one attempt, as ``ctx.artifacts``.

    No two attempts share one: not retries, not an attempt of the same number after a reset, not a worker that was given
    up and still writes.

    Args:
        base: The folder of all attempts of a controller.
        task_id: The record.
        attempt: The attempt's number.

    Example:
        >>> from chongming_task import run_task
        >>> def report(ctx):
        ...     return ctx.artifacts.path("plots/loss.txt").write_text("0.1")
        >>> run_task(report).result()
        3
    """

    def __init__(self, base: str | os.PathLike[str], task_id: str, attempt: int) -> None:
        self._base = Path(base)
        self._task_id = task_id
        self._attempt = attempt
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The attempt's folder; it exists when you have it.

        Raises:
            OSError: When it cannot be made.
        """
        if self._folder is None:
            _make_base(self._base)
            home = self._base.joinpath(*checked_parts(self._task_id))
            home.mkdir(exist_ok=True)
            self._folder = claim_folder(home, str(self._attempt))
        return self._folder

    def path(self, name: str | os.PathLike[str]) -> Path:
        """Where the file of that name goes; the folders on the way are made, the file is not.

        Args:
            name: A relative name, such as ``"model.bin"`` or ``"plots/loss.png"``.

        Raises:
            ConfigurationError: For a name that would lead out of the attempt's folder, also by a symbolic link.
            OSError: When a folder cannot be made.
        """
        parts = checked_parts(name)
        found = self.folder.joinpath(*parts)
        if not contains(self.folder, found):
            raise ConfigurationError(f"the artifact {name!r} leads out of its attempt's folder by a symbolic link")
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def new_folder(self, name: str) -> Path:
        """A folder of that name, or of that name with a number, that nobody has used yet."""
        return claim_folder(self.folder, name)

    def __truediv__(self, name: str | os.PathLike[str]) -> Path:
        return self.path(name)

    def __fspath__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return f"<Artifacts {self._folder or f'not made yet, in {self._base}'}>"


def checked_parts(name: str | os.PathLike[str]) -> tuple[str, ...]:
    """The steps of a relative name.

    It is read as Windows would, on every system: what is harmless here must not escape there.

    Raises:
        ConfigurationError: For an empty or absolute name, a drive, ``..``, or characters no file name can have.
    """
    given: object = name  # callers without a type checker pass anything
    text = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(text, str) or clean(text) != text:
        raise ConfigurationError(f"an artifact's name must be text without control characters, got {name!r}")
    read = PureWindowsPath(text)
    if read.anchor or not all(part.strip(" .") for part in read.parts):  # Windows takes ".. " for ".."
        raise ConfigurationError(
            f"an artifact's name stays in its attempt's folder, got {text!r}; write a relative one, without '..' or ':'"
        )
    if not read.parts:
        raise ConfigurationError(f"an artifact's name must name something in the attempt's folder, got {text!r}")
    return read.parts


def contains(folder: Path, path: Path) -> bool:
    """Whether ``path`` is in ``folder`` once every symbolic link on the way is followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links that go round in a circle lead nowhere
        return False


def claim_folder(home: Path, name: str) -> Path:
    """Make a folder that did not exist: ``name``, else ``name-2``, ``name-3``... Two claims never get the same."""
    for number in itertools.count(1):
        folder = home / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("there is always a next number")


def _make_base(base: Path) -> None:
    """Make the folder of all attempts. One that was there before is somebody's own, and gets no ``.gitignore``."""
    if base.is_dir():
        return
    base.mkdir(parents=True, exist_ok=True)
    try:
        (base / ".gitignore").write_text(_IGNORE_ALL)
    except OSError:  # it is a courtesy
        return
