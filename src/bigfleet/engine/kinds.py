"""Kinds: machines that no Need of this cycle can tell apart.

Requirements are matched once per (requirement set, kind), never per machine. A kind is an offering
seen only through the attribute keys some Need asks about; the node name, which is different on
every machine, joins it only where some Need asks about that.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.kernels.compiled import Bools, Floats, Int32s, Int64s
from bigfleet.engine.vocabulary import OfferingColumns, Offerings, Vectors, Words
from bigfleet.model.requirements import HOSTNAME_KEY, Requirement, attribute_of

#: Columns of keys that no Need asks about any more are kept up to here.
_UNUSED_COLUMNS = 16

#: A key's words and, per row of some table, the number of its word (-1: absent).
Values = tuple[Words, Int32s]


class Attributes:
    """The value of each offering for each attribute key that was asked about.

    The node name is an attribute of the machine, not of its offering: as long as no Need asks for
    it, machines that differ in it alone stay one kind.
    """

    def __init__(self, offerings: Offerings, node_names: Words) -> None:
        self._offerings = offerings
        self._node_names = node_names
        self._columns: dict[str, Values] = {}
        self._type_column: Values = (Words(), np.zeros(0, np.int32))
        self._kinds: tuple[tuple[int, tuple[str, ...]], Kinds] | None = None

    def column(self, key: str) -> Values:
        """Per offering."""
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

    def instance_types(self) -> Values:
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

    def kinds(
        self,
        columns: OfferingColumns,
        machines: MachineColumns,
        requirements: Iterable[Requirement],
        topology_keys: Iterable[str],
    ) -> tuple["Kinds", Int32s]:
        """The kinds these can tell apart, and the kind of each machine.

        Kept until a new offering or another key appears. Only the offerings a snapshot knows take
        part: later ones may arrive while it is read.
        """
        asked = set(requirements)
        keys = {requirement.key for requirement in asked} | set(topology_keys)
        if len(self._columns) > 2 * len(keys) + _UNUSED_COLUMNS:
            self._columns = {key: self._columns[key] for key in keys & self._columns.keys()}
        if HOSTNAME_KEY in keys:
            return self._kinds_by_name(columns, machines, asked, keys, set(topology_keys))
        wanted = tuple(sorted(keys))
        mark = (len(columns.price), wanted)
        if self._kinds is None or self._kinds[0] != mark:
            known = np.arange(len(columns.price))
            self._kinds = (mark, Kinds(columns, self._types(known), self._values(keys, known)))
        kinds = self._kinds[1]
        kinds.begin_cycle()
        return kinds, kinds.kind_of_row[machines.offering]

    def _kinds_by_name(
        self,
        columns: OfferingColumns,
        machines: MachineColumns,
        requirements: set[Requirement],
        keys: set[str],
        topology_keys: set[str],
    ) -> tuple["Kinds", Int32s]:
        words, names = self._node_names, machines.node_name
        if HOSTNAME_KEY not in topology_keys:
            words, names = _told_apart(words, names, requirements)
        pair = machines.offering.astype(np.int64) * (len(words) + 1) + names + 1
        _, first, pair_of_machine = np.unique(pair, return_index=True, return_inverse=True)
        rows = machines.offering[first]
        values = self._values(keys - {HOSTNAME_KEY}, rows) | {HOSTNAME_KEY: (words, names[first])}
        kinds = Kinds(columns.taken(rows), self._types(rows), values)
        return kinds, kinds.kind_of_row[pair_of_machine]

    def _values(self, keys: Iterable[str], offerings: Int32s | Int64s) -> dict[str, Values]:
        columns = {key: self.column(key) for key in sorted(keys)}
        return {key: (words, numbers[offerings]) for key, (words, numbers) in columns.items()}

    def _types(self, offerings: Int32s | Int64s) -> Values:
        words, numbers = self.instance_types()
        return words, numbers[offerings]


def _told_apart(words: Words, names: Int32s, requirements: set[Requirement]) -> Values:
    """Node names as far as the requirements can tell them apart: those they name, and one that
    stands for all others."""
    named = {v for r in requirements if r.key == HOSTNAME_KEY for v in r.values}
    numbers = [number for value in sorted(named) if (number := words.find(value)) >= 0]
    chosen = Words()
    short = np.full(len(words) + 1, -1, np.int32)
    for number in numbers:
        short[number] = chosen.number(words.rows[number])
    others = (short[names] < 0) & (names >= 0)
    if others.any():
        short[names[others]] = chosen.number(words.rows[int(names[others][0])])
    return chosen, short[names]


class Kinds:
    """Columns over kinds, with what each requirement set matches among them.

    Made of rows, each with its offering's columns and its values: offerings, or offerings of
    machines of one node name.
    """

    def __init__(self, columns: OfferingColumns, types: Values, values: dict[str, Values]) -> None:
        type_words, type_numbers = types
        self._values = values
        told_apart = [numbers.astype(np.int64) for _, numbers in values.values()]
        told_apart += [
            type_numbers.astype(np.int64),
            columns.shape.astype(np.int64),
            columns.price.view(np.int64),
            columns.probability.view(np.int64),
        ]
        self.kind_of_row, first = _distinct_rows(told_apart)
        self._first = first
        self.price: Floats = columns.price[first]
        self.probability: Floats = columns.probability[first]
        self.shape: Int32s = columns.shape[first]
        #: Order of the instance type among all of them, -1 where the field is empty.
        self.type_rank = _ranks(type_words, type_numbers[first])
        #: What this cycle asked for, and what the one before did.
        self._matches: dict[tuple[Requirement, ...], Bools] = {}
        self._matched_before: dict[tuple[Requirement, ...], Bools] = {}
        self._domains: dict[str, tuple[list[str], Int32s]] = {}

    def __len__(self) -> int:
        return len(self._first)

    def begin_cycle(self) -> None:
        """Forget what the last cycle did not ask for."""
        self._matched_before, self._matches = self._matches, {}

    def matches(self, requirements: tuple[Requirement, ...]) -> Bools:
        """Which kinds meet every requirement."""
        found = self._matches.get(requirements)
        if found is None and (found := self._matched_before.get(requirements)) is not None:
            self._matches[requirements] = found
        if found is None:
            found = np.ones(len(self), np.bool_)
            for requirement in requirements:
                found &= self.meets(requirement)
            self._matches[requirements] = found
        return found

    def meets(self, requirement: Requirement) -> Bools:
        """Which kinds meet this one."""
        words, numbers = self._values[requirement.key]
        # One entry per word, and one more, which -1 finds: the attribute is absent.
        met = [requirement.met_by(word) for word in words.rows]
        verdicts = np.array([*met, requirement.met_by(None)], np.bool_)
        found: Bools = verdicts[numbers[self._first]]
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
