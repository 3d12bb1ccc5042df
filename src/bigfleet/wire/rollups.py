"""Roll-ups as bytes and back: read whole or refused whole, and cheap where little changed.

A message is cut into rows, a row into who asks (the identity) and how much (the two vectors), all
by length alone. Bytes that were seen before are not read again: a row the cluster's last roll-up
had gives the very same Need, with the arrival it had then; identities and amounts are remembered
for all clusters. Only what is new goes through protobuf, which judges it; anything that is not in
the usual order is put into it by protobuf first. So equal bytes mean equal Needs, and nothing else
is taken for granted.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from google.protobuf.message import DecodeError

from bigfleet.model.needs import Need
from bigfleet.model.penalties import PINNED
from bigfleet.model.profiles import Profile
from bigfleet.model.quantities import LARGEST_OF_NEED, BadQuantity, quantity_of, why_too_much
from bigfleet.model.requirements import Operator, Requirement, canonical
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup, RollupRefused
from bigfleet.model.syntax import (
    shown,
    why_not_label_key,
    why_not_requirement,
    why_not_resource_name,
)
from bigfleet.v1alpha1 import capacity_pb2 as pb
from bigfleet.wire.machines import length_bytes
from bigfleet.wire.needs import need_message, requirements_of, spread_of
from bigfleet.wire.rollup_rows import NotInOrder, Parts, entries_in, rows_in, split

K = TypeVar("K")
T = TypeVar("T")

#: Things remembered of each kind, for all clusters together; a full memory starts anew.
_MEMORY = 200_000
_LAST_OPERATOR = int(max(Operator))
#: Tags of a row in a roll-up and of an aggregate in a row.
_ROW, _AGGREGATE = b"\x1a", b"\x12"


class _Refusal(Exception):
    """Why a row cannot be taken: the label of the metric, and the field with what would do."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Said:
    """What a cluster said last."""

    #: Of the bytes of all rows.
    written: bytes
    rollup: Rollup
    #: By the bytes of their rows.
    needs: dict[bytes, Need]


