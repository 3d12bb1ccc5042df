"""Loading: what the strongest source says about each key, and everything that is wrong with it.

Precedence: flag, environment, config file, context, default. Variables that match no key are left
alone: Kubernetes puts its own, such as BIGFLEET_SHARD_PORT, beside ours.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from bigfleet.cli.contexts import FleetContext, read_contexts
from bigfleet.cli.settings.files import ConfigFile, read_config
from bigfleet.cli.settings.keys import Alias, Key, Section
from bigfleet.cli.settings.values import BadValue, text_of, value_of
from bigfleet.model.errors import BadInput, Problem

CONFIG_VARIABLE = "BIGFLEET_CONFIG"
DEFAULT = "default"
CONTEXT, COORDINATOR = "cli.context", "cli.coordinator"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where values come from; kept, so that a reload asks the same again."""

    #: By the name of the key, with the flag that said it.
    flags: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None
    #: The file of contexts, for verbs that ask a fleet; daemons have none.
    contexts: Path | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    key: Key
    value: Any
    #: `default`, `context up`, `file shard.yaml`, `environment BIGFLEET_...` or `flag --...`.
    origin: str


@dataclass(frozen=True, slots=True)
class SettingChange:
    key: Key
    before: Any
    after: Any

    def __str__(self) -> str:
        before, after = text_of(self.key, self.before), text_of(self.key, self.after)
        return f"{self.key.name}: {before or 'nothing'} -> {after or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Configuration:
    sections: tuple[Section, ...]
    settings: Mapping[str, Setting]
    sources: Sources

    def of(self, wanted: type[T]) -> T:
        """The record of the section that has this type."""
        section = next(s for s in self.sections if s.type is wanted)
        made: T = section.made({name: said.value for name, said in self.settings.items()})
        return made

    def has(self, wanted: type) -> bool:
        return any(section.type is wanted for section in self.sections)

    def reloaded(self) -> "Reloaded":
        """The same sources read again; raises BadInput, and then this one stays in force."""
        fresh = loaded(self.sections, self.sources)
        changed = [name for name, s in fresh.settings.items() if s.value != self._value(name)]
        applied, waiting = [], []
        settings = dict(self.settings)
        for name in changed:
            key = fresh.settings[name].key
            change = SettingChange(key, self._value(name), fresh.settings[name].value)
            if key.reloadable:
                applied.append(change)
                settings[name] = fresh.settings[name]
            else:
                waiting.append(change)
        merged = replace(self, settings=settings)
        # What is applied must also go together with what has to wait for a restart.
        _refuse(_contradictions(merged))
        return Reloaded(merged, tuple(applied), tuple(waiting))

    def _value(self, name: str) -> Any:
        return self.settings[name].value


@dataclass(frozen=True, slots=True)
class Reloaded:
    configuration: Configuration
    applied: tuple[SettingChange, ...]
    #: Changed in the file, but read at start only.
    needs_restart: tuple[SettingChange, ...]


def loaded(sections: tuple[Section, ...], sources: Sources) -> Configuration:
    """Raises BadInput with every problem there is."""
    keys = [key for section in sections for key in section.all_keys()]
    file = read_config(sources.file, keys) if sources.file else None
    problems = list(file.problems) if file else []
    context = _context_in(sources, file)
    settings = {key.name: _setting(key, sources, file, context, problems) for key in keys}
    _refuse(problems)
    configuration = Configuration(sections, settings, sources)
    _refuse(_contradictions(configuration))
    return configuration


def config_path(flag: Path | None, environment: Mapping[str, str]) -> Path | None:
    said = environment.get(CONFIG_VARIABLE)
    return flag or (Path(said) if said else None)


def meant_by(alias: Alias, said: str) -> str:
    return alias.value_of.get(said.lower(), said)


def _context_in(sources: Sources, file: ConfigFile | None) -> FleetContext | None:
    """Raises BadInput. A coordinator that is named otherwise is another fleet's: no context is
    used then, but for one that is named as well."""
    if sources.contexts is None:
        return None
    name = _said_of(CONTEXT, sources, file)
    if not name and _said_of(COORDINATOR, sources, file):
        return None
    contexts = read_contexts(sources.contexts)
    return contexts.named(str(name)) if name else contexts.in_force()


def _said_of(name: str, sources: Sources, file: ConfigFile | None) -> Any:
    if name in sources.flags:
        return sources.flags[name][1]
    variable = "_".join(("bigfleet", *name.split("."))).upper()
    return sources.environment.get(variable) or (file.said.get(name) if file else None)


def _setting(
    key: Key,
    sources: Sources,
    file: ConfigFile | None,
    context: FleetContext | None,
    problems: list[Problem],
) -> Setting:
    said: Any
    if key.name in sources.flags:
        flag, said = sources.flags[key.name]
        origin = place = f"flag {flag}"
    elif sources.environment.get(key.variable):
        said = sources.environment[key.variable]
        origin = place = f"environment {key.variable}"
    elif file is not None and key.name in file.said:
        said, origin, place = file.said[key.name], f"file {file.path}", file.place(key.name)
    elif context is not None and key.name in (there := context.settings()):
        said, origin = there[key.name], f"context {context.name}"
        place = f"{origin}: {key.name}"
    else:
        return Setting(key, key.default, DEFAULT)
    try:
        return Setting(key, value_of(key, said), origin)
    except BadValue as problem:
        problems.append(Problem(place, str(problem)))
        return Setting(key, key.default, DEFAULT)


def _contradictions(configuration: Configuration) -> list[Problem]:
    problems = []
    for section in configuration.sections:
        for name, text in section.check(configuration.of(section.type)):
            setting = configuration.settings[f"{section.name}.{name}"]
            where = setting.key.name
            if setting.origin != DEFAULT:
                where = f"{where} ({setting.origin})"
            problems.append(Problem(where, text))
    return problems


def _refuse(problems: Iterable[Problem]) -> None:
    found = list(problems)
    if found:
        raise BadInput(found)
