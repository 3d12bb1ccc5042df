"""The control verbs: names, arguments, selectors, and how words or a script entry become a command.

One table serves the command line, gRPC, HTTP and scripts, so a verb reads the same everywhere.

A script is a timed list of verbs: YAML entries with `at`, `do` and the verb's arguments by name.
The same entries are the `events` part of a scenario file.

A selector says which machines or pools a verb means: an id, a pool's name, or terms that must all
hold. Terms are `zone=`, `type=`, `capacity=`, `region=`, `state=`, `cluster=`, separated by blanks
or commas. A selector with a state or a cluster chooses machines; it cannot choose pools.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bigfleet.model.errors import BadInput, Problem
from bigfleet.provider.sim.world.distributions import BadDuration, nanos_of
from bigfleet.provider.sim.world.events import Command, Step
from bigfleet.provider.sim.world.offerings import capacity_of
from bigfleet.provider.sim.world.supply import SimPool, Slot, Supply


class BadCommand(ValueError):
    """The verb cannot be carried out as written; the message says what would do."""


@dataclass(frozen=True, slots=True)
class Verb:
    name: str
    #: Names of arguments in order; `?` may be left out, `*` takes the rest (at least one: `+`).
    arguments: tuple[str, ...]
    summary: str
    #: Concerns the process or the clock, not the substrate.
    outside: bool = False

    @property
    def usage(self) -> str:
        shown = {"?": "[{}]", "*": "[{}...]", "+": "{}..."}
        words = [shown.get(a[-1], "{}").format(a.rstrip("?*+").upper()) for a in self.arguments]
        return " ".join([self.name, *words])


_VERBS = (
    Verb("state", ("what?",), "Pools, prices, hosts, pending faults."),
    Verb("events", ("since?", "limit?"), "What happened on the substrate.", outside=True),
    Verb("fail", ("id", "reason*"), "The host fails now."),
    Verb("fail-next", ("select", "kind", "error?", "count?"), "The next operations fail."),
    Verb("vanish", ("ids+",), "Hosts are gone without a signal."),
    Verb("remove", ("ids+",), "Slots leave the offering."),
    Verb("interrupt", ("select", "fraction?", "notice?"), "A spot event, or a wave of them."),
    Verb("price", ("select", "value"), "A pool's price now: dollars, or a factor like x2."),
    Verb("probability", ("select", "value"), "A pool's interruption probability."),
    Verb("walk", ("switch",), "Spot prices walk, or stand still."),
    Verb("stock", ("select", "value"), "How many hosts a pool can carry: a number or inf."),
    Verb("quota", ("region", "value"), "How many hosts a region may have: a number or inf."),
    Verb("add", ("offering",), "A further offering, as JSON."),
    Verb("latency", ("step", "dist"), "How long a step takes."),
    Verb("failure-rate", ("kind", "value"), "The chance that a step, or a host per hour, fails."),
    Verb("outage", ("switch", "methods*"), "The provider's API is unavailable."),
    Verb("rpc-delay", ("dist",), "The provider's API is slow."),
    Verb("rpc-error", ("method", "code", "p?"), "The provider's API fails now and then."),
    Verb("list-empty", ("n?",), "Lists are empty."),
    Verb("list-truncate", ("fraction", "n?"), "Lists show only a fraction."),
    Verb("list-stale", ("seconds",), "Lists stand still for that long."),
    Verb("list-duplicate", ("n?",), "Lists name a machine twice."),
    Verb("list-bad-record", ("field", "n?"), "Lists hold a record with one bad field."),
    Verb("list-rebind", ("cluster", "n?"), "Lists give bound machines to that cluster; - frees."),
    Verb("describe-empty", ("n?",), "The substrate claims to be empty."),
    Verb("describe-truncate", ("fraction", "n?"), "The substrate shows only a fraction."),
    Verb("hold", ("kind", "select?"), "Operations stay transitional until released."),
    Verb("release", ("kind?", "select?"), "Ends holds."),
    Verb("store-fail", ("switch",), "Commits fail.", outside=True),
    Verb("crash", (), "The provider kills itself.", outside=True),
    Verb("clock", ("action?", "value?"), "now, advance D, speed X, step-until C.", outside=True),
)
VERBS: Mapping[str, Verb] = {verb.name: verb for verb in _VERBS}
#: `advance 5m` is short for `clock advance 5m`.
CLOCK_ACTIONS = ("now", "advance", "speed", "step-until")


def command_of_words(words: Sequence[str]) -> Command:
    """From a command line: the verb, then its arguments by position."""
    if not words:
        raise BadCommand(f"no verb; known are {', '.join(VERBS)}")
    if words[0] in CLOCK_ACTIONS:
        words = ["clock", words[0], " ".join(words[1:])] if words[1:] else ["clock", words[0]]
    verb = _verb(words[0])
    given = list(words[1:])
    arguments: dict[str, str | tuple[str, ...]] = {}
    for argument in verb.arguments:
        name = argument.rstrip("?*+")
        if argument[-1] in "*+":
            if given:
                arguments[name] = tuple(given)
            given = []
        elif given:
            arguments[name] = given.pop(0)
    if given:
        raise BadCommand(f"{' '.join(given)!r} is too much; write {verb.usage}")
    return _checked(verb, arguments)


def command_of_mapping(verb_name: str, given: Mapping[str, object]) -> Command:
    """From JSON or a script entry: arguments by name; values may be numbers or lists."""
    if verb_name in CLOCK_ACTIONS:
        given = {"action": verb_name, **given}
        verb_name = "clock"
    verb = _verb(verb_name)
    names = {argument.rstrip("?*+") for argument in verb.arguments}
    unknown = sorted(set(given) - names)
    if unknown:
        raise BadCommand(f"{verb.name} has no argument {', '.join(unknown)}; write {verb.usage}")
    arguments = {name: _text(value) for name, value in given.items() if value is not None}
    return _checked(verb, arguments)


def _verb(name: str) -> Verb:
    verb = VERBS.get(name)
    if verb is None:
        raise BadCommand(f"{name!r} is not a verb; known are {', '.join(VERBS)}")
    return verb


def _checked(verb: Verb, arguments: Mapping[str, str | tuple[str, ...]]) -> Command:
    wanted = [a.rstrip("+") for a in verb.arguments if a[-1] not in "?*"]
    missing = [name for name in wanted if not arguments.get(name)]
    if missing:
        raise BadCommand(f"{verb.name} needs {', '.join(missing)}; write {verb.usage}")
    return Command(verb.name, arguments)


def _text(value: object) -> str | tuple[str, ...]:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return tuple(str(entry) for entry in value)
    return str(value)


def number_of(command: Command, name: str, text: str | None = None) -> float:
    written = command.text(name) if text is None else text
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise BadCommand(f"{name} {written!r} is not a number of zero or more")
    return value


def fraction_of(command: Command, name: str, default: float | None = None) -> float:
    if default is not None and not command.text(name):
        return default
    value = number_of(command, name)
    if value > 1:
        raise BadCommand(f"{name} {value:g} is more than all; write a number from 0 to 1")
    return value


def count_of(command: Command, name: str, default: int) -> int:
    written = command.text(name)
    if not written:
        return default
    if not written.isdigit() or int(written) == 0:
        raise BadCommand(f"{name} {written!r} is not a whole number above zero")
    return int(written)


def switch_of(command: Command, name: str) -> bool:
    written = command.text(name).lower()
    if written not in ("on", "off"):
        raise BadCommand(f"{name} {written!r} is neither on nor off")
    return written == "on"


def step_of(command: Command, name: str) -> Step:
    written = command.text(name).lower()
    if written not in list(Step):
        raise BadCommand(f"{name} {written!r} is not one of {', '.join(Step)}")
    return Step(written)


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


_POOL_TERMS = ("zone", "type", "capacity", "region")
_MACHINE_TERMS = ("state", "cluster")
StateOf = Callable[[Slot], str]


class BadSelector(ValueError):
    """The text selects nothing one could name; the message shows what would."""


@dataclass(frozen=True, slots=True)
class Selector:
    text: str
    #: An id or the name of a pool; empty when there are terms.
    name: str = ""
    terms: tuple[tuple[str, str], ...] = ()

    def pools(self, supply: Supply) -> list[SimPool]:
        if any(key in _MACHINE_TERMS for key, _ in self.terms):
            raise BadSelector(f"{self.text!r} chooses machines; a pool has no state and no cluster")
        if self.name:
            pool = supply.pools.get(self.name)
            return [pool] if pool else []
        return [pool for pool in supply.pools.values() if self._takes_pool(pool)]

    def slots(self, supply: Supply, state_of: StateOf) -> list[Slot]:
        """In the order of their ids, so that a fraction of them is the same in every run."""
        if self.name and self.name in supply.slots:
            return [supply.slots[self.name]]
        pools = [pool for pool in supply.pools.values() if self._takes_pool(pool)]
        return sorted(
            (s for pool in pools for s in pool.slots.values() if self._takes_host(s, state_of)),
            key=lambda slot: slot.id,
        )

    def takes(self, slot: Slot, state_of: StateOf) -> bool:
        if self.name:
            return self.name in (slot.id, slot.pool.name)
        return self._takes_pool(slot.pool) and self._takes_host(slot, state_of)

    def _takes_pool(self, pool: SimPool) -> bool:
        if self.name:
            return pool.name == self.name
        offering = pool.offering
        has = {
            "zone": offering.zone,
            "type": offering.instance_type,
            "region": offering.region,
            "capacity": offering.capacity_type.name,
        }
        return all(has[key] == value for key, value in self.terms if key in has)

    def _takes_host(self, slot: Slot, state_of: StateOf) -> bool:
        for key, value in self.terms:
            if key == "state" and state_of(slot) != value:
                return False
            if key == "cluster" and (slot.host.cluster if slot.host else "") != value:
                return False
        return True


EVERYTHING = Selector("")


def selector_of(text: str) -> Selector:
    words = text.replace(",", " ").split()
    if not words:
        return EVERYTHING
    if len(words) == 1 and "=" not in words[0]:
        return Selector(text, name=words[0])
    return Selector(text, terms=tuple(_term(text, word) for word in words))


def _term(text: str, word: str) -> tuple[str, str]:
    key, separator, value = word.partition("=")
    known = (*_POOL_TERMS, *_MACHINE_TERMS)
    if not separator or not value or key not in known:
        wanted = ", ".join(f"{term}=" for term in known)
        raise BadSelector(f"{text!r}: {word!r} is not a term; write an id, a pool, or {wanted}")
    if key == "capacity":
        capacity = capacity_of(value)
        if capacity is None:
            raise BadSelector(f"{text!r}: {value!r} is not a capacity type")
        return key, capacity.name
    return key, value.lower() if key == "state" else value
