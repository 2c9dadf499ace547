"""The notebooks of docs/ run to their ends."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = ["design_a_tlb", "nested_paging", "ray_study", "walk_lecture"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_to_its_end(name: str, project: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(project / "docs/notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not any(output.output_type == "stream" and output.name == "stderr" and "Warning" in output.text for output in outputs)
    if name in ("design_a_tlb", "nested_paging"):
        assert any("image/png" in output.get("data", {}) for output in outputs), "it has no plot"


def test_every_notebook_is_tested(project: Path) -> None:
    assert sorted(path.stem for path in (project / "docs/notebooks").glob("*.ipynb")) == NOTEBOOKS
