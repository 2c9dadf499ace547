"""The walk explorer, in Python and in a browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pagewalk as pw
import pytest
from conftest import in_a_program
from pagewalk import explorer

PAGE = """<!doctype html><title>explorer</title><div id="explorer"></div><script type="module">
%s
const walk = %s, listeners = {}, state = { walk, variant: "whole", step: 0 };
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; },
  save_changes: () => Object.values(listeners).flat().forEach((listener) => listener()),
  on: (name, listener) => { (listeners[name] ??= []).push(listener); },
};
const el = document.getElementById("explorer");
render({ model, el });
const press = (key) => el.firstChild.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const shown = () => el.querySelector(".shown").textContent;
const texts = [shown()];
press("ArrowRight"); texts.push(shown());
press("ArrowLeft"); press("ArrowLeft"); texts.push(shown());
el.querySelectorAll("td button")[14].click(); texts.push(shown());
press("ArrowRight"); texts.push(shown());
document.title = JSON.stringify({ texts, buttons: el.querySelectorAll("td button").length, step: state.step });
</script>"""


@pytest.fixture(scope="module")
def walk() -> dict[str, object]:
    machine = in_a_program("nested:4K+4K")
    return machine.walk(machine.registers()["pc"])


def test_the_references_are_those_of_the_walk(walk: dict[str, object]) -> None:
    shown = pw.WalkExplorer(walk)
    assert len(shown.references) == 15
    assert [reference["stage"] for reference in shown.references[:4]] == [2, 2, 2, 1]
    cached = pw.WalkExplorer(walk, variant="cached")
    assert len(cached.references) == cached.walk["cached"]["references"]


def test_keys_and_clicks_go_through_the_references_in_a_browser(walk: dict[str, object], tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    assert browser is not None, "the tests need Debian's chromium (cargo xtask packages)"
    script = explorer.WalkExplorer._esm
    text = Path(explorer.__file__).with_name("explorer.js").read_text() if not isinstance(script, str) else script
    page = tmp_path / "page.html"
    page.write_text(PAGE % (text.replace("export default { render };", ""), json.dumps(walk)))
    words = [browser, "--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run", f"--user-data-dir={tmp_path / 'profile'}"]
    words += ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run([*words, "--dump-dom", page.as_uri()], check=True, capture_output=True, text=True, timeout=120)
    title = done.stdout.split("<title>", 1)[1].split("</title>", 1)[0]
    found = json.loads(title)
    assert found["buttons"] == 15 and found["step"] == 14
    numbers = [text.split(":")[0] for text in found["texts"]]
    assert numbers == [f"Reference {number} of 15" for number in (1, 2, 1, 15, 15)]
    first = pw.WalkExplorer(walk).references[0]
    assert first["at"] in found["texts"][0] and first["entry"] in found["texts"][0]
