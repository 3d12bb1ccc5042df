"""A journal under other names: it decides the same and tells nothing about its owner.

Ids, clusters, labels, groups, hosts and sentences get names by rank; times, prices, amounts stay.
What was decided is renamed too, and digested anew. A cycle that cannot be decided again as it was
recorded keeps its digests, so it differs under the new names as well.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from bigfleet.engine.acquisition import RunWorkers
from bigfleet.journal.digests import input_digest, line
from bigfleet.journal.history import History
from bigfleet.journal.renaming import names_by_rank
from bigfleet.journal.replay import Replayed, replayed
from bigfleet.model.action_outcomes import outcome_of
from bigfleet.model.actions import ActionKind
from bigfleet.model.batches import Offering
from bigfleet.model.fleet import FleetMachine
from bigfleet.model.journal import (
    GAP,
    PLAIN_FACTS,
    CycleOutput,
    InputChange,
    JournalBody,
    JournalEvent,
    JournalHeader,
    JournalRecord,
    Keyframe,
    MachineTable,
    NeedTable,
    TickRun,
)
from bigfleet.model.machines import Assigned, Host
from bigfleet.model.memory import Reservation
from bigfleet.model.needs import MARGIN_GROUP, NeedKey
from bigfleet.model.pauses import Pause
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.requirements import (
    HOSTNAME_KEY,
    INSTANCE_TYPE_KEY,
    REGION_KEY,
    ZONE_KEY,
    Operator,
    Requirement,
)
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import ActionView, StoryEvent

#: Decisions depend on these label keys, and the reading of an amount on the name of its resource.
KEPT = frozenset(
    (
        *(HOSTNAME_KEY, INSTANCE_TYPE_KEY, REGION_KEY, ZONE_KEY),
        *("cpu", "memory", "ephemeral-storage", "pods"),
    )
)
_FINGERPRINT = re.compile(
    r"(?P<head>p=(-?\d+)\|ipb=(\d+)\|rpb=(\d+)\|)reqs=(?P<reqs>.*)\|spr=(?P<spread>.*)", re.DOTALL
)
_MARGIN = f"{MARGIN_GROUP}:"


@dataclass(frozen=True, slots=True)
class Renaming:
    """Renames what a record holds, text by text."""

    text: Callable[[str], str]

    # -- parts -------------------------------------------------------------------------------------

    def group(self, group: str) -> str:
        """A margin stays one, and the one of its group."""
        if group == MARGIN_GROUP:
            return group
        if group.startswith(_MARGIN):
            return _MARGIN + self.text(group.removeprefix(_MARGIN))
        return self.text(group)

    def fingerprint(self, fingerprint: str) -> str:
        profile = profile_of(fingerprint)
        if profile is not None:
            return self.profile(profile).fingerprint
        found = _FINGERPRINT.match(fingerprint)
        head = "" if found is None else found["head"]
        return head + self.text(fingerprint.removeprefix(head))

    def key(self, key: NeedKey) -> NeedKey:
        return NeedKey(
            self.text(key.cluster), self.fingerprint(key.fingerprint), self.group(key.group)
        )

    def profile(self, profile: Profile) -> Profile:
        return Profile.of(
            [
                Requirement.of(self.text(each.key), each.operator, map(self.text, each.values))
                for each in profile.requirements
            ],
            [replace(each, topology_key=self.text(each.topology_key)) for each in profile.spread],
            *profile.precedence,
        )

    def amounts(self, amounts: Resources) -> Resources:
        return Resources.of({self.text(name): amount for name, amount in amounts.amounts})

    def offering(self, offering: Offering) -> Offering:
        labels = [(self.text(key), self.text(value)) for key, value in offering.labels]
        return replace(
            offering,
            instance_type=self.text(offering.instance_type),
            zone=self.text(offering.zone),
            labels=tuple(sorted(labels)),
            resources=self.amounts(offering.resources),
            allocatable=self.amounts(offering.allocatable),
        )

    def assigned(self, assigned: Assigned) -> Assigned:
        return replace(
            assigned,
            cluster=self.text(assigned.cluster),
            need_fingerprint=self.fingerprint(assigned.need_fingerprint),
            group=self.group(assigned.group),
        )

    def entry(self, entry: FleetMachine) -> FleetMachine:
        machine, host = entry.machine, entry.machine.host
        renamed = replace(
            machine,
            id=self.text(machine.id),
            host=Host(self.text(host.provider), self.text(host.ref)),
            cluster=self.text(machine.cluster),
            instance_type=self.text(machine.instance_type),
            zone=self.text(machine.zone),
            labels={self.text(key): self.text(value) for key, value in machine.labels.items()},
            resources=self.amounts(machine.resources),
            allocatable=self.amounts(machine.allocatable),
            last_error=self.text(machine.last_error),
            assigned=self.assigned(machine.assigned),
        )
        return replace(entry, machine=renamed)

    # -- records -----------------------------------------------------------------------------------

    def body(self, body: JournalBody) -> JournalBody:
        match body:
            case JournalHeader():
                return replace(body, shard_id=self.text(body.shard_id))
            case Keyframe():
                return Keyframe(self.change(body.state), self.machines(body.machines))
            case InputChange():
                return self.change(body)
            case CycleOutput():
                return replace(body, actions=tuple(map(self.action, body.actions)))
            case ActionView():
                return self.action(body)
            case StoryEvent():
                return replace(
                    body,
                    machine=self.text(body.machine),
                    text=self.text(body.text),
                    cluster=self.text(body.cluster),
                    operation_id=self.text(body.operation_id),
                    instruction_id=self.text(body.instruction_id),
                )
            case JournalEvent():
                return self.event(body)
            case TickRun():
                return body

    def change(self, change: InputChange) -> InputChange:
        reported = change.reported
        return replace(
            change,
            machines=tuple(map(self.entry, change.machines)),
            removed=tuple(map(self.text, change.removed)),
            needs=None if change.needs is None else self.needs(change.needs),
            reservations=tuple(map(self.reservation, change.reservations)),
            unreserved=tuple(map(self.text, change.unreserved)),
            parking=self.ages(change.parking),
            shortfall_ages=self.ages(change.shortfall_ages),
            reported=None if reported is None else frozenset(map(self.text, reported)),
            pauses=None if change.pauses is None else tuple(map(self.pause, change.pauses)),
        )

    def pause(self, pause: Pause) -> Pause:
        scope = replace(
            pause.scope,
            shard_ids=tuple(map(self.text, pause.scope.shard_ids)),
            cluster_ids=tuple(map(self.text, pause.scope.cluster_ids)),
        )
        return replace(
            pause,
            pause_id=self.text(pause.pause_id),
            scope=scope,
            owner=self.text(pause.owner),
            reason=self.text(pause.reason),
            created_by=self.text(pause.created_by),
            ended=self.text(pause.ended),
        )

    def reservation(self, held: Reservation) -> Reservation:
        return replace(held, machine=self.text(held.machine), holder=self.key(held.holder))

    def ages(self, ages: Mapping[NeedKey, int]) -> dict[NeedKey, int]:
        return {self.key(key): age for key, age in ages.items()}

    def needs(self, table: NeedTable) -> NeedTable:
        return NeedTable(
            [*map(self.text, table.clusters)],
            [*map(self.profile, table.profiles)],
            [*map(self.amounts, table.vectors)],
            [*map(self.group, table.groups)],
            table.columns,
        )

    def machines(self, table: MachineTable) -> MachineTable:
        return MachineTable(
            [*map(self.text, table.ids)],
            [*map(self.offering, table.offerings)],
            [*map(self.assigned, table.stamps)],
            [*map(self.text, table.clusters)],
            [*map(self.text, table.providers)],
            [*map(self.text, table.node_names)],
            table.columns,
        )

    def action(self, action: ActionView) -> ActionView:
        return replace(
            action,
            machine=self.text(action.machine),
            cluster=self.text(action.cluster),
            need=None if action.need is None else self.key(action.need),
            reason=self.text(action.reason),
            outcome=self.outcome(action),
        )

    def outcome(self, action: ActionView) -> str:
        """The word stays; what was said about it does not, nor the sentence of a rail."""
        if outcome_of(action.outcome) is None:
            return self.text(action.outcome)
        word, colon, said = action.outcome.partition(": ")
        return f"{word}: {self.text(said)}" if colon else word

    def event(self, event: JournalEvent) -> JournalEvent:
        """A gap names nothing but cycles and the disk."""
        subject, peer = self.text(event.subject), self.text(event.peer)
        if event.kind == GAP:
            return replace(event, subject=subject, peer=peer)
        facts = {
            key: value if key in PLAIN_FACTS else self.text(value)
            for key, value in event.attributes.items()
        }
        return replace(
            event,
            subject=subject,
            peer=peer,
            text=self.text(event.text),
            attributes=facts,
            pause=None if event.pause is None else self.pause(event.pause),
        )


def profile_of(fingerprint: str) -> Profile | None:
    """The one with this fingerprint; None where it cannot be told for sure."""
    if (found := _FINGERPRINT.fullmatch(fingerprint)) is None:
        return None
    try:
        requirements = [_requirement(part) for part in found["reqs"].split(";")[:-1]]
        spread = [_spread(part) for part in found["spread"].split(";")[:-1]]
        precedence = int(found[2]), int(found[3]), int(found[4])
    except ValueError:
        return None
    profile = Profile.of(requirements, spread, *precedence)
    return profile if profile.fingerprint == fingerprint else None


def _requirement(text: str) -> Requirement:
    key, operator, values = text.rsplit(":", 2)
    return Requirement.of(key, Operator(int(operator)), values.split(",") if values else ())


def _spread(text: str) -> Spread:
    key, skew, when = text.rsplit(":", 2)
    return Spread(key, int(skew), WhenUnsatisfiable(int(when)))


def renaming_of(records: Iterable[JournalRecord]) -> Renaming:
    """Over all texts of these records: those of one journal must be renamed together."""
    seen: set[str] = set()

    def noted(text: str) -> str:
        seen.add(text)
        return text

    noting = Renaming(noted)
    for record in records:
        noting.body(record.body)
    names = names_by_rank(seen | {""}, KEPT)
    return Renaming(names.__getitem__)


@dataclass(frozen=True, slots=True)
class Digests:
    """Of what a cycle decided, under the new names."""

    actions: bytes
    claims: bytes


def renamed_digests(
    records: Iterable[JournalRecord],
    renaming: Renaming,
    *,
    workers: int = 1,
    run_workers: RunWorkers = map,
) -> Iterator[tuple[tuple[int, int], Digests]]:
    """Of each cycle that was recorded with its output, decided again; by epoch and cycle."""
    for each in replayed(History().cycles(records), workers=workers, run_workers=run_workers):
        if (output := each.recorded.output) is not None:
            name = each.recorded.epoch, each.recorded.given.cycle
            actions = _actions_digest(each, renaming) if each.same_actions else output.digest
            claims = _claims_digest(each, renaming) if each.same_claims else output.claimed_digest
            yield name, Digests(actions, claims)


def _actions_digest(each: Replayed, renaming: Renaming) -> bytes:
    digest = hashlib.sha256()
    for action in each.decision.actions:
        key = None if action.need is None else each.decision.outcome.key(action.need)
        document = {
            "cluster": renaming.text(action.cluster),
            "graceSeconds": action.grace_seconds,
            "kind": ActionKind(action.kind).label,
            "machine": renaming.text(action.machine),
            "need": None if key is None else renaming.key(key)._asdict(),
            "preemptorPriority": action.preemptor_priority,
        }
        digest.update(line(document))
    return digest.digest()


def _claims_digest(each: Replayed, renaming: Renaming) -> bytes:
    outcome, digest = each.decision.outcome, hashlib.sha256()
    ids, rows = outcome.scene.snapshot.ids, each.told_claims
    for row, n in zip(rows.tolist(), outcome.credit.holder[rows].tolist(), strict=True):
        need = renaming.key(outcome.key(n)).need_id if n >= 0 else ""
        digest.update(line({"machine": renaming.text(ids[row]), "need": need}))
    return digest.digest()


class Redactor:
    """Renames the records of a journal in their order; the digests of inputs are chained anew."""

    def __init__(self, renaming: Renaming, digests: Mapping[tuple[int, int], Digests]) -> None:
        self._renaming = renaming
        self._digests = digests
        self._epoch = 0
        self._input = b""
        self._now = 0

    def renamed(self, record: JournalRecord) -> JournalRecord:
        body = self._renaming.body(record.body)
        match body:
            case JournalHeader():
                self._epoch = body.epoch
            case Keyframe():
                body = replace(body, state=self._chained(body.state))
            case InputChange():
                body = self._chained(body)
            case TickRun():
                for step in body.steps:
                    self._chained(InputChange(self._now + step))
            case CycleOutput():
                if (told := self._digests.get((self._epoch, record.cycle))) is not None:
                    body = replace(body, digest=told.actions, claimed_digest=told.claims)
            case _:
                pass
        return replace(record, body=body)

    def _chained(self, change: InputChange) -> InputChange:
        self._input = input_digest(self._input, replace(change, digest=b""))
        self._now = change.now
        return replace(change, digest=self._input)
