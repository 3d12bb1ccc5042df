"""Where a pod's volumes can be reached from, as requirements on machines.

A bound volume says it in its node affinity. A claim that waits for its first consumer says it in
its class, where that limits topologies. Alternatives of one volume are joined label by label: that
never excludes a machine that would do, and where it may allow one that would not, a note says so.

Storage drivers have their own label for a zone; machines have one for all of them. Other labels of
drivers are on no machine before its Node has joined: they are left out, and told.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from bigfleet.kube.objects import ObjectKey, PodVolume
from bigfleet.kube.volumes import (
    WAIT_FOR_FIRST_CONSUMER,
    StorageClass,
    Volume,
    VolumeClaim,
)
from bigfleet.model.requirements import HOSTNAME_KEY, REGION_KEY, ZONE_KEY
from bigfleet.podwatch.notes import PodNote
from bigfleet.podwatch.requests import requirements_in, with_requirements
from bigfleet.podwatch.requirements import Requirement, in_values, narrowed, requirement_of

#: topology.gke.io/zone, topology.ebs.csi.aws.com/zone, topology.disk.csi.azure.com/zone, ...
_OF_DRIVERS = re.compile(r"(topology\.[^/]*|[^/]*\.csi\.[^/]*)/(.*)")
_OWN = (ZONE_KEY, REGION_KEY, "topology.bigfleet/rack")
_OLD = {
    "failure-domain.beta.kubernetes.io/zone": ZONE_KEY,
    "failure-domain.beta.kubernetes.io/region": REGION_KEY,
}
_PLACES = {"zone": ZONE_KEY, "region": REGION_KEY}


@dataclass(frozen=True, slots=True)
class Topology:
    """What a machine needs to reach a volume."""

    requirements: tuple[Requirement, ...] = ()
    #: Labels that cannot be asked for, in order.
    left_out: tuple[str, ...] = ()


ANYWHERE = Topology()


@dataclass(frozen=True, slots=True)
class PodClaim:
    name: str
    #: Of the claim that will be made for the pod; empty where the claim itself says it.
    storage_class: str = ""


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    #: Empty: not bound.
    volume: str
    storage_class: str


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    claim: ObjectKey | None
    topology: Topology


@dataclass(frozen=True, slots=True)
class VolumeReach:
    """Of all volumes of a pod together."""

    requirements: tuple[Requirement, ...] = ()
    notes: tuple[PodNote, ...] = ()
    #: Why no machine reaches all of them; empty: one can.
    conflict: str = ""

    def hosts(self) -> tuple[str, ...]:
        """The only ones that reach them all; none: it does not depend on hosts."""
        lists = (v for key, word, v in self.requirements if (key, word) == (HOSTNAME_KEY, "In"))
        return next(lists, ())


EVERYWHERE = VolumeReach()


def claims_of(pod_name: str, volumes: Iterable[PodVolume]) -> tuple[PodClaim, ...]:
    found = []
    for volume in volumes:
        if volume.persistent_volume_claim is not None:
            found.append(PodClaim(volume.persistent_volume_claim.claim_name))
        elif volume.ephemeral is not None:
            template = volume.ephemeral.volume_claim_template.spec
            found.append(PodClaim(f"{pod_name}-{volume.name}", template.storage_class_name))
    return tuple(found)


def claim_facts(claim: VolumeClaim) -> ClaimFacts:
    return ClaimFacts(claim.spec.volume_name, claim.spec.storage_class_name)


def volume_facts(volume: Volume) -> VolumeFacts | None:
    """None: it can be reached from everywhere."""
    affinity, ref = volume.spec.node_affinity, volume.spec.claim_ref
    if affinity is None or affinity.required is None:
        return None
    terms = [
        [requirement_of(each) for each in term.match_expressions]
        for term in affinity.required.node_selector_terms
    ]
    claim = ObjectKey(ref.namespace, ref.name) if ref is not None else None
    return VolumeFacts(claim, topology_of(terms))


def class_topology(storage_class: StorageClass) -> Topology | None:
    """None: its claims are bound without a pod, or volumes are made anywhere."""
    if storage_class.volume_binding_mode != WAIT_FOR_FIRST_CONSUMER:
        return None
    terms = [
        [in_values(each.key, each.values) for each in term.match_label_expressions]
        for term in storage_class.allowed_topologies
    ]
    return topology_of(terms) if terms else None


def topology_of(terms: Sequence[Sequence[Requirement]]) -> Topology:
    """Of alternatives, each with all of its requirements."""
    left_out: set[str] = set()
    known = [_known(term, left_out) for term in terms]
    if not known:
        return ANYWHERE
    joined: list[Requirement] = []
    differing: set[str] = set()
    for key in sorted({key for term in known for key in term}):
        of_terms = [term.get(key, []) for term in known]
        if all(each == of_terms[0] for each in of_terms):
            joined += of_terms[0]
            continue
        differing.add(key)
        if all(_is_a_list(each) for each in of_terms):
            joined.append(in_values(key, (v for each in of_terms for v in each[0][2])))
        else:
            left_out.add(key)
    if len(differing) > 1:
        left_out |= differing
    return Topology(tuple(sorted(set(joined))), tuple(sorted(left_out)))


@dataclass(slots=True)
class Volumes:
    """What the caches hold; what is missing there limits nothing."""

    claims: Mapping[ObjectKey, ClaimFacts] = field(default_factory=dict)
    volumes: Mapping[ObjectKey, VolumeFacts] = field(default_factory=dict)
    classes: Mapping[ObjectKey, Topology] = field(default_factory=dict)

    def reach_of(self, namespace: str, claims: Sequence[PodClaim]) -> VolumeReach:
        if not claims:
            return EVERYWHERE
        requirements: tuple[Requirement, ...] = ()
        left_out: set[str] = set()
        for claim in claims:
            topology = self._topology_of(namespace, claim)
            left_out |= set(topology.left_out)
            both = narrowed(requirements, topology.requirements)
            if both is None:
                return VolumeReach(
                    conflict=f"no machine reaches both {claim.name} and its other volumes"
                )
            requirements = both
        return VolumeReach(requirements, _notes(sorted(left_out)))

    def _topology_of(self, namespace: str, claim: PodClaim) -> Topology:
        facts = self.claims.get(ObjectKey(namespace, claim.name))
        if facts is not None and facts.volume:
            volume = self.volumes.get(ObjectKey("", facts.volume))
            return volume.topology if volume is not None else ANYWHERE
        storage_class = facts.storage_class if facts is not None else claim.storage_class
        return self.classes.get(ObjectKey("", storage_class), ANYWHERE)


@lru_cache(maxsize=4096)
def reached(spec: bytes, reach: VolumeReach) -> bytes | None:
    """A spec that also asks for the reach of the volumes; None: the two contradict each other."""
    if reach.conflict:
        return None
    if not reach.requirements:
        return spec
    both = narrowed(requirements_in(spec), reach.requirements)
    return with_requirements(spec, both) if both is not None else None


def _known(term: Iterable[Requirement], left_out: set[str]) -> dict[str, list[Requirement]]:
    """By the labels that machines have."""
    found: dict[str, list[Requirement]] = {}
    for key, operator, values in term:
        if values == ("",):
            # A driver's way to say that the volume is in no zone.
            continue
        ours = _label_of_machines(key)
        if ours is None:
            left_out.add(key)
            continue
        requirement = (ours, operator, values)
        if requirement not in found.setdefault(ours, []):
            found[ours].append(requirement)
    return found


def _label_of_machines(key: str) -> str | None:
    """None: a label of a driver that no machine has before its Node joins."""
    if key in _OLD:
        return _OLD[key]
    of_driver = _OF_DRIVERS.fullmatch(key)
    if key in _OWN or of_driver is None:
        return key
    return _PLACES.get(of_driver[2])


def _is_a_list(of_key: Sequence[Requirement]) -> bool:
    return len(of_key) == 1 and of_key[0][1] == "In"


def conflict_note(reach: VolumeReach) -> PodNote:
    """Of a pod that no machine can run."""
    where = "; ".join(f"{key} {word} {', '.join(v)}" for key, word, v in reach.requirements)
    why = reach.conflict or f"its volumes are reached from {where}, which it does not accept"
    text = f"{why}: no capacity is requested for this pod; change what it requires, or its volumes"
    return PodNote("VolumeTopologyConflict", text, "volume_topology")


def _notes(left_out: Sequence[str]) -> tuple[PodNote, ...]:
    if not left_out:
        return ()
    text = (
        f"its volumes can only be reached from Nodes with certain values of {', '.join(left_out)}, "
        "which BigFleet cannot ask for: a machine may come that does not reach them"
    )
    return (PodNote("VolumeTopologyNotTranslated", text, "volume_topology"),)
