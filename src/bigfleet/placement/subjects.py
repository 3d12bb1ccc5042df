"""What has a margin: a Need, or all gangs of one size that fit one machine.

Here is read what a margin is decided by: what is asked, how the Needs stand with the shard, which
of their pods are stuck, which Nodes they have, and how many machines stuck pods would take.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bigfleet.model.cluster_reports import NeedStanding
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import SECOND
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.placement.margin_rows import Form, Margin, StuckRound, margin_key_of
from bigfleet.placement.occupancy import Matching, Occupancy
from bigfleet.placement.overhead import MachineKind, Overheads, min_unit
from bigfleet.placement.packing import NodeRoom, machines_for
from bigfleet.placement.records import NodeView, PodView, taint_not_tolerated


@dataclass(frozen=True, slots=True)
class MarginSettings:
    """Durations in nanoseconds, as instants are."""

    stuck_grace: Instant = 10 * SECOND
    #: A pod the scheduler has not judged again so long after the last Node came is taken as judged.
    judged_after: Instant = 60 * SECOND
    #: A verdict may be older than the Node it is heard after: the scheduler gets this long to bind.
    settle: Instant = 2 * SECOND
    #: Machines a round may ask for however few the Need has.
    least_round: int = 3
    probe_first: Instant = 1800 * SECOND
    probe_longest: Instant = 8 * 3600 * SECOND
    #: How often it is looked whether some Node could go, once a probe is due.
    probe_look_every: Instant = 300 * SECOND
    #: A lowered margin that led to no drain by then was not needed.
    probe_timeout: Instant = 600 * SECOND
    empty_for: Instant = 120 * SECOND
    event_every: Instant = 300 * SECOND
    #: How often a waiting pod is looked at.
    look_every: Instant = SECOND


DEFAULT_SETTINGS = MarginSettings()


@dataclass(frozen=True, slots=True)
class RowCoverage:
    """How the own rows and the margin's row stand, by the last reply."""

    is_covered: bool = False
    claimed: Resources = Resources()
    machines: int = 0
    arriving: int = 0
    row_claimed: Resources = Resources()
    row_machines: int = 0
    row_arriving: int = 0


