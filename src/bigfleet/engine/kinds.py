"""Kinds: machines that no Need of this cycle can tell apart.

Requirements are matched once per (requirement set, kind), never per machine. A kind is an offering
seen only through the attribute keys some Need asks about, so a label that is different on every
machine costs nothing until somebody names it.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bigfleet.engine.kernels.compiled import Bools, Floats, Int32s, Int64s
from bigfleet.engine.vocabulary import OfferingColumns, Offerings, Vectors, Words
from bigfleet.model.requirements import Requirement, attribute_of


class Attributes:
    """The value of each offering for each attribute key anybody has asked about."""

    def __init__(self, offerings: Offerings) -> None:
        self._offerings = offerings
        self._columns: dict[str, tuple[Words, Int32s]] = {}
        self._type_column: tuple[Words, Int32s] = (Words(), np.zeros(0, np.int32))
        self._kinds: tuple[tuple[int, tuple[str, ...]], Kinds] | None = None

    def column(self, key: str) -> tuple[Words, Int32s]:
        """The words of a key and, per offering, the number of its word (-1: absent)."""
        words, numbers = self._columns.get(key) or (Words(), np.zeros(0, np.int32))
        rows = self._offerings.table.rows
        if len(numbers) < len(rows):
            fresh = [
                attribute_of(key, o.instance_type, o.zone, dict(o.labels))
                for o in rows[len(numbers) :]
            ]
            found = [-1 if value is None else words.number(value) for value in fresh]
            numbers = np.append(numbers, np.array(found, np.int32))
            self._columns[key] = (words, numbers)
        return words, numbers

    def instance_types(self) -> tuple[Words, Int32s]:
        """Like a column, but of the field alone: a label does not put a machine into a bucket."""
        words, numbers = self._type_column
        rows = self._offerings.table.rows
        if len(numbers) < len(rows):
            found = [
                words.number(o.instance_type) if o.instance_type else -1
                for o in rows[len(numbers) :]
            ]
            self._type_column = (words, np.append(numbers, np.array(found, np.int32)))
        return self._type_column

    def kinds(self, columns: OfferingColumns, keys: Iterable[str]) -> "Kinds":
        """The kinds that `keys` tell apart, kept until a new offering or another key appears.

        Only the offerings a snapshot knows take part: later ones may arrive while it is read.
        """
        wanted = tuple(sorted(set(keys)))
        mark = (len(columns.price), wanted)
        if self._kinds is None or self._kinds[0] != mark:
            self._kinds = (mark, Kinds(self, columns, wanted))
        return self._kinds[1]


class Kinds:
    """Columns over kinds, with what each requirement set matches among them."""

    def __init__(
        self, attributes: Attributes, columns: OfferingColumns, keys: tuple[str, ...]
    ) -> None:
        known = len(columns.price)
        type_words, types = attributes.instance_types()
        types = types[:known]
        self._values: dict[str, tuple[Words, Int32s]] = {}
        for key in keys:
            words, numbers = attributes.column(key)
            self._values[key] = (words, numbers[:known])
        told_apart = [numbers.astype(np.int64) for _, numbers in self._values.values()]
        told_apart += [
            types.astype(np.int64),
            columns.shape.astype(np.int64),
            columns.price.view(np.int64),
            columns.probability.view(np.int64),
        ]
        self.kind_of_offering, first = _distinct_rows(told_apart)
        self._first = first
        self.price: Floats = columns.price[first]
        self.probability: Floats = columns.probability[first]
        self.shape: Int32s = columns.shape[first]
        #: Order of the instance type among all of them, -1 where the field is empty.
        self.type_rank = _ranks(type_words, types[first])
        self._matches: dict[tuple[Requirement, ...], Bools] = {}
        self._domains: dict[str, tuple[list[str], Int32s]] = {}

    def __len__(self) -> int:
        return len(self._first)

    def matches(self, requirements: tuple[Requirement, ...]) -> Bools:
        """Which kinds meet every requirement."""
        found = self._matches.get(requirements)
        if found is None:
            found = np.ones(len(self), np.bool_)
            for requirement in requirements:
                words, numbers = self._values[requirement.key]
                # One entry per word, and one more, which -1 finds: the attribute is absent.
                met = [requirement.met_by(word) for word in words.rows]
                verdicts = np.array([*met, requirement.met_by(None)], np.bool_)
                found &= verdicts[numbers[self._first]]
            self._matches[requirements] = found
        return found

    def domains(self, key: str) -> tuple[list[str], Int32s]:
        """Domain values of a topology key in order, and the domain of each kind (-1: none)."""
        found = self._domains.get(key)
        if found is None:
            words, numbers = self._values[key]
            ranks = _ranks(words, numbers[self._first])
            names = sorted(words.rows)
            found = (names, ranks)
            self._domains[key] = found
        return found

    def units(self, shapes: Vectors, dimensions: tuple[str, ...]) -> Int64s:
        """What one machine of each kind offers, by dimension."""
        return shapes.units(dimensions)[self.shape]


def _ranks(words: Words, numbers: Int32s) -> Int32s:
    """Numbers replaced by the sorted position of their word; -1 for absent or empty words."""
    position = {word: i for i, word in enumerate(sorted(words.rows))}
    rank = np.array([position[w] if w else -1 for w in words.rows] + [-1], np.int32)
    return rank[numbers]


def _distinct_rows(columns: list[NDArray[np.int64]]) -> tuple[Int32s, Int64s]:
    """A number for each distinct combination of values, and the first row that shows it."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values = np.unique(column, return_inverse=True)[1]
        mixed = number * (int(values.max(initial=0)) + 1) + values
        number = np.unique(mixed, return_inverse=True)[1]
    first = np.unique(number, return_index=True)[1]
    return number.astype(np.int32), first
