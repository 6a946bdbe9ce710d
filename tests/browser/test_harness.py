"""The harness page behaves towards a view as anywidget and JupyterLab do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.harness import View, open_view

pytestmark = pytest.mark.browser

COUNTER = """
export default () => ({
  initialize({ model }) { model.set("ready", true); model.save_changes(); },
  render({ model, el, signal }) {
    const button = document.createElement("button");
    button.dataset.testid = "count";
    button.style.color = "var(--jp-ui-font-color1)";
    const show = () => { button.textContent = `count ${model.get("count")}`; };
    button.addEventListener("click", () => model.send({ id: "1", verb: "add" }), { signal });
    model.on("change:count", show);
    model.on("msg:custom", (message, buffers) => {
      button.textContent = `${message.kind} ${buffers.length ? buffers[0].getUint8(1) : ""}`;
    });
    signal.addEventListener("abort", () => { el.dataset.ended = "true"; });
    show();
    el.append(button);
    return () => button.remove();
  },
});
"""


@pytest.fixture
def counter(page, tmp_path: Path) -> View:
    script = tmp_path / "counter.js"
    script.write_text(COUNTER)
    return open_view(page, script, None, {"count": 3, "text": "</script>"})


def test_state_is_what_the_view_reads(counter):
    """Traits given to open_view reach the model, markup in them included."""
    assert counter.page.get_by_test_id("count").text_content() == "count 3"
    assert counter.get("text") == "</script>"
    assert counter.saved() == [{"ready": True}]


def test_messages_cross_both_ways(counter):
    """A click is collected in `sent`; a delivered message arrives with its buffers."""
    counter.page.get_by_test_id("count").click()
    assert counter.wait_sent() == [{"id": "1", "verb": "add"}]
    counter.deliver({"kind": "answer"}, [b"\x01\x02"])
    assert counter.page.get_by_test_id("count").text_content() == "answer 2"


def test_a_changed_trait_tells_the_view(counter):
    """`set` fires change:<trait>, as a trait of the kernel would."""
    counter.set(count=4)
    assert counter.page.get_by_test_id("count").text_content() == "count 4"


def test_closing_aborts_the_signal_and_cleans_up(counter):
    """`close` does what anywidget does when a view goes away."""
    counter.close()
    assert counter.page.locator("#view[data-ended=true]").count() == 1
    assert counter.page.get_by_test_id("count").count() == 0


def test_the_theme_switches_jupyterlabs_own_variables(counter):
    """The colours are those of the real themes, light first, then dark."""
    read = "getComputedStyle(document.querySelector('[data-testid=count]')).color"
    light = counter.page.evaluate(read)
    counter.theme("dark")
    counter.page.wait_for_function(f"{read} !== {light!r}")
    assert light == "rgba(0, 0, 0, 0.87)"
    assert counter.page.evaluate(read) == "rgba(255, 255, 255, 0.87)"


def test_a_view_that_throws_is_told(page, tmp_path: Path):
    """open_view raises with the page's own error."""
    script = tmp_path / "broken.js"
    script.write_text("export default { render() { throw new Error('no rows'); } };")
    with pytest.raises(AssertionError, match="no rows"):
        open_view(page, script, None, {})
