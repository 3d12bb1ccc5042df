"""Resource vectors: exact amounts by dimension, an absent dimension being zero."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bigfleet.model.quantities import (
    LARGEST,
    BadQuantity,
    QuantityTooLarge,
    quantity_of,
    quantity_text,
)


@dataclass(frozen=True, slots=True)
class Resources:
    """An immutable vector; `amounts` is sorted by dimension name and never negative."""

    amounts: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> "Resources":
        return cls(tuple(sorted(amounts.items())))

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> "Resources":
        """From quantity texts; raises BadQuantity naming the first malformed one."""
        return cls.of({name: quantity_of(name, text) for name, text in texts.items()})

    @classmethod
    def parse_leniently(cls, texts: Mapping[str, str]) -> "Resources":
        """From a provider's record: an unparsable amount is zero, an uncountable one `LARGEST`."""
        amounts: dict[str, int] = {}
        for name, text in texts.items():
            try:
                amounts[name] = quantity_of(name, text)
            except QuantityTooLarge:
                amounts[name] = LARGEST
            except BadQuantity:
                amounts[name] = 0
        return cls.of(amounts)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.amounts)

    def __len__(self) -> int:
        return len(self.amounts)

    def __getitem__(self, dimension: str) -> int:
        for name, amount in self.amounts:
            if name == dimension:
                return amount
        return 0

    def texts(self) -> dict[str, str]:
        """Canonical quantity texts by dimension, in name order."""
        return {name: quantity_text(name, amount) for name, amount in self.amounts}

    def positive(self) -> "Resources":
        """Without the zero dimensions: the form in which two vectors compare by value."""
        if all(amount > 0 for _, amount in self.amounts):
            return self
        return Resources(tuple((name, amount) for name, amount in self.amounts if amount > 0))

    def plus(self, other: "Resources") -> "Resources":
        mine, theirs = dict(self.amounts), dict(other.amounts)
        return Resources.of({n: mine.get(n, 0) + theirs.get(n, 0) for n in mine | theirs})

    def most(self, other: "Resources") -> "Resources":
        """The larger amount of each dimension."""
        mine, theirs = dict(self.amounts), dict(other.amounts)
        return Resources.of({n: max(mine.get(n, 0), theirs.get(n, 0)) for n in mine | theirs})

    def less(self, other: "Resources") -> "Resources":
        """What is left after `other`, never below zero, over the dimensions of both."""
        mine, theirs = dict(self.amounts), dict(other.amounts)
        return Resources.of({n: max(0, mine.get(n, 0) - theirs.get(n, 0)) for n in mine | theirs})

    def times(self, count: int) -> "Resources":
        if count <= 0:
            return Resources()
        return Resources(tuple((name, amount * count) for name, amount in self.amounts))

    def covers(self, wanted: "Resources") -> bool:
        """Whether every wanted dimension is here in full; other dimensions do not matter."""
        return all(self[name] >= amount for name, amount in wanted.amounts)

    def is_zero(self) -> bool:
        return all(amount <= 0 for _, amount in self.amounts)
