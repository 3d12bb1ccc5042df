"""Config files: YAML or TOML by their extension, one top-level section per verb.

A verb reads its own sections and leaves those of other verbs to them; a section that no verb has is
a mistake.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigfleet.cli.settings.keys import Key
from bigfleet.model.errors import BadInput, Problem

SECTIONS = (
    *("shard", "coordinator", "operator", "podwatch", "provider", "up"),
    *("tls", "log", "web", "cli"),
)
#: A config file with every key has 20,000.
_MOST_CHARACTERS = 1_000_000
#: Unknown keys that are each compared with the known ones.
_MOST_GUESSES = 50
_ENDINGS = "a config file ends in .yaml, .yml or .toml"

LineOf = Callable[[tuple[str, ...]], int | None]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    path: Path
    #: What was said, by the names of keys.
    said: Mapping[str, Any]
    #: Problems with keys that are not ours to know.
    problems: tuple[Problem, ...]
    line_of: LineOf

    def place(self, name: str) -> str:
        """`shard.yaml:12: shard.listen`."""
        line = self.line_of(tuple(name.split(".")))
        return f"{self.path}:{line}: {name}" if line else f"{self.path}: {name}"


def read_config(path: Path, keys: Iterable[Key]) -> ConfigFile:
    """Raises BadInput where the file as a whole cannot be read."""
    content, line_of = _decoded(path)
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise BadInput([Problem(str(path), "a config file is a mapping of sections")])
    known = {key.name for key in keys}
    said: dict[str, Any] = {}
    problems: list[Problem] = []
    file = ConfigFile(path, said, (), line_of)
    for section, body in content.items():
        if any(name.startswith(f"{section}.") for name in known):
            _gather(str(section), body, known, said, problems, file)
        elif section not in SECTIONS:
            there = ", ".join(SECTIONS)
            problems.append(
                Problem(file.place(str(section)), f"no such section; there are {there}")
            )
    return ConfigFile(path, said, tuple(problems), line_of)


def _gather(
    name: str,
    value: Any,
    known: set[str],
    said: dict[str, Any],
    problems: list[Problem],
    file: ConfigFile,
) -> None:
    if name in known:
        said[name] = value
        return
    below = sorted({_below(name, key) for key in known if key.startswith(f"{name}.")})
    if not below:
        guess = _nearest(name, known) if len(problems) < _MOST_GUESSES else ""
        where = file.place(name) if len(problems) < _MOST_GUESSES else name
        problems.append(Problem(where, f"no such key{guess}"))
    elif value is None:
        return
    elif not isinstance(value, dict):
        text = f"{repr(value)[:80]} stands where a mapping of {', '.join(below)} belongs"
        problems.append(Problem(file.place(name), text))
    else:
        for word, inner in value.items():
            _gather(f"{name}.{word}", inner, known, said, problems, file)


def _below(name: str, key: str) -> str:
    return key[len(name) + 1 :].partition(".")[0]


def _nearest(name: str, known: set[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _decoded(path: Path) -> tuple[Any, LineOf]:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MOST_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as problem:
        said = getattr(problem, "strerror", None) or str(problem)
        raise BadInput([Problem(str(path), f"cannot be read: {said}")]) from None
    if len(text) > _MOST_CHARACTERS:
        larger = f"is larger than {_MOST_CHARACTERS:,} characters"
        raise BadInput([Problem(str(path), f"{larger}: is it a config file?")])
    match path.suffix.lower():
        case ".toml":
            return _toml(path, text), lambda key: None
        case ".yaml" | ".yml":
            return _yaml(path, text)
        case _:
            raise BadInput([Problem(str(path), f"unknown format; {_ENDINGS}")])


def _toml(path: Path, text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        raise BadInput([Problem(str(path), f"is not TOML: {problem}")]) from None


def _yaml(path: Path, text: str) -> tuple[Any, LineOf]:
    import yaml

    from bigfleet.fleetfile.yaml_dialect import decode_yaml, lines_of

    try:
        return decode_yaml(text), lambda key: lines_of(text)(key)
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        said = " ".join(str(problem).split())
        raise BadInput([Problem(str(path), f"is not YAML: {said}")]) from None
