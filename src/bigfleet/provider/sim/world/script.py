"""Timed lists of verbs: YAML entries with `at`, `do` and the verb's arguments by name.

The same entries are the `events` part of a scenario file.
"""

from collections.abc import Mapping, Sequence

from bigfleet.model.errors import BadInput, Problem
from bigfleet.provider.sim.world.durations import BadDuration, nanos_of
from bigfleet.provider.sim.world.happenings import Command
from bigfleet.provider.sim.world.verbs import BadCommand, command_of_mapping

Entries = tuple[tuple[int, Command], ...]


def script_of(entries: object) -> Entries:
    """(time from now, verb) in the order of the file; all problems are reported together."""
    if isinstance(entries, Mapping) and set(entries) == {"events"}:
        entries = entries["events"]
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise BadInput([Problem("", "a script is a list of entries with at and do")])
    problems: list[Problem] = []
    found: list[tuple[int, Command]] = []
    for number, entry in enumerate(entries):
        try:
            found.append(_entry(entry))
        except (BadCommand, BadDuration) as problem:
            problems.append(Problem(f"[{number}]", str(problem)))
    if problems:
        raise BadInput(problems)
    return tuple(found)


def _entry(entry: object) -> tuple[int, Command]:
    if not isinstance(entry, Mapping) or "do" not in entry:
        raise BadCommand("an entry is an object with at, do and the arguments of the verb")
    arguments = {str(k): v for k, v in entry.items() if k not in ("at", "do")}
    return nanos_of(str(entry.get("at", 0))), command_of_mapping(str(entry["do"]), arguments)
