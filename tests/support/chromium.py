"""The Chromium of this machine, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def executable() -> str | None:
    """The path of the first Chromium found, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A running headless Chromium."""
    from playwright.sync_api import sync_playwright  # absent where only the `test` group is installed

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable(), args=list(ARGS))
        try:
            yield chromium
        finally:
            chromium.close()