@dataclass(slots=True)
class Subject:
    key: NeedKey
    form: Form
    occupancy: Occupancy
    overheads: Overheads
    settings: MarginSettings
    own: list[Need] = field(default_factory=list)
    asked: Resources = Resources()

    # -- demand ----------------------------------------------------------------------------------

    def row(self, wanted: Resources) -> Need:
        """The row of its margin."""
        first = self.own[0]
        profile, unit = first.profile, first.min_unit
        if self.form is Form.GANG_ROW:
            profile, unit = profile.without_same(), self._gang_unit(first)
        return Need(self.key.cluster, profile, wanted, unit, group=self.key.group)

    def _gang_unit(self, gang: Need) -> Resources:
        kinds = self.overheads.kinds()
        return min_unit(gang.aggregate, kinds, self.overheads.of_cluster())

    # -- the shard's word ------------------------------------------------------------------------

    def standing(
        self, confirmed: Mapping[NeedKey, NeedStanding], sent: Mapping[NeedKey, Resources]
    ) -> RowCoverage | None:
        """None: the last reply does not speak of it as it was sent."""
        own = [confirmed.get(need.key) for need in self.own]
        told = [each for each in own if each is not None]
        if len(told) < len(own):
            return None
        claimed = Resources()
        for each in told:
            claimed = claimed.plus(each.claimed)
        machines, arriving = sum(t.machines for t in told), sum(t.arriving for t in told)
        covered = all(each.satisfied for each in told)
        if self.form is Form.IN_OWN_ROW:
            surplus = claimed.less(self.asked)
            return RowCoverage(claimed.covers(self.asked), claimed, machines, arriving, surplus)
        row = confirmed.get(self.key)
        if row is None:
            if self.key in sent and self.form is not Form.NONE:
                return None
            return RowCoverage(covered, claimed, machines, arriving)
        return RowCoverage(
            covered, claimed, machines, arriving, row.claimed, row.machines, row.arriving
        )

    def scarcest(self, standing: RowCoverage) -> str:
        """The dimension with the highest asked / claimed."""
        asked = [(name, amount) for name, amount in self.asked.amounts if amount > 0]
        if not asked:
            return ""

        def ratio(each: tuple[str, int]) -> float:
            have = standing.claimed[each[0]]
            return each[1] / have if have > 0 else float("inf")

        return max(asked, key=ratio)[0]

    def surplus(self, standing: NeedStanding) -> tuple[str, int]:
        """What the own row has been sent beyond its requests, as (dimension, amount)."""
        wanted = standing.wanted or Resources()
        beyond = wanted.less(self.asked).positive()
        if not beyond.amounts:
            return "", 0
        name, amount = max(beyond.amounts, key=lambda each: each[1])
        return name, min(amount, max(0, standing.claimed[name] - self.asked[name]))

    def limit(self, dimension: str, standing: RowCoverage) -> int:
        """The most a margin may be while no pod waits."""
        has = standing.row_claimed[dimension]
        if self.form is Form.IN_OWN_ROW:
            return max(0, standing.claimed[dimension] - self.asked[dimension])
        lacks = 0
        for name, amount in self.asked.amounts:
            missing = amount - standing.claimed[name]
            one = self.machine_amount(name, standing)
            if missing > 0 and one > 0:
                lacks = max(lacks, -(-missing // one))
        return max(0, has - lacks * self.machine_amount(dimension, standing))

    # -- Nodes -----------------------------------------------------------------------------------

    @property
    def _requirements(self) -> tuple[Requirement, ...]:
        return self.own[0].profile.requirements

    @property
    def nodes(self) -> Matching:
        """Machines of the cluster that could serve it."""
        return self.occupancy.matching(self._requirements)

    def may_claim(self, node: NodeView) -> bool:
        meets = all(r.met_by(node.labels.get(r.key)) for r in self._requirements)
        return meets and node.declared.covers(self.own[0].min_unit)

    def may_share(self, other: "Subject") -> bool:
        """Whether a machine may meet the requirements of both."""
        mine = {r.key: r for r in self._requirements if r.operator in (Operator.IN, Operator.SAME)}
        for theirs in other._requirements:
            own = mine.get(theirs.key)
            if own is None or not own.values:
                continue
            if not any(theirs.met_by(value) for value in own.values):
                return False
        return True

    def machines(self) -> frozenset[str]:
        return frozenset(node.machine for node in self.nodes.nodes)

    def has_got_machine(self, opened: StuckRound) -> bool:
        """A Node of a new machine became usable since the round began; not one that flaps."""
        if self.nodes.usable_at <= opened.began:
            return False
        return any(n.is_usable and n.machine not in opened.known for n in self.nodes.nodes)

    def empty_since(self, since: Instant) -> list[NodeView]:
        """Nodes that take pods and have had none at least since then."""
        times = self.occupancy.empty_nodes()
        return [
            node
            for node in self.nodes.nodes
            if node.takes_pods and node.name in times and times[node.name] <= since
        ]

    def first_to_go(self) -> list[str]:
        """Of each kind the busy Node that the engine gives back first: that of the greatest id."""
        last: dict[str, NodeView] = {}
        for node in self.nodes.nodes:
            known = last.get(node.kind)
            if node.takes_pods and (known is None or node.machine > known.machine):
                last[node.kind] = node
        return [last[kind].name for kind in sorted(last)]

    def newest(self) -> NodeView | None:
        """The Node of the kind it last got."""
        return self.nodes.newest(self.own[0].min_unit)

    def machine_amount(self, dimension: str, standing: RowCoverage) -> int:
        """What the shard counts for one machine of the kind it last got."""
        newest = self.newest()
        if newest is not None:
            return newest.declared[dimension]
        machines = standing.machines + standing.row_machines
        total = standing.claimed[dimension] + standing.row_claimed[dimension]
        return total // machines if machines else 0

    def one_less(self, dimension: str, standing: RowCoverage) -> int:
        """What its margin has without one machine."""
        has, count = standing.row_claimed[dimension], standing.row_machines
        if self.form is Form.IN_OWN_ROW:
            return max(0, has - self.machine_amount(dimension, standing))
        return has * (count - 1) // count if count else 0

    # -- pods ------------------------------------------------------------------------------------

    def waiting(self) -> Iterable[PodView]:
        for need in self.own:
            yield from self.occupancy.waiting(need.key).values()

    def stuck(self, at: Instant) -> list[PodView]:
        """Judged unschedulable long enough ago, and again since the last Node became usable."""
        waiting = [p for p in self.waiting() if p.unschedulable_since is not None]
        if not waiting:
            return []
        usable = self.nodes.usable_at
        if at - usable < self.settings.settle:
            return []
        settled = at - usable >= self.settings.judged_after
        return [
            pod
            for pod in waiting
            if pod.unschedulable_since is not None
            and at - pod.unschedulable_since >= self.settings.stuck_grace
            and (settled or (pod.judged_at or 0) >= usable)
        ]

    def count_by_need(self, pods: Iterable[PodView]) -> dict[NeedKey, int]:
        return dict(Counter(pod.need for pod in pods if pod.need is not None))

    def units(self, stuck: Sequence[PodView]) -> list[Resources]:
        """What is placed together: a pod, or a whole gang."""
        return [pod.requests for pod in self._placed_together(stuck)]

    def machines_for(self, stuck: Sequence[PodView]) -> int:
        """Empty machines the stuck pods take; one, where our own check finds room for all.

        One as well for pods that do not tolerate the taints of the last Node: the next one has
        them too, unless it is of another kind.
        """
        newest = self.newest()
        if newest is None:
            return 1
        if self.form is not Form.GANG_ROW:
            left = self.occupancy.trial().pack(stuck).left
            if not left:
                return 1
            stuck = [pod for pod in left if taint_not_tolerated(newest.taints, pod) is None]
            if not stuck:
                return 1
        free = newest.allocatable.less(self.occupancy.followers_on(newest.name))
        daemons = sum(p.follows_node for p in self.occupancy.pods_on(newest.name).values())
        room = NodeRoom("", free, newest.pod_limit - daemons, newest.labels)
        return machines_for(self._placed_together(stuck), room)

    def _placed_together(self, stuck: Sequence[PodView]) -> list[PodView]:
        if self.form is not Form.GANG_ROW:
            return list(stuck)
        gangs = {need.key: need for need in self.own}
        first = {pod.need: pod for pod in reversed(stuck)}
        return [
            PodView(pod.uid, pod.key, gangs[key].aggregate, key)
            for key, pod in first.items()
            if key in gangs
        ]


class _Read(NamedTuple):
    """What a Need was found to be, as long as it is the same object."""

    need: Need
    is_folded: bool
    form: Form
    margin: NeedKey


class Subjects:
    """Every Need of the cluster by what has its margin."""

    def __init__(
        self, occupancy: Occupancy, overheads: Overheads, settings: MarginSettings
    ) -> None:
        self._occupancy = occupancy
        self._overheads = overheads
        self._settings = settings
        self._needs: dict[NeedKey, Need] = {}
        self._by_margin: dict[NeedKey, Subject] = {}
        self._of_need: dict[NeedKey, Subject] = {}
        self._read: dict[NeedKey, _Read] = {}
        self._kinds: list[MachineKind] = []

    def __len__(self) -> int:
        return len(self._needs)

    def put(self, needs: Iterable[Need], confirmed: Mapping[NeedKey, NeedStanding]) -> None:
        """All own rows; what is not among them is no longer asked for.

        A Need that is the same object as before is not looked at again.
        """
        kinds = self._overheads.kinds()
        if kinds != self._kinds:
            # What fits one machine may be another thing now.
            self._kinds, self._read = kinds, {}
        before, self._read = self._read, {}
        members: dict[NeedKey, list[Need]] = {}
        self._needs = {need.key: need for need in needs}
        for key, need in self._needs.items():
            standing = confirmed.get(key)
            is_folded = standing is not None and standing.folded_members > 0
            known = before.get(key)
            if known is None or known.need is not need or known.is_folded != is_folded:
                form = self._form_of(need, is_folded)
                known = _Read(need, is_folded, form, margin_key_of(need, form))
            self._read[key] = known
            members.setdefault(known.margin, []).append(need)
        earlier, self._by_margin, self._of_need = self._by_margin, {}, {}
        for margin, own in members.items():
            subject = earlier.get(margin)
            form = self._read[own[0].key].form
            if subject is None or subject.form is not form or subject.own != own:
                subject = self._subject(margin, form, own)
            self._by_margin[margin] = subject
        for key, read in self._read.items():
            self._of_need[key] = self._by_margin[read.margin]

    def _subject(self, margin: NeedKey, form: Form, own: list[Need]) -> Subject:
        asked: dict[str, int] = {}
        for need in own:
            for name, amount in need.aggregate.amounts:
                asked[name] = asked.get(name, 0) + amount
        return Subject(
            margin,
            form,
            self._occupancy,
            self._overheads,
            self._settings,
            own,
            Resources.of(asked),
        )

    def needs(self) -> Iterable[Need]:
        return self._needs.values()

    def of(self, need: NeedKey) -> Subject | None:
        return self._of_need.get(need)

    def margin_keys(self) -> Iterable[NeedKey]:
        """Under which any Need would have its margin."""
        return self._by_margin.keys()

    def with_margin(self, key: NeedKey) -> Subject | None:
        return self._by_margin.get(key)

    def in_play(self, margins: Mapping[NeedKey, Margin]) -> list[Subject]:
        """Those with a margin or with pods that wait, each once."""
        found: dict[NeedKey, Subject] = {}
        for key in margins:
            if (subject := self._by_margin.get(key)) is not None:
                found[key] = subject
        for need in self._occupancy.needs_that_wait():
            if (subject := self._of_need.get(need)) is not None:
                found[subject.key] = subject
        return list(found.values())

    @staticmethod
    def own_row(need: Need, beyond: Resources) -> Need:
        if not beyond.amounts:
            return need
        return replace(need, aggregate=need.aggregate.plus(beyond))

    def _form_of(self, need: Need, is_folded: bool) -> Form:
        if need.profile.same is not None:
            fits = is_folded or any(kind.takes(need.aggregate) for kind in self._kinds)
            return Form.GANG_ROW if fits else Form.NONE
        return Form.IN_OWN_ROW if need.profile.strict_spread is not None else Form.ROW
