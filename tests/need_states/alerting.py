"""The shipped alert rules on the gauges of a shard, second by second: which of them fire."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bigfleet.edge.counts import Counts
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.shard.metrics import PREFIX
from tests.charts.charts import BIGFLEET

_RULE = re.compile(r"(?P<name>\w+)(?:\{(?P<labels>[^}]*)\})? > (?P<bound>\d+)")
_LABEL = re.compile(r'(?P<name>\w+)(?P<how>=~?)"(?P<value>[^"]*)"')
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True)
class Rule:
    """`gauge{label="value"} > bound`, for so many seconds."""

    name: str
    gauge: str
    labels: tuple[tuple[str, str], ...]
    bound: float
    seconds: int

    def holds(self, counts: Counts) -> bool:
        return any(value > self.bound for value in self._values(counts))

    def _values(self, counts: Counts) -> Iterator[float]:
        for (gauge, labels), value in counts.gauges.items():
            of = dict(labels)
            if gauge == self.gauge and all(
                re.fullmatch(pattern, of.get(name, "")) for name, pattern in self.labels
            ):
                yield value


def rules() -> list[Rule]:
    """Those that look at one gauge of the shard; others need a history of counters."""
    found = []
    for rule in BIGFLEET.alerts:
        match = _RULE.fullmatch(rule["expr"].strip())
        if match is None or not match["name"].startswith(PREFIX):
            continue
        labels = [
            (each["name"], each["value"] if each["how"] == "=~" else re.escape(each["value"]))
            for each in _LABEL.finditer(match["labels"] or "")
        ]
        span = rule.get("for", "0s")
        seconds = int(span[:-1]) * _UNITS[span[-1]]
        name = match["name"].removeprefix(PREFIX)
        found.append(Rule(rule["alert"], name, tuple(labels), float(match["bound"]), seconds))
    return found


@dataclass(slots=True)
class Alerting:
    """As Prometheus has it: a rule fires once it has held for its time."""

    rules: list[Rule] = field(default_factory=rules)
    _since: dict[str, Instant] = field(default_factory=dict)

    def look(self, counts: Counts, at: Instant) -> None:
        """Once a second."""
        for rule in self.rules:
            if rule.holds(counts):
                self._since.setdefault(rule.name, at)
            else:
                self._since.pop(rule.name, None)

    def firing(self, at: Instant) -> set[str]:
        return {
            rule.name
            for rule in self.rules
            if rule.name in self._since and at - self._since[rule.name] >= rule.seconds * SECOND
        }
