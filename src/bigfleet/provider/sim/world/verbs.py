"""The control verbs: their names, their arguments, and how words or a script entry become one.

One table serves the command line, gRPC, HTTP and scripts, so a verb reads the same everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bigfleet.provider.sim.world.happenings import Command


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
