"""Who owns a machine: one pure function that every shard and the coordinator ask alike.

An override of the machine's id comes first, then the first partition key whose value is assigned,
then the default owner of the provider. A domain with an empty shard has no owner: it blocks the
default owner too, which is how a domain changes hands without ever having two owners.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from weakref import ReferenceType, ref

from bigfleet.model.shard_views import OwnerSource

#: The value of an attribute key, None where the machine has none.
Attribute = Callable[[str], str | None]
#: A partition key and a value of it.
Pair = tuple[str, str]
T = TypeVar("T")

#: Default owners change hands like domains, as this key with the provider's address as its value.
PROVIDER_KEY = "bigfleet.lucy.sh/provider"


@dataclass(frozen=True, slots=True)
class Owner:
    #: Empty: no owner.
    shard: str
    source: OwnerSource


NO_OWNER = Owner("", OwnerSource.DEFAULT)


@dataclass(frozen=True, slots=True)
class MachineOverride:
    """One machine that does not follow its domain."""

    machine: str
    #: Empty: no owner, while it changes hands.
    shard: str
    #: Whose it was before it was ever moved.
    home: str = ""
    transfer: str = ""


class Owners(dict[Pair, str]):
    """Shards by pair, and how they differ from those they were made from.

    There may be a hundred thousand: code that has read the ones before looks only at the pairs that
    changed. They are never changed once they are made.
    """

    __slots__ = ("__weakref__", "_before", "_changed")

    def __init__(self, owners: Mapping[Pair, str] | Iterable[tuple[Pair, str]] = ()) -> None:
        super().__init__(owners)
        self._before: ReferenceType[Owners] | None = None
        self._changed: tuple[Pair, ...] = ()

    def with_changes(self, rows: Mapping[Pair, str | None]) -> "Owners":
        """None: the pair has no row any more."""
        after = Owners(self)
        for pair, shard in rows.items():
            if shard is None:
                after.pop(pair, None)
            else:
                after[pair] = shard
        after._before, after._changed = ref(self), tuple(rows)
        return after

    def changed_since(self, before: object) -> tuple[Pair, ...] | None:
        """In the order in which they were changed; None: unknown."""
        known = self._before() if self._before is not None else None
        # Theirs may be gone by now, and so may what was made of them.
        return self._changed if known is not None and known is before else None


@dataclass(frozen=True, slots=True)
class OwnershipView:
    """What a coordinator has assigned, as of one revision."""

    revision: int = 0
    #: Shards by (partition key, value); an empty shard means that no shard owns it.
    domains: Mapping[Pair, str] = field(default_factory=dict)
    #: By machine id.
    overrides: Mapping[str, MachineOverride] = field(default_factory=dict)
    #: Shards by address of the provider; an empty shard owns nothing.
    default_owners: Mapping[str, str] = field(default_factory=dict)
    #: Every key of a domain, in the order in which they are asked.
    keys: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        revision: int,
        partition_keys: Iterable[str] = (),
        domains: Mapping[Pair, str] | None = None,
        overrides: Iterable[MachineOverride] = (),
        default_owners: Mapping[str, str] | None = None,
    ) -> "OwnershipView":
        """Keys that are not listed come after the listed ones, by name."""
        assigned = dict(domains or {})
        return cls(
            revision,
            assigned,
            {each.machine: each for each in overrides},
            dict(default_owners or {}),
            key_order(partition_keys, (key for key, _ in assigned)),
        )

    def held_by(self, pair: Pair) -> str | None:
        """The shard of a pair, PROVIDER_KEY included; None: it has no row."""
        key, value = pair
        return self.default_owners.get(value) if key == PROVIDER_KEY else self.domains.get(pair)


def key_order(listed: Iterable[str], used: Iterable[str]) -> tuple[str, ...]:
    """Partition keys in the order in which they are asked: as listed, then the others by name."""
    first = dict.fromkeys(listed)
    return (*first, *sorted(set(used) - first.keys()))


def owner_of(machine_id: str, attribute: Attribute, provider: str, view: OwnershipView) -> Owner:
    """`provider` is the address under which the coordinator knows the machine's provider."""
    if (override := view.overrides.get(machine_id)) is not None:
        return Owner(override.shard, OwnerSource.OVERRIDE)
    for key in view.keys:
        value = attribute(key)
        if value is not None and (shard := view.domains.get((key, value))) is not None:
            return Owner(shard, OwnerSource.DOMAIN)
    if (shard := view.default_owners.get(provider)) is not None:
        return Owner(shard, OwnerSource.DEFAULT)
    return NO_OWNER


