"""Without the extra `notebook` the library works, and what needs it says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from chongming_task.errors import ConfigurationError
from chongming_task.notebook.extra import require


def test_a_missing_library_is_named_with_its_remedy():
    """The command can be copied."""
    with pytest.raises(ConfigurationError, match=r'pip install "chongming-task\[notebook\]"'):
        require("no_such_library_here", "The panel")


@pytest.mark.parametrize(("module", "missing"), [("notebook.panel", "anywidget"), ("history", "pandas")])
def test_importing_without_the_extra_says_so(module, missing):
    """As on a machine where the library is not installed."""
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from chongming_task.errors import ConfigurationError\n"
        f"try:\n    import chongming_task.{module}\n"
        "except ConfigurationError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert f"needs {missing}" in done.stdout
    assert 'pip install "chongming-task[notebook]"' in done.stdout


def test_everything_can_be_imported_without_the_extra():
    """A name that needs pandas is there for whoever asks for it, and not among those of `import *`."""
    code = "import sys; sys.modules['pandas'] = None\nfrom chongming_task import *\nprint(Controller.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "Controller\n"


def test_the_package_loads_nothing_heavy():
    """Only what is used is imported."""
    code = (
        "import sys, chongming_task.notebook, chongming_task.notebook.rows, chongming_task.notebook.pump\n"
        "print(sorted({'pandas', 'anywidget', 'ipywidgets', 'IPython'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "[]"
