"""Revised demand: machines for pods that are covered on paper and stuck in the cluster.

The scheduler says which pods it cannot place; the shard's reply says what it counts for their Need.
When all machines of a Need are there and its pods still wait, its margin is raised by as many
machines as the stuck pods would take. Own rows stay exactly the sum of requests.

Laws. While no pod was ever stuck, no drain refused and no machine lost, every margin is zero. A
margin buys only while a pod of its Need waits. A round asks for at most as many machines as the
Need has, or three. Nothing changes for a Need unless the last reply speaks of it as it was sent.

All of it is driven: `on_demand`, `on_reply` and `turn` in, `rows` out; see the methods.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bigfleet.model.cluster_reports import STALE_AFTER, ClusterReportReply, NeedStanding
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need, NeedKey, is_margin
from bigfleet.model.options import SECOND
from bigfleet.model.resources import Resources
from bigfleet.placement.admission import AdmissionRefusal, Admissions
from bigfleet.placement.fruitless import FruitlessRounds
from bigfleet.placement.margin_notes import MarginFigures, MarginNote, NoteKind, Notes
from bigfleet.placement.margin_rows import Form, Margin, Probe, StuckRound
from bigfleet.placement.occupancy import Occupancy
from bigfleet.placement.overhead import Overheads
from bigfleet.placement.records import NodeView, PodView
from bigfleet.placement.subjects import (
    DEFAULT_SETTINGS,
    MarginSettings,
    RowCoverage,
    Subject,
    Subjects,
)

#: Raises for one Node whose drain is refused again and again: one claims another machine that is
#: on its way out, the next one this; a third would buy.
_MOST_REFUSALS = 2
#: How long a shard takes from a roll-up to the reply that speaks of it, and some more.
LATELY = 5 * SECOND


@dataclass(frozen=True, slots=True)
class MarginChange:
    #: Rows differ from what was last sent for another reason than demand: send them at once.
    changed: bool
    notes: tuple[MarginNote, ...] = ()


class Margins:
    def __init__(
        self,
        cluster: str,
        occupancy: Occupancy,
        admissions: Admissions,
        overheads: Overheads,
        settings: MarginSettings = DEFAULT_SETTINGS,
    ) -> None:
        self._cluster = cluster
        self._occupancy = occupancy
        self._admissions = admissions
        self._settings = settings
        self._subjects = Subjects(occupancy, overheads, settings)
        #: By the key of the margin.
        self._margins: dict[NeedKey, Margin] = {}
        self._fruitless = FruitlessRounds()
        self._notes = Notes(settings.event_every)
        #: What the last roll-up asked for; None: none was sent since the start.
        self._sent: dict[NeedKey, Resources] | None = None
        #: Those before it, each with the time until which it was the last.
        self._sent_lately: deque[tuple[Instant, dict[NeedKey, Resources]]] = deque(maxlen=16)
        #: Of the last reply: what speaks of a Need as it was last sent.
        self._confirmed: dict[NeedKey, NeedStanding] = {}
        #: Machines on their way to any Need of the cluster, by the last reply.
        self._arriving: dict[NeedKey, int] = {}
        self._replied_at: Instant | None = None
        #: The first reply, until demand is known as well.
        self._first_reply: ClusterReportReply | None = None
        #: By margin: the last standing that was confirmed.
        self._last: dict[NeedKey, RowCoverage] = {}
        #: By margin: since when the shard counts more machines than there are Nodes.
        self._lacking: dict[NeedKey, Instant] = {}
        #: Nodes that left a margin because they were empty.
        self._left: set[str] = set()
        #: By Node: how often a refused drain has raised a margin.
        self._refusals: dict[str, int] = {}
        self._changed = False
        self.figures = MarginFigures()
        #: Stuck pods of delivered Needs, by Need, as of the last turn.
        self.stuck: dict[NeedKey, int] = {}
        self._stuck_before: dict[NeedKey, int] = {}

    # -- what comes in ---------------------------------------------------------------------------

    @property
    def awaits_first_reply(self) -> bool:
        """Until then a roll-up would withdraw the margins of the process before this one."""
        return self._sent is None and self._replied_at is None

    def on_demand(self, needs: Iterable[Need]) -> None:
        """The own rows as they are now: exactly the sums of requests, units with overhead."""
        self._subjects.put(needs, self._confirmed)
        if self._first_reply is not None:
            self._adopt(self._first_reply)

    def on_sent(self, rows: Iterable[Need], at: Instant) -> None:
        """A roll-up of these rows went out."""
        if self._sent is not None:
            self._sent_lately.append((at, self._sent))
        self._sent = {row.key: row.aggregate.positive() for row in rows}
        while self._sent_lately and at - self._sent_lately[0][0] >= LATELY:
            self._sent_lately.popleft()

    def on_reply(self, reply: ClusterReportReply, at: Instant) -> list[MarginNote]:
        self._replied_at = at
        if self._sent is None:
            self._first_reply = reply
            if self._subjects:
                self._adopt(reply)
            return []
        self._confirmed = {}
        told = ((standing.key(self._cluster), standing.arriving) for standing in reply.standings)
        self._arriving = {key: arriving for key, arriving in told if arriving}
        is_silent = bool(reply.standings)
        for standing in reply.standings:
            key = standing.key(self._cluster)
            if standing.wanted is not None:
                is_silent = False
                if self._is_about(key, standing.wanted.positive(), at):
                    self._confirmed[key] = standing
        for subject in self._subjects.in_play(self._margins):
            self._confirm(subject)
        return self._notes.not_revised(self._cluster) if is_silent else []

    def _is_about(self, key: NeedKey, wanted: Resources, at: Instant) -> bool:
        """Whether a reply speaks of a row as it was sent.

        An own row may have been sent again while the shard was deciding: in a cluster where pods
        come and go every second no reply would ever be about the last one.
        """
        if self._sent is None or self._sent.get(key) == wanted:
            return self._sent is not None
        if is_margin(key.group) or key not in self._sent or key in self._margins:
            return False
        lately = (sent for until, sent in self._sent_lately if at - until < LATELY)
        return any(sent.get(key) == wanted for sent in lately)

    def on_disconnected(self) -> None:
        """Margins stay; nothing is revised until a reply of the next session."""
        self._confirmed = {}

    def on_refused(self, refusal: AdmissionRefusal, at: Instant) -> bool:
        """A drain was refused: the machine is to stay. True: send the rows at once."""
        node = self._occupancy.nodes.get(refusal.node)
        if node is None:
            return False
        if self._restore_probes(node, at):
            return True
        pod = refusal.pod
        subject = self._subjects.of(pod.need) if pod is not None and pod.need else None
        if pod is None or subject is None or not subject.may_claim(node):
            return False
        if self._refusals.get(node.name, 0) >= _MOST_REFUSALS:
            return False
        margin = self._margin(subject)
        if node.name not in margin.refused:
            self._refusals[node.name] = self._refusals.get(node.name, 0) + 1
        standing = self._last.get(subject.key, RowCoverage())
        dimension = subject.scarcest(standing)
        margin.refused[node.name] = node.declared[dimension]
        others = sum(amount for name, amount in margin.refused.items() if name != node.name)
        kept = standing.row_claimed[dimension] + others
        amount = kept + max(1, pod.requests[dimension])
        asked = subject.asked[dimension]
        if dimension == margin.dimension:
            amount = max(amount, margin.scaled(asked))
        margin.set(dimension, amount, asked, may_buy=True)
        self._probe_later(margin, at)
        self.figures.refusals += 1
        return True

    def on_drain_admitted(self, node: str, at: Instant) -> None:
        """A machine of a lowered margin goes: the margin stays lowered."""
        view = self._occupancy.nodes.get(node)
        for margin in self._margins.values():
            subject = self._subjects.with_margin(margin.key)
            if margin.probe is None or subject is None or view is None:
                continue
            if subject.may_claim(view):
                self._end_probe(margin, at, failed=False)

    # -- what goes out ---------------------------------------------------------------------------

    def rows(self, at: Instant) -> tuple[Need, ...]:
        """A whole roll-up: own rows first, then margins. To be sent now; see `on_sent`."""
        own = [
            self._subjects.own_row(need, self.in_own_row(need.key, at))
            for need in self._subjects.needs()
        ]
        return (*own, *self.margin_rows(at))

    def margin_rows(self, at: Instant) -> tuple[Need, ...]:
        """The rows of margins, in the order of their keys, to be sent after all own rows."""
        rows = []
        for key in sorted(self._margins):
            subject = self._subjects.with_margin(key)
            if subject is None or subject.form is Form.IN_OWN_ROW:
                continue
            self._cap(subject, self._margins[key], at)
            wanted = self._wanted(subject)
            if wanted.amounts:
                rows.append(subject.row(wanted))
        return tuple(rows)

    def in_own_row(self, need: NeedKey, at: Instant) -> Resources:
        """What a Need carries in its own row beyond its requests; almost always nothing."""
        margin = self._margins.get(need)
        subject = self._subjects.with_margin(need) if margin is not None else None
        if margin is None or subject is None or subject.form is not Form.IN_OWN_ROW:
            return Resources()
        self._cap(subject, margin, at)
        return self._wanted(subject)

    def asks(self) -> list[tuple[str, str]]:
        """Needs the next reply must speak of, as (fingerprint, group).

        Before the first one all of them: only the shard knows which have a margin.
        """
        keys: dict[NeedKey, None] = {}
        if self.awaits_first_reply:
            return [(key.fingerprint, key.group) for key in self._subjects.margin_keys()]
        for subject in self._subjects.in_play(self._margins):
            keys[subject.key] = None
            keys.update((need.key, None) for need in subject.own)
        return [(key.fingerprint, key.group) for key in keys]

    def due_at(self, at: Instant) -> Instant | None:
        """When `turn` next has something to do after `at`; None: only events can tell."""
        subjects = self._subjects.in_play(self._margins)
        if any(self._waiting(subject, at) for subject in subjects):
            return at + self._settings.look_every
        due = [m.probe_at for m in self._margins.values() if m.amount]
        due += [
            m.probe.began + self._settings.probe_timeout
            for m in self._margins.values()
            if m.probe is not None
        ]
        if self._margins:
            due += [
                since + self._settings.empty_for
                for n, since in self._occupancy.empty_nodes().items()
                if n not in self._left
            ]
        due += [end for end in (self._fruitless.next_end(at),) if end is not None]
        return min((each for each in due if each > at), default=None)

    def amounts(self) -> Mapping[NeedKey, Resources]:
        """Every margin as it would be sent, by its key."""
        subjects = ((key, self._subjects.with_margin(key)) for key in self._margins)
        return {key: self._wanted(subject) for key, subject in subjects if subject is not None}

    def sizes(self) -> dict[str, int]:
        return {
            "margins": len(self._margins),
            "fruitless": len(self._fruitless),
            "told": len(self._notes),
            "left": len(self._left),
            "refusals": len(self._refusals),
            "last": len(self._last),
            "lacking": len(self._lacking),
        }

    # -- a turn ----------------------------------------------------------------------------------

    def turn(self, at: Instant) -> MarginChange:
        """Looks at every Need that has a margin or a pod that waits."""
        self._changed = False
        self._stuck_before, self.stuck = self.stuck, {}
        self._forget(at)
        notes: list[MarginNote] = []
        for subject in self._subjects.in_play(self._margins):
            notes += self._turn_of(subject, at)
        for key in [k for k, margin in self._margins.items() if margin.is_idle]:
            del self._margins[key]
        return MarginChange(self._changed, tuple(notes))

    def _turn_of(self, subject: Subject, at: Instant) -> list[MarginNote]:
        margin = self._margins.get(subject.key)
        standing = self._standing_of(subject, at)
        if standing is None:
            self._keep_stuck(subject)
            return []
        self._last[subject.key] = standing
        if margin is not None:
            self._cap(subject, margin, at)
        if not standing.is_covered or standing.arriving or not subject.nodes.all_usable:
            return []
        if self._lacks_nodes(subject, standing, at):
            return []
        stuck = subject.stuck(at)
        self.stuck.update(subject.count_by_need(stuck))
        notes: list[MarginNote] = []
        coming = self._on_their_way(subject)
        opened = margin.round if margin is not None else None
        if margin is not None and opened is not None and not coming:
            notes += self._judge(subject, margin, opened, standing, stuck, at)
        hopeful = [p for p in stuck if not self._fruitless.rests(p.owner_shape, at)]
        if hopeful:
            opened = margin.round if margin is not None else None
            if opened is not None and self._came(subject, opened, standing) and not coming:
                # Not all pods of the round have been judged again.
                return notes
            return notes + self._raise(subject, standing, hopeful, at)
        if margin is not None and not self._waiting(subject, at) and not margin.unconfirmed:
            notes += self._lower(subject, margin, standing, at)
        return notes

    def _lacks_nodes(self, subject: Subject, standing: RowCoverage, at: Instant) -> bool:
        """The shard counts machines that are no longer here: its next reply says what it does.

        For a minute; a Node whose labels do not match what its machine declared never shows up.
        """
        counted = standing.machines
        if subject.form in (Form.ROW, Form.GANG_ROW):
            counted += standing.row_machines - standing.row_arriving
        if sum(not node.instruction for node in subject.nodes.nodes) >= counted:
            self._lacking.pop(subject.key, None)
            return False
        return at - self._lacking.setdefault(subject.key, at) < self._settings.judged_after

    def _keep_stuck(self, subject: Subject) -> None:
        """While a Need rests, pods that were stuck and still wait are not said to be better off."""
        for need in subject.own:
            known = self._stuck_before.get(need.key, 0)
            if left := min(known, len(self._occupancy.waiting(need.key))):
                self.stuck[need.key] = left

    def _raise(
        self, subject: Subject, standing: RowCoverage, stuck: list[PodView], at: Instant
    ) -> list[MarginNote]:
        if subject.form is Form.NONE:
            return self._notes.told(NoteKind.GANG_SPANS, subject.key, stuck, at)
        k = subject.machines_for(stuck) - self._on_their_way(subject)
        k = min(k, max(self._settings.least_round, standing.machines + standing.row_machines))
        if k <= 0:
            return []
        margin = self._margin(subject)
        dimension = subject.scarcest(standing)
        smallest = max(1, min(unit[dimension] for unit in subject.units(stuck)))
        one = subject.machine_amount(dimension, standing)
        amount = standing.row_claimed[dimension] + (k - 1) * one + smallest
        asked = subject.asked[dimension]
        if (dimension, amount) == (margin.dimension, margin.scaled(asked)):
            return []
        machines = standing.machines + standing.row_machines
        opened = margin.round or StuckRound({}, margin.amount, at, machines)
        for uid in [uid for uid in opened.pods if uid not in self._occupancy.pods]:
            del opened.pods[uid]
        opened.pods.update((pod.uid, pod.owner_shape) for pod in stuck)
        opened.began, opened.known = at, subject.machines()
        margin.set(dimension, amount, asked, may_buy=True)
        margin.round = opened
        margin.probe = None
        margin.probe_interval = self._settings.probe_first
        self._probe_later(margin, at)
        self.figures.rounds += 1
        self._changed = True
        return self._notes.told(NoteKind.RAISED, subject.key, stuck, at, machines=k)

    def _judge(
        self,
        subject: Subject,
        margin: Margin,
        opened: StuckRound,
        standing: RowCoverage,
        stuck: list[PodView],
        at: Instant,
    ) -> list[MarginNote]:
        """Whether the machines of a round helped."""
        pods = self._occupancy.pods
        bound = {s for uid, s in opened.pods.items() if uid in pods and pods[uid].node}
        shapes = set(opened.pods.values())
        still = [pod for pod in stuck if pod.owner_shape in shapes - bound]
        self._fruitless.helped(bound)
        if bound:
            # Others may have taken the place of these, unless there is room left for them.
            still = [p for p in still if not self._occupancy.trial().pack([p]).left]
        elif not still and any(pod.owner_shape in shapes for pod in subject.waiting()):
            return []
        if still and not self._has_been_tried(subject, opened, standing, at):
            return []
        margin.round = None
        return self._count_fruitless(subject, margin, opened, still, at) if still else []

    def _came(self, subject: Subject, opened: StuckRound, standing: RowCoverage) -> bool:
        """A machine came since the round began, as the cluster or the shard has it."""
        counted = standing.machines + standing.row_machines
        return subject.has_got_machine(opened) or counted > opened.machines

    def _has_been_tried(
        self, subject: Subject, opened: StuckRound, standing: RowCoverage, at: Instant
    ) -> bool:
        """A machine the shard counts and whose Node does not match helps no pod: that counts too,
        once a Node had time to show up."""
        if subject.has_got_machine(opened):
            return True
        late = at - opened.began >= self._settings.judged_after
        return late and self._came(subject, opened, standing)

    def _count_fruitless(
        self,
        subject: Subject,
        margin: Margin,
        opened: StuckRound,
        still: list[PodView],
        at: Instant,
    ) -> list[MarginNote]:
        self.figures.fruitless += 1
        given_up = []
        for shape in dict.fromkeys(pod.owner_shape for pod in still):
            back = self._fruitless.count(shape, opened.before, at)
            if back is not None:
                given_up += [pod for pod in still if pod.owner_shape == shape]
                self._set(subject, margin, min(margin.amount, back))
        return self._notes.told(NoteKind.GIVEN_UP, subject.key, given_up, at)

    def _lower(
        self, subject: Subject, margin: Margin, standing: RowCoverage, at: Instant
    ) -> list[MarginNote]:
        if margin.probe is not None:
            if at - margin.probe.began >= self._settings.probe_timeout:
                self._end_probe(margin, at, failed=False)
            return []
        if not margin.amount or standing.row_arriving:
            return []
        if self._leave_empty(subject, margin, standing, at):
            return []
        if at < margin.probe_at:
            return []
        if not self._some_node_may_go(subject, at):
            margin.probe_at = at + self._settings.probe_look_every
            return []
        margin.probe = Probe(margin.amount, margin.asked_when_set, at)
        self._set(subject, margin, subject.one_less(margin.dimension, standing))
        self.figures.probes += 1
        return []

    def _leave_empty(
        self, subject: Subject, margin: Margin, standing: RowCoverage, at: Instant
    ) -> bool:
        """Nodes that have been empty for long leave the margin."""
        since = at - self._settings.empty_for
        empty = [node for node in subject.empty_since(since) if node.name not in self._left]
        in_own_row = subject.form is Form.IN_OWN_ROW
        empty = empty[: standing.machines if in_own_row else standing.row_machines]
        if not empty:
            return False
        self._left.update(node.name for node in empty)
        less = sum(node.declared[margin.dimension] for node in empty)
        amount = max(0, standing.row_claimed[margin.dimension] - less)
        if amount < margin.scaled(subject.asked[margin.dimension]):
            self._set(subject, margin, amount)
            self.figures.left_empty += len(empty)
        return True

    def _some_node_may_go(self, subject: Subject, at: Instant) -> bool:
        nodes = subject.first_to_go()
        return any(self._admissions.why_not_drained(name, at) is None for name in nodes)

    def _restore_probes(self, node: NodeView, at: Instant) -> bool:
        """A refusal of a machine that a lowered margin could have had restores that margin."""
        for margin in self._margins.values():
            subject = self._subjects.with_margin(margin.key)
            probe = margin.probe
            if probe is not None and subject is not None and subject.may_claim(node):
                self._end_probe(margin, at, failed=True)
                margin.set(margin.dimension, probe.before, probe.asked_before, may_buy=True)
                return True
        return False

    def _end_probe(self, margin: Margin, at: Instant, *, failed: bool) -> None:
        margin.probe = None
        interval = margin.probe_interval or self._settings.probe_first
        longest = self._settings.probe_longest
        margin.probe_interval = min(2 * interval, longest) if failed else self._settings.probe_first
        self._probe_later(margin, at)
        self.figures.restored += failed

    def _probe_later(self, margin: Margin, at: Instant) -> None:
        margin.probe_interval = margin.probe_interval or self._settings.probe_first
        margin.probe_at = at + margin.probe_interval

    # -- within ----------------------------------------------------------------------------------

    def _margin(self, subject: Subject) -> Margin:
        margin = self._margins.get(subject.key)
        if margin is None:
            margin = self._margins[subject.key] = Margin(subject.key)
        return margin

    def _set(self, subject: Subject, margin: Margin, amount: int) -> None:
        margin.set(margin.dimension, amount, subject.asked[margin.dimension])
        self._changed = True

    def _wanted(self, subject: Subject) -> Resources:
        margin = self._margins[subject.key]
        return margin.wanted(subject.asked[margin.dimension])

    def _waiting(self, subject: Subject, at: Instant) -> bool:
        """Whether a pod waits that machines may help."""
        return any(not self._fruitless.rests(p.owner_shape, at) for p in subject.waiting())

    def _on_their_way(self, subject: Subject) -> int:
        """Machines that its pods may be able to use, counted for any Need.

        A Need of higher precedence is given machines that are there, pods of others on them, and
        the order for new ones counts for those others; its own pods run on the new ones all the
        same.
        """
        coming = 0
        for key, arriving in self._arriving.items():
            other = self._subjects.of(key) or self._subjects.with_margin(key)
            if other is not None and (other is subject or subject.may_share(other)):
                coming += arriving
        return coming

    def _cap(self, subject: Subject, margin: Margin, at: Instant) -> None:
        """While no pod waits a margin is at most what its row has and the own row does not lack."""
        standing = self._last.get(subject.key)
        if standing is None or margin.may_buy or not margin.amount or self._waiting(subject, at):
            return
        limit = subject.limit(margin.dimension, standing)
        if margin.scaled(subject.asked[margin.dimension]) > limit:
            self._set(subject, margin, limit)

    def _confirm(self, subject: Subject) -> None:
        margin = self._margins.get(subject.key)
        if margin is not None and subject.standing(self._confirmed, self._sent or {}) is not None:
            margin.confirm()

    def _standing_of(self, subject: Subject, at: Instant) -> RowCoverage | None:
        """None: this Need rests."""
        margin = self._margins.get(subject.key)
        if self._replied_at is None or at - self._replied_at >= STALE_AFTER:
            return None
        if margin is not None and margin.unconfirmed:
            return None
        return subject.standing(self._confirmed, self._sent or {})

    def _adopt(self, reply: ClusterReportReply) -> None:
        """After a restart a margin starts at what its row has."""
        self._first_reply = None
        if self._sent is not None:
            return
        for standing in reply.standings:
            key = standing.key(self._cluster)
            subject = self._subjects.with_margin(key)
            if subject is None or standing.wanted is None:
                continue
            if is_margin(standing.group):
                named = [n for n, amount in standing.wanted.amounts if amount > 0]
                dimension = named[0] if named else ""
                amount = standing.claimed[dimension] if named else 0
            elif subject.form is Form.IN_OWN_ROW:
                dimension, amount = subject.surplus(standing)
            else:
                continue
            if amount > 0:
                margin = self._margin(subject)
                margin.set(dimension, amount, subject.asked[dimension], may_buy=True)
                self._probe_later(margin, self._replied_at or 0)

    def _forget(self, at: Instant) -> None:
        self._fruitless.forget(at)
        self._notes.forget(at)
        nodes = self._occupancy.nodes
        self._left = {n for n in self._left if n in nodes and self._occupancy.is_empty(n)}
        kept = {n: c for n, c in self._refusals.items() if n in nodes and nodes[n].instruction}
        self._refusals = kept
        for key in [key for key in self._last if self._subjects.with_margin(key) is None]:
            del self._last[key]
            self._lacking.pop(key, None)
        for key in [key for key in self._margins if self._subjects.with_margin(key) is None]:
            del self._margins[key]
