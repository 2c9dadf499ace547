"""The package's types are checked, and its functions say what they do."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pagewalk as pw


def test_the_package_has_types_throughout() -> None:
    package = Path(pw.__file__).parent
    words = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir=/dev/null", "--ignore-missing-imports", str(package)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_everything_public_has_a_docstring() -> None:
    for name in pw.__all__:
        public = getattr(pw, name)
        assert inspect.getdoc(public), name
        if inspect.isclass(public) and public.__module__.startswith("pagewalk."):
            for member, value in vars(public).items():
                if not member.startswith("_") and callable(value):
                    assert inspect.getdoc(value), f"{name}.{member}"


def test_stubs_name_what_the_compiled_module_has() -> None:
    stubs = (Path(pw.__file__).parent / "_native.pyi").read_text()
    for kind in (pw.Machine(workload="hello")._native.__class__, pw.Stop):
        for member in vars(kind):
            if not member.startswith("_"):
                assert f"def {member}(" in stubs or f"    {member}: " in stubs, member