@dataclass(frozen=True, slots=True)
class Lingering:
    """A pair that is being given up."""

    #: Whose it was; None: it had no row, so that rows asked later decided.
    before: str | None


@dataclass(frozen=True, slots=True)
class PastOwner:
    """How a pair stood for a shard until a turn."""

    #: The shard itself; empty: it was being given up; None: there was no row; OTHERS.
    shard: str | None
    until: int


#: Stands for everything that is not a shard's own: of another, or given up.
OTHERS = "(others)"


@dataclass(frozen=True, slots=True)
class Ownership:
    """What one shard may act on: everything it is told of, or what its newest view gives it.

    Law: with `lingering` it owns nothing it did not own before, and with `released` strictly less.
    So a machine lingers only where it was this shard's until it lost its owner, and has had no
    other owner since; that is what `turn` and `past` are for.
    """

    shard_id: str
    #: The setting `all`; otherwise `assigned`.
    everything: bool = True
    #: None: no view yet, so an assigned shard owns nothing.
    view: OwnershipView | None = None
    #: Addresses of the providers for which the view was given; of others nothing is owned.
    covered: frozenset[str] = frozenset()
    #: Pairs this shard is giving up. What is still occupied there stays owned until it is not.
    lingering: Mapping[Pair, Lingering] = field(default_factory=dict)
    #: Those of them of which no view has said so yet: an older one may still come and give them
    #: back, so that the coordinator must not be told yet that they were given up.
    unconfirmed: frozenset[Pair] = frozenset()
    #: Machines given to a transfer that is not decided yet, with its id: they have no owner.
    released: Mapping[str, str] = field(default_factory=dict)
    #: How often what is owned has changed.
    turn: int = 0
    #: What has changed since something lingers, the oldest first.
    past: Mapping[Pair, tuple[PastOwner, ...]] = field(default_factory=dict)
    #: Every key that was asked while something lingered, in order; some may have no row any more.
    asked: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the shard knows what it owns; it is not ready before."""
        return self.everything or self.view is not None

    @property
    def revision(self) -> int:
        return self.view.revision if self.view else 0

    def owner(
        self, machine_id: str, attribute: Attribute, provider: str, *, occupied: bool = False
    ) -> Owner:
        """`occupied`: bound, on its way somewhere, or with a call under way."""
        if self.everything:
            return Owner(self.shard_id, OwnerSource.ALL)
        if self.view is None or provider not in self.covered or machine_id in self.released:
            return NO_OWNER
        owner = owner_of(machine_id, attribute, provider, self.view)
        if owner.shard or not occupied:
            return owner
        if self.lingers_in(machine_id, attribute, provider):
            return replace(owner, shard=self.shard_id)
        return owner

    def owns(
        self, machine_id: str, attribute: Attribute, provider: str, *, occupied: bool = False
    ) -> bool:
        owner = self.owner(machine_id, attribute, provider, occupied=occupied)
        return owner.shard == self.shard_id

    def lingers_in(self, machine_id: str, attribute: Attribute, provider: str) -> tuple[Pair, ...]:
        """Every pair that is being given up and by which an occupied machine is still ours."""
        if self.view is None or not self.lingering or machine_id in self.released:
            return ()
        own: tuple[Pair, ...] = (_COVERAGE, provider), (_MACHINE, machine_id)
        path = (*own, *_pairs_of(attribute, provider, self.asked))
        passed: list[Pair] = []
        for pair in path:
            shard = self._standing(pair)
            if shard == "":
                passed.append(pair)
                shard = self.lingering[pair].before
            if shard is not None:
                ours = passed and shard == self.shard_id and self._was_ours(path)
                return tuple(passed) if ours else ()
        return ()

    def names(self, machine_id: str) -> bool:
        """Whether something is said of this very machine, so that others like it tell nothing."""
        rows = self.view.overrides if self.view is not None else {}
        said = machine_id in rows or machine_id in self.released
        return said or (bool(self.past) and (_MACHINE, machine_id) in self.past)

    def newer(self, view: OwnershipView, covered: Iterable[str]) -> "Ownership":
        """With the view, unless it is no newer than the one that is held.

        Not even an equal one: what was given up since would be taken back by it.
        """
        if self.view is not None and view.revision <= self.view.revision:
            return self
        return replace(self._under(view, frozenset(covered)), unconfirmed=frozenset())

    def may_gain(self, before: "Ownership") -> bool:
        """Whether machines may be owned now that were not before."""
        if self.everything or self.view is None:
            return False
        if before.view is None or not _same_order(before.view.keys, self.view.keys):
            return True
        if any(self.released.get(machine) != of for machine, of in before.released.items()):
            return True
        return next(before._gains(self.view, self.covered), None) is not None

    def machines_gained(self, before: "Ownership") -> frozenset[str] | None:
        """Which machines these are, where it is said of each by itself; None: unknown."""
        if self.view is None or before.view is None:
            return None
        if not _same_order(before.view.keys, self.view.keys):
            return None
        gained = {m for m, of in before.released.items() if self.released.get(m) != of}
        for key, machine in before._gains(self.view, self.covered):
            if key != _MACHINE:
                return None
            gained.add(machine)
        return frozenset(gained)

    def giving_up(self, pair: Pair) -> "Ownership":
        """The coordinator took the pair away; the view that says so may still be on its way.

        Not where the key is new: only the view tells which keys are asked before it.
        """
        view = self.view
        if view is None or view.held_by(pair) not in (None, self.shard_id):
            return self
        key, value = pair
        if key == PROVIDER_KEY:
            after = replace(view, default_owners={**view.default_owners, value: ""})
        elif key in view.keys:
            after = replace(view, domains={**view.domains, pair: ""})
        else:
            return self
        return replace(self._under(after, self.covered), unconfirmed=self.unconfirmed | {pair})

    def without_lingering(self, pair: Pair) -> "Ownership":
        left = {p: given for p, given in self.lingering.items() if p != pair}
        if not left:
            return replace(self, lingering={}, past={}, asked=())
        after = replace(self, lingering=left, turn=self.turn + 1)
        return replace(after, past=self._past_of(after, (pair,)))

    def releasing(self, machine_ids: Iterable[str], transfer: str) -> "Ownership":
        return replace(self, released={**self.released, **dict.fromkeys(machine_ids, transfer)})

    def readopting(self, transfer: str) -> "Ownership":
        """The transfer is decided: what it was given is judged by the view again.

        It was cancelled, or granted by this very view or an older one; nothing else decides it.
        """
        return replace(self, released={m: t for m, t in self.released.items() if t != transfer})

    def _under(self, view: OwnershipView, covered: frozenset[str]) -> "Ownership":
        """A pair that was this shard's, by name or as the default owner's rest, and has no owner
        now, lingers; so does one that lingered before and still has none. Marks of released
        machines end where the view has the row that their own transfer wrote: an older row of the
        same machine says nothing about it.
        """
        turn = self.turn + 1
        lingering = self._lingering_under(view)
        after = replace(
            self,
            view=view,
            covered=covered,
            lingering=lingering,
            released={
                machine: transfer
                for machine, transfer in self.released.items()
                if (row := view.overrides.get(machine)) is None or row.transfer != transfer
            },
            turn=turn,
            past={},
            asked=_merged(*self._orders(view)) if lingering else (),
        )
        if not lingering:
            return after
        return replace(after, past=self._past_of(after, self._differing(view, covered)))

    def _lingering_under(self, view: OwnershipView) -> dict[Pair, Lingering]:
        old = self.view
        if old is None or not _same_order(*self._orders(view)):
            return {}
        unowned = [pair for pair, shard in view.domains.items() if not shard]
        unowned += [(PROVIDER_KEY, a) for a, shard in view.default_owners.items() if not shard]
        found: dict[Pair, Lingering] = {}
        for pair in unowned:
            if (given := self.lingering.get(pair)) is not None:
                found[pair] = given
            elif (shard := old.held_by(pair)) is None or shard == self.shard_id:
                found[pair] = Lingering(shard)
        return found

    def _orders(self, view: OwnershipView) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The keys as they were asked so far and as they are under the view.

        Without those that are listed and have no row: they decide about no machine, wherever they
        are listed.
        """
        old = self.view or OwnershipView()
        used = {key for rows in (old.domains, view.domains, self.past) for key, _ in rows}
        before = tuple(key for key in self.asked or old.keys if key in used)
        return before, tuple(key for key in view.keys if key in used)

    def _gains(self, view: OwnershipView, covered: frozenset[str]) -> Iterator[Pair]:
        """What may bring machines to this shard: rows that became its own or went away."""
        if (old := self.view) is None:
            return
        yield from ((_COVERAGE, address) for address in covered - self.covered)
        yield from self._pairs_gained(old.domains, view.domains)
        defaults = self._pairs_gained(old.default_owners, view.default_owners)
        yield from ((PROVIDER_KEY, address) for address in defaults)
        before, after = old.overrides, view.overrides
        if before != after:
            for machine in before.keys() | after.keys():
                was, now = before.get(machine), after.get(machine)
                ours = now is None or now.shard == self.shard_id
                if ours and (was is None or was.shard != self.shard_id):
                    yield _MACHINE, machine

    def _pairs_gained(self, before: Mapping[T, str], after: Mapping[T, str]) -> Iterator[T]:
        if before == after:
            return
        for name, shard in after.items():
            if shard == self.shard_id and before.get(name) != shard:
                yield name
        for name, shard in before.items():
            if shard != self.shard_id and name not in after:
                yield name

    # -- how it came to be ours ------------------------------------------------------------------

    def _standing(self, pair: Pair) -> str | None:
        """How a pair, a provider's coverage or a machine's own row stands for this shard."""
        key, value = pair
        view = self.view or OwnershipView()
        if key == _COVERAGE:
            return None if value in self.covered else OTHERS
        if key == _MACHINE:
            row = view.overrides.get(value)
            shard = row.shard or OTHERS if row is not None else None
        else:
            shard = view.held_by(pair)
        if shard == "":
            return "" if pair in self.lingering else OTHERS
        return shard if shard in (None, self.shard_id) else OTHERS

    def _differing(self, view: OwnershipView, covered: frozenset[str]) -> Iterator[Pair]:
        """Everything that may stand otherwise under another view."""
        old = self.view or OwnershipView()
        yield from ((_COVERAGE, address) for address in self.covered ^ covered)
        yield from _changed(old.domains, view.domains)
        yield from ((PROVIDER_KEY, a) for a in _changed(old.default_owners, view.default_owners))
        yield from ((_MACHINE, m) for m in _changed(old.overrides, view.overrides))

    def _past_of(
        self, after: "Ownership", pairs: Iterable[Pair]
    ) -> dict[Pair, tuple[PastOwner, ...]]:
        """With how these stood until `after`, where they stand otherwise then."""
        past = dict(self.past)
        for pair in pairs:
            if (stood := self._standing(pair)) != after._standing(pair):
                past[pair] = (*past.get(pair, ()), PastOwner(stood, after.turn))
        return past

    def _was_ours(self, path: Sequence[Pair]) -> bool:
        """Whether a machine without an owner was this shard's until it lost its owner."""
        turns = {was.until for pair in path for was in self.past.get(pair, ())}
        for turn in sorted(turns, reverse=True):
            stood = (self._stood(pair, turn) for pair in path)
            shard = next((each for each in stood if each is not None), None)
            if shard != "":
                return shard == self.shard_id
        return False

    def _stood(self, pair: Pair, turn: int) -> str | None:
        """Just before that turn."""
        for was in self.past.get(pair, ()):
            if turn <= was.until:
                return was.shard
        return self._standing(pair)


#: Beside partition keys (none of which has brackets), what brings machines to a shard: a provider
#: that is covered now, and a machine whose own row changed.
_COVERAGE, _MACHINE = "(covered)", "(machine)"


def _changed(before: Mapping[T, object], after: Mapping[T, object]) -> Iterator[T]:
    if before != after:
        names = before.keys() | after.keys()
        yield from (name for name in names if before.get(name) != after.get(name))


def _pairs_of(attribute: Attribute, provider: str, keys: Iterable[str]) -> Iterator[Pair]:
    """In the order in which they are asked."""
    for key in keys:
        if (value := attribute(key)) is not None:
            yield key, value
    yield PROVIDER_KEY, provider


def _same_order(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether the keys that are in both come in the same order."""
    if before == after:
        return True
    both = set(before) & set(after)
    return [k for k in before if k in both] == [k for k in after if k in both]


def _merged(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """Both in one order, which they agree on."""
    merged = list(after)
    for place, key in enumerate(before):
        if key not in merged:
            later = (merged.index(k) for k in before[place + 1 :] if k in merged)
            merged.insert(next(later, len(merged)), key)
    return tuple(merged)
