"""Roll-ups as bytes and back: read whole or refused whole, and cheap where little changed.

A message is cut into rows, a row into who asks (the identity) and how much (the two vectors), all
by length alone. Bytes that were seen before are not read again: a row the cluster's last roll-up
had gives the very same Need, with the arrival it had then; identities and amounts are remembered
for all clusters. Only what is new goes through protobuf, which judges it; anything that is not in
the usual order is put into it by protobuf first. So equal bytes mean equal Needs, and nothing else
is taken for granted.

What is remembered is bounded by what clusters say now: when it weighs several times that, rows that
no last roll-up uses are dropped. A roll-up that was refused for its weight costs a comparison when
it comes again.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from google.protobuf.message import DecodeError

from bigfleet.model.needs import Need
from bigfleet.model.penalties import PINNED
from bigfleet.model.profiles import Profile
from bigfleet.model.quantities import LARGEST_OF_NEED, BadQuantity, read_quantity, why_too_much
from bigfleet.model.requirements import Operator, Requirement, canonical
from bigfleet.model.resources import Resources
from bigfleet.model.rollups import Rollup, RollupLimits, RollupRefused, over_limit
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

T = TypeVar("T")

#: What is remembered may weigh so many times what the last roll-ups weigh, and so much beside.
#: Every byte of a row is remembered twice at most: with its part, and with its entry.
_SLACK, _SLACK_BYTES = 4, 2**18
_LIMITS = RollupLimits()
#: The label of every refusal for weight.
TOO_HEAVY = "too_heavy"
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


@dataclass(frozen=True, slots=True)
class _Refused:
    """The last roll-up of a cluster that was refused for its weight."""

    written: bytes
    limits: RollupLimits
    refused: RollupRefused


class RollupReader:
    """One for all clusters of a shard, used by one thread at a time: it remembers what it read."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}
        #: At most one a cluster; gone with the next roll-up that is read.
        self._refused: dict[str, _Refused] = {}
        self._profiles: dict[tuple[bytes, bytes], Profile] = {}
        self._requirements: dict[bytes, tuple[Requirement, ...]] = {}
        self._vectors: dict[bytes, Resources] = {}
        self._amounts: dict[bytes, tuple[tuple[str, int], ...]] = {}
        #: Bytes of the keys of the four above.
        self.remembered_bytes = 0
        #: Every resource name that some vector above has.
        self._names: set[str] = set()
        self._said_bytes = 0

    def read(
        self, content: bytes, cluster: str, limit: int, limits: RollupLimits = _LIMITS
    ) -> Rollup:
        """Raises RollupRefused; what the cluster said before stays remembered then.

        `limit`: of rows.
        """
        try:
            if len(content) > limits.max_bytes:
                raise _too_heavy("bytes", len(content), limits.max_bytes, "max_bytes")
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
        known = self._refused.get(cluster)
        if known is not None and known.written == written and known.limits == limits:
            raise known.refused
        try:
            return self._read_rows(rows, written, cluster, timestamp, limits, len(content))
        except RollupRefused as refused:
            if refused.reason == TOO_HEAVY:
                self._refused[cluster] = _Refused(written, limits, refused)
            raise
        finally:
            self._forget_unused()

    def forget(self, cluster: str) -> None:
        """The cluster has left, or its session ended: what it said is read anew when it returns."""
        said = self._said.pop(cluster, None)
        self._refused.pop(cluster, None)
        if said is not None:
            self._said_bytes -= said.rollup.size_bytes
            self._forget_unused()

    def _read_rows(
        self,
        rows: Sequence[bytes],
        written: bytes,
        cluster: str,
        timestamp: int,
        limits: RollupLimits,
        size_bytes: int,
    ) -> Rollup:
        longest = max(map(len, rows), default=0)
        if longest > limits.max_row_bytes:
            place = next(n for n, row in enumerate(rows) if len(row) == longest)
            refusal = _too_heavy("bytes of a row", longest, limits.max_row_bytes, "max_row_bytes")
            raise _refused(cluster, refusal, row=place)
        said = self._said.get(cluster)
        needs = self._needs(rows, cluster, timestamp, said.needs if said else {}, limits)
        if len(self._names) > limits.max_resource_names:
            _check_names(needs, cluster, limits)
        merged = _merged(needs, cluster)
        digest = written
        if said is not None and _are(merged, said.rollup.needs):
            # Maps may be written in any order: other bytes that say the same.
            digest = said.rollup.digest
        rollup = Rollup(cluster, timestamp, merged, digest, size_bytes)
        self._said_bytes += rollup.size_bytes - (said.rollup.size_bytes if said else 0)
        self._said[cluster] = _Said(written, rollup, dict(zip(rows, needs, strict=True)))
        self._refused.pop(cluster, None)
        return rollup

    def _needs(
        self,
        rows: Sequence[bytes],
        cluster: str,
        timestamp: int,
        known: dict[bytes, Need],
        limits: RollupLimits,
    ) -> list[Need]:
        needs: list[Need] = []
        profiles: set[str] = set()
        most = limits.max_profiles
        for row in rows:
            need = known.get(row)
            if need is None:
                try:
                    need = self._need(row, cluster, timestamp, limits)
                except _Refusal as refusal:
                    raise _refused(cluster, refusal, row=len(needs)) from None
                profiles.add(need.profile.fingerprint)
                if len(profiles) > most:
                    raise _too_many_profiles(cluster, len(profiles), most)
            needs.append(need)
        if known and len(rows) > most:
            profiles.update([need.profile.fingerprint for need in needs])
            if len(profiles) > most:
                raise _too_many_profiles(cluster, len(profiles), most)
        return needs

    def _need(self, row: bytes, cluster: str, timestamp: int, limits: RollupLimits) -> Need:
        requirements, rest, aggregate, min_unit, group = _parts(row)
        if len(group) > limits.max_group_bytes:
            most = limits.max_group_bytes
            raise _too_heavy("bytes of its group", len(group), most, "max_group_bytes")
        profile = self._profiles.get((requirements, rest))
        if profile is None:
            profile = self._profile(requirements, rest, limits)
        return Need(
            cluster,
            profile,
            self._vector(aggregate, "aggregate_resources"),
            self._vector(min_unit, "min_unit"),
            timestamp,
            _text_in(group),
        )

    def _profile(self, required: bytes, rest: bytes, limits: RollupLimits) -> Profile:
        requirements = self._requirements.get(required)
        if requirements is None:
            requirements = _requirements_in(required, limits)
            self._requirements[required] = requirements
            self.remembered_bytes += len(required)
        message = _parsed(pb.CapacityNeed.FromString, rest)
        _check_spread(message)
        buckets = message.interruption_penalty_bucket, message.reclamation_penalty_bucket
        if not (0 <= buckets[0] <= PINNED and 0 <= buckets[1] <= PINNED):
            raise _bad_bucket(*buckets)
        spreads, most = len(message.spread), limits.max_requirements
        if spreads > most:
            raise _too_heavy("spreads of a profile", spreads, most, "max_requirements")
        spread = tuple(sorted(map(spread_of, message.spread)))
        profile = Profile(requirements, spread, message.priority, *buckets)
        self._profiles[required, rest] = profile
        self.remembered_bytes += len(required) + len(rest)
        return profile

    def _vector(self, content: bytes, field: str) -> Resources:
        vector = self._vectors.get(content)
        if vector is not None:
            return vector
        amounts: dict[str, int] = {}
        for entry in entries_in(content):
            pair = self._amounts.get(entry)
            if pair is None:
                pair = self._amounts[entry] = _amount_in(entry, field)
                self.remembered_bytes += len(entry)
            amounts.update(pair)
        vector = self._vectors[content] = Resources.of(amounts)
        self.remembered_bytes += len(content)
        self._names.update(amounts)
        return vector

    def _forget_unused(self) -> None:
        """Costs every row of every cluster, after at least as many bytes were read anew."""
        if self.remembered_bytes <= _SLACK * self._said_bytes + _SLACK_BYTES:
            return
        said = [need for each in self._said.values() for need in each.needs.values()]
        profiles = {id(need.profile) for need in said}
        vectors = {id(need.aggregate) for need in said} | {id(need.min_unit) for need in said}
        self._profiles = {k: p for k, p in self._profiles.items() if id(p) in profiles}
        self._vectors = {k: v for k, v in self._vectors.items() if id(v) in vectors}
        wanted = {required for required, _ in self._profiles}
        self._requirements = {k: v for k, v in self._requirements.items() if k in wanted}
        entries = {entry for vector in self._vectors for entry in entries_in(vector)}
        self._amounts = {k: v for k, v in self._amounts.items() if k in entries}
        self._names = {name for vector in self._vectors.values() for name in vector}
        self.remembered_bytes = (
            sum(len(required) + len(rest) for required, rest in self._profiles)
            + sum(map(len, self._vectors))
            + sum(map(len, self._requirements))
            + sum(map(len, self._amounts))
        )


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


