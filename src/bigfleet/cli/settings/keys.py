"""Keys: every field of a tree of settings, with its flag, its variable and its place in a file."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

from bigfleet.model.settings import CHOICES, HELP, LEAST, MOST, RELOADABLE, Bytes, Seconds

#: Subsections whose keys stand alone as flags: `--reclaim-cap-fraction`.
_UNNAMED_IN_FLAGS = frozenset({"rails", "drain", "release", "session"})


class ValueForm(Enum):
    """How a value is written."""

    SWITCH = "true or false"
    COUNT = "a whole number"
    NUMBER = "a number"
    TEXT = "text"
    DURATION = "a duration such as 500ms, 30s or 1h30m"
    SIZE = "a size such as 64MiB"
    TEXTS = "a list of texts"
    RECORDS = "a list of mappings, as JSON where it is a flag or a variable"


_SHAPE_OF_TYPE: dict[Any, ValueForm] = {
    bool: ValueForm.SWITCH,
    int: ValueForm.COUNT,
    float: ValueForm.NUMBER,
    str: ValueForm.TEXT,
    Seconds: ValueForm.DURATION,
    Bytes: ValueForm.SIZE,
    tuple[str, ...]: ValueForm.TEXTS,
    tuple[Mapping[str, Any], ...]: ValueForm.RECORDS,
}


@dataclass(frozen=True, slots=True)
class Key:
    section: str
    #: Within the section: ("reconcile", "full_interval").
    path: tuple[str, ...]
    shape: ValueForm
    default: Any
    help: str = ""
    reloadable: bool = False
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float | None = None
    #: Whether the flag begins with the section's name: `--tls-cert`.
    section_in_flag: bool = False

    @property
    def name(self) -> str:
        return ".".join((self.section, *self.path))

    @property
    def flag(self) -> str:
        words = [word for word in self.path[:-1] if word not in _UNNAMED_IN_FLAGS]
        section = [self.section] if self.section_in_flag else []
        return "--" + "-".join([*section, *words, self.path[-1]]).replace("_", "-")

    @property
    def variable(self) -> str:
        return "_".join(("BIGFLEET", self.section, *self.path)).upper()

    @property
    def parameter(self) -> str:
        """What click calls it."""
        return "__".join((self.section, *self.path))


@dataclass(frozen=True, slots=True)
class Alias:
    """A flag of the existing binaries with the same meaning as a key of ours."""

    flag: str
    key: str
    #: Where the words differ too.
    value_of: Mapping[str, str] = field(default_factory=dict)

    @property
    def parameter(self) -> str:
        return "alias__" + self.flag.strip("-").replace("-", "_")


#: What contradicts what in the settings of one section: (key within the section, sentence).
Check = Callable[[Any], list[tuple[str, str]]]


def _no_contradictions(settings: Any) -> list[tuple[str, str]]:
    return []


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    type: type
    check: Check = _no_contradictions
    aliases: tuple[Alias, ...] = ()
    section_in_flag: bool = False

    def all_keys(self) -> tuple[Key, ...]:
        return tuple(_keys_in(self, self.type, ()))

    def made(self, value_of: Mapping[str, Any]) -> Any:
        """The record, from values by the names of their keys."""
        return _made(self.name, self.type, (), value_of)


def _keys_in(section: Section, tree: type, path: tuple[str, ...]) -> Iterator[Key]:
    for known in fields(tree):
        here = (*path, known.name)
        if isinstance(known.type, type) and is_dataclass(known.type):
            yield from _keys_in(section, known.type, here)
            continue
        facts = known.metadata
        yield Key(
            section.name,
            here,
            _SHAPE_OF_TYPE[known.type],
            known.default if known.default is not MISSING else (),
            facts.get(HELP, ""),
            facts.get(RELOADABLE, False),
            facts.get(CHOICES, ()),
            facts.get(LEAST, 0),
            facts.get(MOST),
            section.section_in_flag,
        )


def _made(section: str, tree: type, path: tuple[str, ...], value_of: Mapping[str, Any]) -> Any:
    values = {}
    for known in fields(tree):
        here = (*path, known.name)
        if isinstance(known.type, type) and is_dataclass(known.type):
            values[known.name] = _made(section, known.type, here, value_of)
        else:
            values[known.name] = value_of[".".join((section, *here))]
    return tree(**values)
