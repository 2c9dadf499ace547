"""The command: where it is, how keywords become its options, and how its failures become exceptions.

Guests run in the command's own process and not in Python's: that process gives up every right that it does not need before its guest's first
instruction (docs/sandbox.md), which Python's could not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

from pagewalk._native import PagewalkError, UsageError

#: What begins each line that the command itself writes to standard error.
_PREFIX = "pagewalk: "

#: The exit code of bad usage or configuration.
_USAGE = 2


class PagewalkWarning(UserWarning):
    """What the command says of a run that is no failure."""


def command() -> str:
    """Return the path of the command: the one of this package, else the one that the search path leads to.

    The environment variable PAGEWALK_COMMAND overrules both.
    """
    chosen = os.environ.get("PAGEWALK_COMMAND")
    if chosen:
        return chosen
    for scheme in (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")):
        path = Path(sysconfig.get_path("scripts", scheme)) / "pagewalk"
        if path.is_file():
            return str(path)
    found = shutil.which("pagewalk")
    if found is None:
        raise PagewalkError("the command pagewalk is not installed beside this package, and not in the search path")
    return found


def options(keywords: Mapping[str, object]) -> list[str]:
    """Return the options of the command that keywords stand for.

    `guest_time="x"` is `--guest-time x`, True is an option without a value, None and False are none, and a list is an option for each of its
    members. Mappings have members KEY=VALUE.
    """
    found: list[str] = []
    for name, value in keywords.items():
        flag = "--" + name.strip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            found.append(flag)
            continue
        for member in _members(value):
            found.append(f"{flag}={member}")
    return found


def value_text(value: object) -> str:
    """Return the value of a configuration's key as `--set KEY=VALUE` takes it: [{"sets": 16, "ways": 4}] is a list of tables."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, Mapping)):
        return _toml(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def run(arguments: Iterable[str]) -> str:
    """Run the command; return what it has printed.

    Raises UsageError or PagewalkError with the command's message. Its other messages become warnings.
    """
    words = [command(), "--quiet", *arguments]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    messages = [line.removeprefix(_PREFIX) for line in done.stderr.splitlines() if line.strip()]
    if done.returncode == 0:
        for message in messages:
            warnings.warn(message, PagewalkWarning, stacklevel=3)
        return done.stdout
    if done.returncode < 0:
        raise PagewalkError(f"the command was ended by signal {-done.returncode}")
    kind = UsageError if done.returncode == _USAGE else PagewalkError
    raise kind(messages[-1] if messages else f"the command has failed with exit code {done.returncode}")


def _toml(value: object) -> str:
    """A value within another: TOML, as a configuration file has it."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}={_toml(member)}" for key, member in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_toml(member) for member in value) + "]"
    return json.dumps(value if isinstance(value, (bool, int, float)) else str(value))


def _members(value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        return [f"{key}={value_text(member)}" for key, member in value.items()]
    if isinstance(value, (list, tuple)):
        return [value_text(member) for member in value]
    return [value_text(value)]
