"""Environments with other versions of ipykernel than the developers' one, each with this project in it.

make kernels                                  makes what is missing, and runs what is tested per kernel in all
python -m tests.kernels.environments          only makes them, in <the environment>/kernels
CHONGMING_KERNELS=all pytest tests/kernels    tests with them, and with the developers' own
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

__all__ = ["HERE", "KERNELS", "Kernel", "chosen"]

ROOT = Path(__file__).parents[2]
FOLDER = Path(sys.prefix) / "kernels"
VARIABLE = "CHONGMING_KERNELS"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of its own kind."""

    name: str  # also that of its folder
    wanted: str  # what is installed
    python: Path
    has_subshells: bool = True

    @property
    def argv(self) -> list[str]:
        """How it is started; the name of the connection file belongs at the end."""
        return [str(self.python), "-m", "ipykernel_launcher", "-f"]


def _kernel(name: str, wanted: str, *, has_subshells: bool = True) -> Kernel:
    return Kernel(name, wanted, FOLDER / name / "bin" / "python", has_subshells)


_MAJOR_HERE = int(version("ipykernel").split(".")[0])
HERE = Kernel("here", "what the developers' environment has", Path(sys.executable), has_subshells=_MAJOR_HERE >= 7)
# Without subshells; with them; with those that route what a comm gets by themselves; whatever is newest.
KERNELS = (
    _kernel("ipykernel-6", "ipykernel>=6.29,<7", has_subshells=False),
    _kernel("ipykernel-7.0", "ipykernel>=7.0,<7.1"),
    _kernel("ipykernel-7.3", "ipykernel>=7.3,<7.4"),
    _kernel("ipykernel-newest", "ipykernel>=7.4"),
)


def chosen() -> list[Kernel]:
    """The kernels that this run is about: the developers' one, and those that CHONGMING_KERNELS names, or all.

    Raises:
        LookupError: When it names one that does not exist, or was not made.
    """
    words = os.environ.get(VARIABLE, "").replace(",", " ").split()
    known = {kernel.name: kernel for kernel in KERNELS}
    names = list(known) if words == ["all"] else words
    for name in names:
        if name not in known:
            raise LookupError(f"{VARIABLE} names no kernel {name!r}; there are {', '.join(known)}, and all")
        if not known[name].python.exists():
            raise LookupError(f"{known[name].python} is missing: run python -m tests.kernels.environments")
    return [HERE, *(known[name] for name in names)]


def make(kernel: Kernel) -> str:
    """Make its environment, or bring it up to date. Returns what is in it."""
    home = kernel.python.parents[1]
    if not kernel.python.exists():
        venv.create(home, with_pip=True)
    pip = [str(kernel.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    subprocess.run([*pip, "--editable", f"{ROOT}[notebook]", kernel.wanted], check=True)
    told = "import ipykernel; print(ipykernel.__version__)"
    return subprocess.run([kernel.python, "-c", told], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    for each in KERNELS:
        print(f"{each.name}: ipykernel {make(each)}")
