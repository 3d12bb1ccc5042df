"""Reads `--exec-spec`: one command, environment and working folder per lane."""

import shlex
from pathlib import Path

import yaml

from bigfleet.conformance.processes import Command
from bigfleet.model.errors import BadInput, Problem

LANES = ("core", "fault", "durable", "scale", "default")
KEYS = ("command", "env", "folder")


def command_of(text: str) -> Command:
    """A command line, split like a shell would, without a shell."""
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadInput([Problem("--exec", f"{text!r}: {problem}")]) from problem
    if not words:
        raise BadInput([Problem("--exec", "the command is empty")])
    return Command(tuple(words))


def commands_of(path: Path) -> dict[str, Command]:
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as problem:
        raise BadInput([Problem(str(path), str(problem))]) from problem
    if not isinstance(content, dict) or not content:
        raise BadInput([Problem(str(path), f"a mapping of lanes is expected: {', '.join(LANES)}")])
    problems = [
        problem
        for lane, entry in content.items()
        for problem in _problems_of(str(path), str(lane), entry)
    ]
    if problems:
        raise BadInput(problems)
    return {str(lane): _command(entry) for lane, entry in content.items()}


def _problems_of(path: str, lane: str, entry: object) -> list[Problem]:
    where = f"{path}: {lane}"
    if lane not in LANES:
        return [Problem(where, f"is no lane; the lanes are {', '.join(LANES)}")]
    if isinstance(entry, str):
        return []
    if not isinstance(entry, dict) or "command" not in entry:
        return [Problem(where, "needs a command")]
    unknown = [key for key in entry if key not in KEYS]
    if unknown:
        return [Problem(where, f"unknown key {unknown[0]}; the keys are {', '.join(KEYS)}")]
    return []


def _command(entry: object) -> Command:
    if not isinstance(entry, dict):
        return command_of(str(entry))
    given = entry["command"]
    words = tuple(map(str, given)) if isinstance(given, list) else command_of(str(given)).words
    env = {str(key): str(value) for key, value in (entry.get("env") or {}).items()}
    folder = entry.get("folder")
    return Command(words, env, Path(folder) if folder else None)
