"""A page with one built view and a fake anywidget model: a view is tested in a real browser in half a second.

    view = open_view(page, STATIC / "panel.js", STATIC / "panel.css", {"rows": []})
    page.get_by_test_id("pause").click()
    assert view.sent() == [{"id": "1", "verb": "pause", "ids": ["a"], "args": {}}]
    view.deliver({"kind": "answer", "id": "1", "ok": True})

Nothing is served over a network: Chromium's requests are answered from memory.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page, Route

Theme = Literal["light", "dark"]

ORIGIN = "http://127.0.0.1"
THEMES = Path(sys.prefix, "share", "jupyter", "lab", "themes", "@jupyterlab")
MODEL = Path(__file__).with_name("fake_model.js")

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>view</title>
<link id="theme" rel="stylesheet" href="/theme-{theme}.css">
<link rel="stylesheet" href="/view.css">
<style>
  body {{ margin: 0; padding: 12px; background: var(--jp-layout-color0); color: var(--jp-ui-font-color1);
         font-family: var(--jp-ui-font-family); font-size: var(--jp-ui-font-size1); }}
</style>
<body class="jp-ThemedContainer" data-jp-theme-light="{light}" data-jp-theme-name="JupyterLab {title}">
<div id="view"></div>
<script id="state" type="application/json">{state}</script>
<script type="module">
  import {{ mount }} from "/fake_model.js";
  import view from "/view.js";
  await mount(view, document.getElementById("view"), JSON.parse(document.getElementById("state").textContent));
</script>
"""


@dataclass(slots=True)
class View:
    """One mounted view and the kernel's side of its model."""

    page: Page
    errors: list[str] = field(default_factory=list)  # uncaught exceptions of the page

    def sent(self) -> list[Any]:
        """The custom messages that the view sent, oldest first."""
        return self.page.evaluate("window.sent")

    def wait_sent(self, count: int = 1) -> list[Any]:
        """Waits until the view has sent at least `count` messages, and returns all of them."""
        self.page.wait_for_function("count => window.sent.length >= count", arg=count)
        return self.sent()

    def deliver(self, message: Any, buffers: Sequence[bytes] = ()) -> None:
        """Hands the view a custom message, as `widget.send(message, buffers)` would."""
        encoded = [base64.b64encode(buffer).decode() for buffer in buffers]
        self.page.evaluate("([message, buffers]) => window.deliver(message, buffers)", [message, encoded])

    def set(self, **traits: Any) -> None:
        """Changes traits as the kernel would."""
        self.page.evaluate("traits => window.change(traits)", traits)

    def get(self, trait: str) -> Any:
        """The current value of a trait, with what the view set."""
        return self.page.evaluate("name => window.model.get(name)", trait)

    def saved(self) -> list[dict[str, Any]]:
        """What each `model.save_changes()` of the view carried, oldest first."""
        return self.page.evaluate("window.saved")

    def close(self) -> None:
        """Ends the view: its AbortSignal fires and its cleanup function runs."""
        self.page.evaluate("window.unmount()")

    def theme(self, theme: Theme) -> None:
        """Changes JupyterLab's theme under the view."""
        self.page.evaluate("theme => window.theme(theme)", theme)


def open_view(
    page: Page, js_path: Path, css_path: Path | None, state: Mapping[str, Any], *, theme: Theme = "light"
) -> View:
    """Mounts the built view `js_path` with a fake model whose traits are `state`, and waits until it has rendered."""
    html = PAGE.format(
        theme=theme,
        light="true" if theme == "light" else "false",
        title=theme.title(),
        state=json.dumps(dict(state)).replace("</", "<\\/"),
    )
    files = {
        "/": ("text/html", html.encode()),
        "/view.js": ("text/javascript", js_path.read_bytes()),
        "/view.css": ("text/css", css_path.read_bytes() if css_path else b""),
        "/fake_model.js": ("text/javascript", MODEL.read_bytes()),
        "/theme-light.css": ("text/css", (THEMES / "theme-light-extension" / "index.css").read_bytes()),
        "/theme-dark.css": ("text/css", (THEMES / "theme-dark-extension" / "index.css").read_bytes()),
    }

    def answer(route: Route) -> None:
        kind, body = files.get(route.request.url.removeprefix(ORIGIN), ("", None))
        if body is None:
            route.fulfill(status=404)
        else:
            route.fulfill(body=body, content_type=f"{kind}; charset=utf-8")

    view = View(page)
    page.on("pageerror", lambda error: view.errors.append(str(error)))
    page.route(f"{ORIGIN}/**", answer)
    page.goto(f"{ORIGIN}/")
    page.wait_for_function("window.mounted || window.failed")
    failure = page.evaluate("window.failed")
    if failure:
        raise AssertionError(f"the view did not mount: {failure}")
    return view
