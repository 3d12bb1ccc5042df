"""What others get to know of a drain: answers, Events, counts, and how its machine stands.

Every answer of a session is given once: the first when the Nodes are cordoned, the second at the
end. What a drain that went badly met stays to be read until the machine goes, or is asked for anew.
"""

from collections.abc import Iterable, Iterator

from bigfleet.edge.counts import Counts
from bigfleet.kube.objects import Node, Reference
from bigfleet.model.session_frames import INSTRUCTION_PREFIX, ReclaimAck
from bigfleet.operator.drain import Drain, NodesOfDrain
from bigfleet.operator.drain_steps import (
    DrainPhase,
    DrainStanding,
    Instruction,
    Publish,
    Send,
    Tell,
    reference_of,
)
from bigfleet.operator.evictions import shortened
from bigfleet.placement.admission import AdmissionRefusal


class DrainReports:
    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        #: By machine; of those whose drain ended badly the last error stays.
        self._standing: dict[str, DrainStanding] = {}

    def standing_of(self, machine: str) -> DrainStanding | None:
        return self._standing.get(machine)

    # -- the course of a drain -------------------------------------------------------------------

    def begin(self, drain: Drain, cordoned: list[Node]) -> list[Instruction]:
        drain.started = len(cordoned)
        text = f"reclaimed by instruction {drain.id}: cordoned, pods are evicted"
        told = [Tell(reference_of(node), "Normal", "ReclaimStarted", text) for node in cordoned]
        standing = DrainStanding(drain.id, DrainPhase.DRAINING)
        return [_acknowledge(drain), *told, *self._stand(drain.machines, standing)]

    def finish_evicted(self, drain: Drain, look: NodesOfDrain, attached: int) -> list[Instruction]:
        """`attached`: volumes that are still attached, and are not waited for any longer."""
        drain.evicted = len(look.present) + len(look.missing)
        is_missing = not drain.started and not look.present
        self._count(drain, "node_missing" if is_missing else "evicted")
        told = (
            _told_of_missing(drain)
            if is_missing
            else _told_of_evicted(drain, look.present, attached)
        )
        standing = DrainStanding(drain.id, DrainPhase.DRAINED)
        return [*_complete(drain), *told, *self._stand(drain.machines, standing)]

    def finish_late(
        self, drain: Drain, look: NodesOfDrain, cordoned: list[Node], why: str
    ) -> list[Instruction]:
        """A shard takes anything above 0 for an empty machine, so one pod left makes it 0."""
        drain.evicted = 0
        steps: list[Instruction] = []
        if not drain.is_acked:
            drain.started = len(cordoned)
            steps.append(_acknowledge(drain))
        self._count(drain, "deadline")
        text = shortened(f"the grace of {drain.grace_seconds:g} s is over: {why}")
        standing = DrainStanding(drain.id, DrainPhase.DRAINING, text)
        steps += [*_complete(drain), *_told_of_deadline(look, text)]
        return [*steps, *self._stand(drain.machines, standing)]

    def refuse(self, drain: Drain, refusal: AdmissionRefusal, *, is_new: bool) -> list[Instruction]:
        """Its Nodes are not cordoned; the shard hears nothing but the demand."""
        text = shortened(f"not given back now: {refusal.sentence}")
        if is_new:
            self._counts.add("reclaims_refused_total", reason=refusal.code)
        told = _told_of_refusal(refusal, text) if is_new else []
        return [*told, *self._stand(drain.machines, DrainStanding(drain.id, DrainPhase.KEPT, text))]

    def call_off(self, drain: Drain, refusal: AdmissionRefusal) -> list[Instruction]:
        """Its Nodes are uncordoned, and the shard is told that nothing was emptied."""
        drain.evicted, drain.is_admitted = 0, False
        self._count(drain, "called_off")
        self._counts.add("reclaims_refused_total", reason=refusal.code)
        text = shortened(f"called off: {refusal.sentence}")
        standing = DrainStanding(drain.id, DrainPhase.KEPT, text)
        told = _told_of_refusal(refusal, text)
        return [*_complete(drain), *told, *self._stand(drain.machines, standing)]

    def give_up_refused(self, drain: Drain) -> None:
        """The shard has taken back what was never begun."""
        if drain.refusal is not None and not drain.is_admitted:
            self._count(drain, "refused")

    def answer_again(self, drain: Drain) -> list[Instruction]:
        """It has ended, and a session that has not heard of it asks."""
        return [] if drain.is_acked else [_acknowledge(drain), *_complete(drain)]

    # -- machines --------------------------------------------------------------------------------

    def keep(self, machine: str) -> list[Instruction]:
        """Its drain is over; if it went badly, that stays to be read."""
        known = self._standing.get(machine)
        if known is None or known.phase is DrainPhase.KEPT:
            return []
        if known.last_error:
            kept = DrainStanding(known.instruction_id, DrainPhase.KEPT, known.last_error)
            self._standing[machine] = kept
        else:
            del self._standing[machine]
        return [Publish(machine)]

    def forget(self, machine: str) -> list[Instruction]:
        """It has left."""
        return [Publish(machine)] if self._standing.pop(machine, None) is not None else []

    def _stand(self, machines: Iterable[str], standing: DrainStanding) -> Iterator[Publish]:
        for machine in machines:
            if self._standing.get(machine) != standing:
                self._standing[machine] = standing
                yield Publish(machine)

    def _count(self, drain: Drain, result: str) -> None:
        if not drain.is_counted:
            self._counts.add("reclaims_total", result=result)
        drain.is_counted = True


def _acknowledge(drain: Drain) -> Send:
    drain.is_acked = True
    return Send(ReclaimAck(drain.id, drain.started))


def _complete(drain: Drain) -> list[Send]:
    """Only instructions of our own shards are answered a second time."""
    if drain.evicted is None or not drain.id.startswith(INSTRUCTION_PREFIX):
        return []
    return [Send(ReclaimAck(drain.id, drain.evicted))]


def _told_of_evicted(drain: Drain, nodes: Iterable[Node], attached: int) -> list[Tell]:
    text = f"evicted: nothing is left to move for {drain.id}"
    if attached:
        text += f"; {attached} VolumeAttachment{'s are' if attached > 1 else ' is'} still there"
    return [Tell(reference_of(node), "Normal", "ReclaimEvicted", text) for node in nodes]


def _told_of_missing(drain: Drain) -> list[Tell]:
    text = f"no Node of this name, nor of that machine: {drain.id} has nothing to evict"
    entries = drain.machine_of_entry
    return [Tell(_entry(entry), "Normal", "ReclaimNodeMissing", text) for entry in entries]


def _told_of_deadline(look: NodesOfDrain, text: str) -> list[Tell]:
    about = [reference_of(node) for node in look.present]
    about += [_entry(entry) for entry in look.unknown]
    about = about or [_entry(entry) for entry in look.missing]
    return [Tell(reference, "Warning", "ReclaimBlocked", text) for reference in about]


def _told_of_refusal(refusal: AdmissionRefusal, text: str) -> list[Tell]:
    about = [Reference(api_version="v1", kind="Node", name=refusal.node)]
    if (pod := refusal.pod) is not None:
        namespace, _, name = pod.key.partition("/")
        about.append(
            Reference(api_version="v1", kind="Pod", name=name, namespace=namespace, uid=pod.uid)
        )
    return [Tell(each, "Normal", "ReclaimRefused", text) for each in about]


def _entry(entry: str) -> Reference:
    return Reference(api_version="v1", kind="Node", name=entry)
