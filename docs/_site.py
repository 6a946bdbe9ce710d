"""Gives the site what lies beside docs/: the notebooks, to be downloaded, and the pages of the project itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
_BESIDE = re.compile(r"(\]\()\.\./(?=notebooks/|CHANGELOG\.md|CONTRIBUTING\.md)")


def on_files(files: Files, config: MkDocsConfig, **kwargs: Any) -> Files:
    """Adds them."""
    for path in (ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "notebooks").glob("*.ipynb"))):
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Links that lead out of docs/ lead to where these are in the site."""
    return _BESIDE.sub(r"\1", markdown)
