"""Log lines on one stream: a JSON object each, or a line for people.

Every line has time, level, component, event and, where there is one, a sentence as `msg`; then the
facts. A warning that repeats for the same subject is written once a minute, with how often it came
in between; nothing else is ever left out.
"""

from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import orjson
import structlog

from bigfleet.edge.logs import LEVELS, Log
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant

QUIET: Instant = 60 * 1_000_000_000
#: Pairs of event and subject that are remembered; beyond it the oldest may repeat early.
REMEMBERED = 10_000
#: Facts that may be what a warning is about, the most telling first.
_SUBJECTS = ("subject", "pause", "session", "machine", "cluster", "provider", "shard", "peer")

_Facts = MutableMapping[str, Any]


def open_log(
    stream: TextIO,
    component: str,
    now: Callable[[], Instant],
    *,
    text: bool = False,
    level: str = "info",
) -> Log:
    heard = frozenset(LEVELS[LEVELS.index(level) :])

    def above_level(_: Any, method: str, facts: _Facts) -> _Facts:
        if method not in heard:
            raise structlog.DropEvent
        return facts

    def headed(_: Any, method: str, facts: _Facts) -> _Facts:
        head = {"time": instant_text(now()), "level": method, "component": component}
        event, sentence = facts.pop("event"), facts.pop("msg", "")
        head["event"] = event
        if sentence:
            head["msg"] = sentence
        # What a fact is called may not change what the line says of itself.
        return head | {(f"{name}_" if name in head else name): v for name, v in facts.items()}

    logger: Log = structlog.wrap_logger(
        structlog.PrintLogger(stream),
        processors=[above_level, _Patience(now), headed, _as_text if text else _as_json],
    )
    return logger


class _Patience:
    """Repeated warnings, per event and subject."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        self._now = now
        #: When it was last written and how often it was left out since; oldest first.
        self._told: dict[tuple[str, str], tuple[Instant, int]] = {}

    def __call__(self, _: Any, method: str, facts: _Facts) -> _Facts:
        if method != "warning":
            return facts
        subject = next((str(facts[name]) for name in _SUBJECTS if name in facts), "")
        key, at = (str(facts["event"]), subject), self._now()
        told, left_out = self._told.pop(key, (None, 0))
        if told is not None and at - told < QUIET:
            self._told[key] = (told, left_out + 1)
            raise structlog.DropEvent
        self._told[key] = (at, 0)
        if len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]
        if left_out:
            facts["repeated"] = left_out
        return facts


def _as_json(_: Any, __: str, facts: _Facts) -> str:
    return orjson.dumps(facts, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _as_text(_: Any, __: str, facts: _Facts) -> str:
    """`12:00:01 warning shard breaker_opened: provider acme does not answer (provider=acme)`."""
    clock = facts.pop("time")[11:19]
    level, component, event = (facts.pop(name) for name in ("level", "component", "event"))
    said = f": {facts.pop('msg')}" if "msg" in facts else ""
    rest = " ".join(f"{name}={_word(value)}" for name, value in facts.items() if value != "")
    line = f"{clock} {level:7} {component} {event}{said}" + (f" ({rest})" if rest else "")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def _word(value: Any) -> str:
    text = str(value)
    return f'"{text}"' if " " in text else text