class RollupReader:
    """One for all clusters of a shard, used by one thread at a time: it remembers what it read."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        self._profiles: dict[tuple[bytes, bytes], Profile] = {}
        self._requirements: dict[bytes, tuple[Requirement, ...]] = {}
        self._vectors: dict[bytes, Resources] = {}
        self._amounts: dict[bytes, tuple[tuple[str, int], ...]] = {}

    def read(self, content: bytes, cluster: str, limit: int) -> Rollup:
        """Raises RollupRefused; what the cluster said before stays remembered then."""
        try:
            named, timestamp, rows = _cut(content)
        except _Refusal as refusal:
            raise _refused(cluster, refusal) from None
        if named not in ("", cluster):
            text = f"it names cluster {named!r}; a session reports the cluster of its Hello only"
            raise _refused(cluster, _Refusal("cluster_mismatch", text))
        if len(rows) > limit:
            text = f"it has {len(rows)} rows and may have {limit}; see max_needs_per_rollup"
            raise _refused(cluster, _Refusal("too_large", text))
        said = self._said.get(cluster)
        written = _digest_of(rows)
        if said is not None and said.written == written:
            return replace(said.rollup, timestamp_unix_nanos=timestamp)
        needs = self._needs(rows, cluster, timestamp, said.needs if said else {})
        merged = _merged(needs, cluster)
        digest = written
        if said is not None and _are(merged, said.rollup.needs):
            # Maps may be written in any order: other bytes that say the same.
            digest = said.rollup.digest
        rollup = Rollup(cluster, timestamp, merged, digest)
        self._said[cluster] = _Said(written, rollup, dict(zip(rows, needs, strict=True)))
        return rollup

    def forget(self, cluster: str) -> None:
        """For a cluster that is gone for good."""
        self._said.pop(cluster, None)

    def _needs(
        self, rows: Sequence[bytes], cluster: str, timestamp: int, known: dict[bytes, Need]
    ) -> list[Need]:
        needs: list[Need] = []
        for row in rows:
            need = known.get(row)
            if need is None:
                try:
                    need = self._need(row, cluster, timestamp)
                except _Refusal as refusal:
                    raise _refused(cluster, refusal, row=len(needs)) from None
            needs.append(need)
        return needs

    def _need(self, row: bytes, cluster: str, timestamp: int) -> Need:
        requirements, rest, aggregate, min_unit, group = _parts(row)
        profile = self._profiles.get((requirements, rest))
        if profile is None:
            profile = self._profile(requirements, rest)
        return Need(
            cluster,
            profile,
            self._vector(aggregate, "aggregate_resources"),
            self._vector(min_unit, "min_unit"),
            timestamp,
            _text_in(group),
        )

    def _profile(self, required: bytes, rest: bytes) -> Profile:
        requirements = self._requirements.get(required)
        if requirements is None:
            requirements = _kept(self._requirements, required, _requirements_in(required))
        message = _parsed(pb.CapacityNeed.FromString, rest)
        _check_spread(message)
        buckets = message.interruption_penalty_bucket, message.reclamation_penalty_bucket
        if not (0 <= buckets[0] <= PINNED and 0 <= buckets[1] <= PINNED):
            raise _bad_bucket(*buckets)
        spread = tuple(sorted(map(spread_of, message.spread)))
        profile = Profile(requirements, spread, message.priority, *buckets)
        return _kept(self._profiles, (required, rest), profile)

    def _vector(self, content: bytes, field: str) -> Resources:
        vector = self._vectors.get(content)
        if vector is not None:
            return vector
        amounts: dict[str, int] = {}
        for entry in entries_in(content):
            pair = self._amounts.get(entry)
            if pair is None:
                pair = _kept(self._amounts, entry, _amount_in(entry, field))
            amounts.update(pair)
        return _kept(self._vectors, content, Resources.of(amounts))


def rollup_bytes(cluster_id: str, timestamp_unix_nanos: int, needs: Iterable[Need]) -> bytes:
    """A ClusterCapacityNeeds; equal Needs in equal order have equal bytes."""
    return rollup_of_rows(cluster_id, timestamp_unix_nanos, map(need_row, needs))


def need_row(need: Need) -> bytes:
    """One row of a roll-up, with its tag and length; equal Needs have equal bytes."""
    row = need_message(need).SerializeToString(deterministic=True)
    return b"".join((_ROW, length_bytes(len(row)), row))


def rollup_of_rows(cluster_id: str, timestamp_unix_nanos: int, rows: Iterable[bytes]) -> bytes:
    """A ClusterCapacityNeeds of rows that `need_row` made: nothing is written twice."""
    head = pb.ClusterCapacityNeeds(cluster_id=cluster_id, timestamp_unix_nanos=timestamp_unix_nanos)
    return b"".join((head.SerializeToString(), *rows))


def _cut(content: bytes) -> tuple[str, int, list[bytes]]:
    """Who says it, when, and its rows."""
    try:
        cluster, timestamp, rows = rows_in(content)
        return _text_in(cluster), timestamp, rows
    except NotInOrder:
        message = _parsed(pb.ClusterCapacityNeeds.FromString, content)
        rows = [need.SerializeToString(deterministic=True) for need in message.needs]
        return message.cluster_id, message.timestamp_unix_nanos, rows


def _parts(row: bytes) -> Parts:
    try:
        return split(row)
    except NotInOrder:
        message = _parsed(pb.CapacityNeed.FromString, row)
        message.DiscardUnknownFields()
        return split(message.SerializeToString(deterministic=True))


def _requirements_in(content: bytes) -> tuple[Requirement, ...]:
    message = _parsed(pb.CapacityNeed.FromString, content)
    for place, requirement in enumerate(message.requirements):
        if wrong := why_not_requirement(requirement.key, requirement.values):
            raise _Refusal("label_syntax", f"requirements[{place}].{wrong[0]}: {wrong[1]}")
        if not 0 <= requirement.operator <= _LAST_OPERATOR:
            text = (
                f"requirements[{place}] on {requirement.key!r} has operator "
                f"{requirement.operator}; operators have the numbers 0 to {_LAST_OPERATOR}"
            )
            raise _Refusal("operator", text)
    return canonical(requirements_of(message.requirements))


def _check_spread(message: pb.CapacityNeed) -> None:
    for place, spread in enumerate(message.spread):
        if wrong := why_not_label_key(spread.topology_key):
            raise _Refusal("label_syntax", f"spread[{place}].topology_key: {wrong}")


def _bad_bucket(interruption: int, reclamation: int) -> _Refusal:
    wrong = not 0 <= interruption <= PINNED
    field = "interruption_penalty_bucket" if wrong else "reclamation_penalty_bucket"
    number = interruption if wrong else reclamation
    return _Refusal("bucket", f"{field} is {number}; buckets have the numbers 0 to {PINNED}")


def _amount_in(entry: bytes, field: str) -> tuple[tuple[str, int], ...]:
    """One amount, or none where protobuf ignores the entry for what it does not know in it.

    Entries of both maps have one shape: this one is read as if it were an aggregate's.
    """
    content = b"".join((_AGGREGATE, length_bytes(len(entry)), entry))
    found = []
    for name, text in _parsed(pb.CapacityNeed.FromString, content).aggregate_resources.items():
        if wrong := why_not_resource_name(name):
            raise _Refusal("label_syntax", f"{field}[{shown(name)}]: {wrong}")
        try:
            amount = quantity_of(name, text)
        except BadQuantity as problem:
            raise _Refusal("quantity", f"{field}[{name!r}]: {problem}") from None
        if too_much := why_too_much(name, amount, LARGEST_OF_NEED):
            raise _Refusal("quantity", f"{field}[{name!r}]: {too_much}")
        found.append((name, amount))
    return tuple(found)


def _text_in(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as problem:
        raise _Refusal("undecodable", f"a text is not UTF-8: {problem}") from None


def _parsed(read: Callable[[bytes], T], content: bytes) -> T:
    try:
        return read(content)
    except DecodeError as problem:
        raise _Refusal("undecodable", f"protobuf cannot read it: {problem}") from None


def _kept(memory: dict[K, T], key: K, value: T) -> T:
    if len(memory) >= _MEMORY:
        memory.clear()
    memory[key] = value
    return value


def _digest_of(rows: Sequence[bytes]) -> bytes:
    """Lengths first: the same bytes cut elsewhere are other rows."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(b",".join(b"%d" % len(row) for row in rows))
    digest.update(b"".join(rows))
    return digest.digest()


