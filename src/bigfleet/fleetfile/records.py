"""Record: one mapping of the file, read key by key; what does not fit is refused, never guessed.

A key that is absent or null has its default. Every reader returns something usable even after a
complaint, so that reading goes on and finds the rest.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from bigfleet.fleetfile.complaints import Complaints, Path
from bigfleet.fleetfile.limits import MOST_PENALTY_DOLLARS
from bigfleet.model.instants import EARLIEST, LATEST, instant_of
from bigfleet.model.machines import Instant
from bigfleet.model.penalties import ENUM_NAMES, LABELS, UNSPECIFIED, Bucket, bucket_of_dollars
from bigfleet.model.quantities import BadQuantity, quantity_of, why_too_much
from bigfleet.model.requirements import HOSTNAME_KEY
from bigfleet.model.resources import Resources
from bigfleet.model.syntax import why_not_label_key, why_not_label_value, why_not_node_name

Choice = TypeVar("Choice")
#: What is wrong with a text, and what to write instead; None: nothing.
WhyNot = Callable[[str], str | None]

INT32 = (-(2**31), 2**31 - 1)
_NOTHING = Resources()
_TIME = 'write an RFC 3339 time like "2026-01-01T00:00:00Z"'


class Record:
    __slots__ = ("complaints", "path", "raw")

    def __init__(self, raw: dict[str, Any], path: Path, complaints: Complaints) -> None:
        self.raw = raw
        self.path = path
        self.complaints = complaints

    def check_keys(self, known: frozenset[str]) -> None:
        if self.raw.keys() <= known:
            return
        for key in self.raw:
            name = str(key)  # YAML keys may be numbers
            if name not in known and not name.startswith("x-"):
                self.complaints.add_unknown_key((*self.path, name), sorted(known))

    def refuse(self, key: str, remedy: str) -> None:
        """Complain about the value under `key`."""
        self.complaints.add_value((*self.path, key), self.raw.get(key), remedy)

    def miss(self, key: str, remedy: str) -> None:
        self.complaints.add((*self.path, key), f"missing; {remedy}")

    def text(
        self, key: str, default: str = "", *, required: str = "", why_not: WhyNot | None = None
    ) -> str:
        """`why_not` says what is wrong with a text that is not empty, or None."""
        value = self.raw.get(key)
        if type(value) is str:
            if required and not value:
                self.refuse(key, f"empty; {required}")
            elif value and why_not is not None and (wrong := why_not(value)):
                self.complaints.add((*self.path, key), wrong)
            return value
        if value is None:
            if required:
                self.miss(key, required)
        else:
            self.refuse(key, "not text; put it in quotes")
        return default

    def flag(self, key: str, default: bool) -> bool:
        value = self.raw.get(key)
        if value is None:
            return default
        if type(value) is not bool:
            self.refuse(key, "write true or false")
            return default
        return value

    def number(self, key: str, default: float) -> float:
        """Any number, NaN and infinities included: who knows the meaning refuses those."""
        value = self.raw.get(key)
        if type(value) is float:
            return value
        if value is None:
            return default
        if type(value) is not int:
            self.refuse(key, "not a number")
            return default
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf

    def amount(self, key: str, default: float, at_most: float = math.inf) -> float:
        """A finite number, zero or more."""
        value = self.number(key, default)
        if math.isfinite(value) and 0.0 <= value <= at_most:
            return value
        bound = "zero or more" if at_most == math.inf else f"between 0 and {at_most:g}"
        self.refuse(key, f"write a finite number, {bound}")
        return default

    def whole(self, key: str, default: int, low: int, high: int, *, required: str = "") -> int:
        value = self.raw.get(key)
        if type(value) is int and low <= value <= high:
            return value
        if value is None:
            if required:
                self.miss(key, required)
        else:
            self.refuse(key, f"write a whole number from {low} to {high}")
        return default

    def choice(
        self, key: str, choices: Mapping[str, Choice], default: Choice, *, required: str = ""
    ) -> Choice:
        value = self.raw.get(key)
        if type(value) is str and value in choices:
            return choices[value]
        if value is None:
            if required:
                self.miss(key, required)
        else:
            self.complaints.add_choice((*self.path, key), value, choices)
        return default

    def instant(self, key: str, *, nanoseconds: bool = False) -> Instant | None:
        value = self.raw.get(key)
        if value is None:
            return None
        if nanoseconds and type(value) is int and EARLIEST <= value <= LATEST:
            return value
        instant = instant_of(value) if type(value) is str else None
        if instant is None:
            self.refuse(key, _TIME + (" or whole nanoseconds" if nanoseconds else ""))
        return instant

    def dollars(self, key: str) -> float:
        """A penalty: dollars, or `pinned` for no finite amount."""
        if self.raw.get(key) == "pinned":
            return math.inf
        value = self.number(key, 0.0)
        if not (math.isfinite(value) and 0.0 <= value <= MOST_PENALTY_DOLLARS):
            most = f"at most {MOST_PENALTY_DOLLARS:g}"
            self.refuse(key, f"write dollars, zero or more and {most}, or pinned")
            return 0.0
        return value

    def bucket(self, key: str) -> Bucket:
        value = self.raw.get(key)
        if value is None:
            return UNSPECIFIED
        if type(value) is str:
            bucket = LABELS.get(value, ENUM_NAMES.get(value))
            if bucket is not None:
                return bucket
        elif type(value) in (int, float) and 0 <= value <= MOST_PENALTY_DOLLARS:
            return bucket_of_dollars(value)
        self.refuse(
            key, 'write dollars, zero or more, or a bucket: "0", "0.5", "1", ... "8388608", pinned'
        )
        return UNSPECIFIED

    def resources(self, key: str, *, most: int, required: str = "") -> Resources:
        """Amounts by dimension, each of at most `most` units."""
        raw = self.raw.get(key)
        if type(raw) is not dict:
            if raw is not None:
                self.refuse(key, "write a map of quantities like {cpu: 8, memory: 32Gi}")
            elif required:
                self.miss(key, required)
            return _NOTHING
        amounts: dict[str, int] = {}
        for name, value in raw.items():
            path = (*self.path, key, str(name))
            if type(name) is not str or not name:
                self.complaints.add(path, "the name of a resource is text; put it in quotes")
            elif type(value) not in (str, int, float):
                self.complaints.add_value(path, value, "write a quantity like 2, 500m or 16Gi")
            else:
                try:
                    amount = quantity_of(name, value if type(value) is str else repr(value))
                except BadQuantity as problem:
                    self.complaints.add(path, str(problem))
                    continue
                if problem_of_size := why_too_much(name, amount, most):
                    self.complaints.add(path, problem_of_size)
                    continue
                amounts[name] = amount
        return Resources.of(amounts)

    def labels(self, key: str) -> Mapping[str, str]:
        """Kubernetes labels by key."""
        found = self.text_map(key)
        wrong = {
            name: why
            for name, value in found.items()
            if (why := why_not_label_key(name) or _why_not_value(name, value))
        }
        for name, why in wrong.items():
            self.complaints.add((*self.path, key, name), why)
        return {name: value for name, value in found.items() if name not in wrong}

    def text_map(self, key: str) -> Mapping[str, str]:
        raw = self.raw.get(key)
        if raw is None:
            return {}
        if type(raw) is not dict:
            self.refuse(key, "write a map of texts")
            return {}
        return dict(sorted(self._texts_of(key, raw)))

    def _texts_of(self, key: str, raw: dict[str, Any]) -> Iterator[tuple[str, str]]:
        for name, value in raw.items():
            path = (*self.path, key, str(name))
            if type(name) is not str or not name:
                self.complaints.add(path, "a key is text; put it in quotes")
            elif type(value) is not str:
                self.complaints.add_value(path, value, "not text; put it in quotes")
            else:
                yield name, value

    def texts(self, key: str, *, why_not: WhyNot | None = None) -> list[str]:
        values: list[str] = []
        for index, value in enumerate(self._items(key, "write a list of texts")):
            path = (*self.path, key, index)
            if type(value) is not str:
                self.complaints.add_value(path, value, "not text; put it in quotes")
                continue
            if why_not is not None and (wrong := why_not(value)):
                self.complaints.add(path, wrong)
            values.append(value)
        return values

    def records(self, key: str) -> Iterator["Record"]:
        """The mappings listed under `key`."""
        for index, value in enumerate(self._items(key, "write a list of mappings")):
            path = (*self.path, key, index)
            if type(value) is dict:
                yield Record(value, path, self.complaints)
            else:
                self.complaints.add_value(path, value, "write a mapping")

    def record(self, key: str) -> "Record":
        """The mapping under `key`, empty if there is none."""
        value = self.raw.get(key)
        if type(value) is not dict:
            if value is not None:
                self.refuse(key, "write a mapping")
            value = {}
        return Record(value, (*self.path, key), self.complaints)

    def _items(self, key: str, remedy: str) -> list[Any]:
        value = self.raw.get(key)
        if type(value) is list:
            return value
        if value is not None:
            self.refuse(key, remedy)
        return []


def _why_not_value(key: str, value: str) -> str | None:
    return why_not_node_name(value) if key == HOSTNAME_KEY else why_not_label_value(value)
