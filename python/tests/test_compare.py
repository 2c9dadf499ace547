"""Comparisons are those of the command."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pagewalk as pw
import pytest

SCHEMES = ["native", "nested:4K+2M", "shadow"]


@pytest.fixture(scope="module")
def comparison() -> pw.Comparison:
    return pw.compare(workload=["hello", "gups:64K"], scheme=SCHEMES, set={"mmu.nested_tlb": 16}, native=True)


def test_the_report_is_the_one_of_the_command(comparison: pw.Comparison, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    words = ["compare", "--workload=hello,gups:64K", f"--scheme={','.join(SCHEMES)}", "--set=mmu.nested_tlb=16", "--native", f"--json={path}"]
    subprocess.run([pw.command(), "--quiet", *words], check=True, stdout=subprocess.DEVNULL)
    assert comparison.report == json.loads(path.read_text())


def test_data_frames_have_a_row_for_each_run_and_numbers_as_numbers(comparison: pw.Comparison) -> None:
    pandas, polars = comparison.to_pandas(), comparison.to_polars()
    assert len(pandas) == len(polars) == len(comparison) == 2 * len(SCHEMES)
    assert list(pandas.columns) == polars.columns
    run = comparison.run("gups:64K", "shadow:4K+4K")
    row = pandas[(pandas["workload"] == "gups:64K") & (pandas["scheme"] == "shadow:4K+4K")].iloc[0]
    assert row["cycles"] == run["cycles"] and row["tlb.l2_misses"] == run["tlb"]["l2_misses"]
    assert row["shadow.validations"] == run["shadow"]["validations"], "a group of keys that other runs do not have"
    assert polars["instructions"].dtype.is_integer()


def test_a_notebook_shows_a_table_with_its_caption(comparison: pw.Comparison) -> None:
    html = comparison._repr_html_()
    assert html.count("<tr>") == len(comparison) + 1
    assert "sandybridge-2012" in html and "time by core" in html and "nested:4K+2M" in html


def test_errors_have_the_message_of_the_command() -> None:
    with pytest.raises(pw.UsageError, match="unknown workload `gupz`; did you mean `gups`"):
        pw.compare(workload="gupz")
    with pytest.raises(pw.UsageError, match="unknown option `--bogus`"):
        pw.compare(workload="hello", bogus=1)
    with pytest.raises(pw.UsageError, match="json: the result is returned"):
        pw.compare(workload="hello", json="x")
    with pytest.raises(KeyError, match="0 runs"):
        pw.compare(workload="hello", scheme="native").run("hello", "shadow:4K+4K")


def test_a_run_that_fails_raises_and_keeps_the_other_runs() -> None:
    with pytest.raises(pw.PagewalkError, match="crash under native:4K") as raised:
        pw.compare(workload=["hello", "crash"], scheme="native")
    assert not isinstance(raised.value, pw.UsageError)
    failed = [run["failed"] is not None for run in raised.value.comparison.runs]
    assert failed == [False, True]


def test_keywords_are_options_and_a_user_s_program_runs_on_linux(tmp_path: Path) -> None:
    script = tmp_path / "hello.sh"
    script.write_text("#!/bin/sh\necho hello\n")
    script.chmod(0o755)
    comparison = pw.compare(guest="linux", file=script, run="/hello.sh", scheme=["native"], memory="512M", fidelity="counts")
    assert [run["workload"] for run in comparison.runs] == ["/hello.sh"]
    assert comparison.report["config"]["memory"] == "512M"