def _merged(needs: Sequence[Need], cluster: str) -> tuple[Need, ...]:
    """One per identity: amounts summed, units the largest."""
    rows: dict[tuple[str, str], Need] = {}
    for place, need in enumerate(needs):
        key = (need.profile.fingerprint, need.group)
        seen = rows.get(key)
        if seen is None:
            rows[key] = need
            continue
        total = seen.aggregate.plus(need.aggregate)
        for name, amount in total.amounts:
            if too_much := why_too_much(name, amount, LARGEST_OF_NEED):
                text = f"aggregate_resources[{name!r}] of its identity adds up: {too_much}"
                raise _refused(cluster, _Refusal("quantity", text), row=place)
        rows[key] = replace(seen, aggregate=total, min_unit=seen.min_unit.most(need.min_unit))
    return tuple(rows.values())


def _are(needs: Sequence[Need], others: Sequence[Need]) -> bool:
    return len(needs) == len(others) and all(map(_same, needs, others))


def _same(one: Need, other: Need) -> bool:
    return one is other or replace(one, arrival_unix_nanos=other.arrival_unix_nanos) == other


def _refused(cluster: str, refusal: _Refusal, row: int | None = None) -> RollupRefused:
    place = "" if row is None else f", row {row}"
    text = f"roll-up of {cluster!r} refused{place}: {refusal}; the last accepted demand stays"
    return RollupRefused(refusal.reason, text)