def _requirements_in(content: bytes, limits: RollupLimits) -> tuple[Requirement, ...]:
    message = _parsed(pb.CapacityNeed.FromString, content)
    count, most = len(message.requirements), limits.max_requirements
    if count > most:
        raise _too_heavy("requirements of a profile", count, most, "max_requirements")
    for place, requirement in enumerate(message.requirements):
        values, most = len(requirement.values), limits.max_values
        if values > most:
            what = f"values of requirements[{place}]"
            raise _too_heavy(what, values, most, "max_values")
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
            amount = read_quantity(name, text)
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


def _too_many_profiles(cluster: str, counted: int, most: int) -> RollupRefused:
    """Counted no further than needed: the rest would cost as much again to read."""
    what = "distinct profiles (counting stopped there)"
    return _refused(cluster, _too_heavy(what, counted, most, "max_profiles"))


def _check_names(needs: Sequence[Need], cluster: str, limits: RollupLimits) -> None:
    vectors = {id(need.aggregate): need.aggregate for need in needs}
    vectors |= {id(need.min_unit): need.min_unit for need in needs}
    names = {name for vector in vectors.values() for name in vector}
    if len(names) > limits.max_resource_names:
        most = limits.max_resource_names
        what = "distinct resource names"
        raise _refused(cluster, _too_heavy(what, len(names), most, "max_resource_names"))


def _too_heavy(what: str, sent: int, limit: int, setting: str) -> _Refusal:
    return _Refusal(TOO_HEAVY, over_limit(what, sent, limit, f"rollup.{setting}"))


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
