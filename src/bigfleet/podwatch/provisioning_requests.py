"""ProvisioningRequests as demand: what one asks for, or why it asks for nothing.

Each pod of its podSets is one CapacityRequest, a share of its booking; a pod that uses the booking
takes its share over. How many shares there are follows from that: the pods that were booked, less
those that have left their share behind. So booking and pods together are always the pods' demand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from bigfleet.kube.buffers import PodTemplateSpec
from bigfleet.kube.provisioning_requests import VALID_UNTIL_SECONDS, ProvisioningRequestSpec
from bigfleet.kube.request_demand import TranslatedDemand, Untranslatable, translate
from bigfleet.model.needs import Need, aggregate
from bigfleet.model.quantities import BadQuantity
from bigfleet.podwatch.bookings import ConsumingPod
from bigfleet.podwatch.notes import PodNote
from bigfleet.podwatch.penalties import NO_PENALTIES, Defaults, annotated
from bigfleet.podwatch.pod_reconciler import (
    Delete,
    Instruction,
    Owner,
    Patch,
    share_of_booking,
    spec_patch,
)
from bigfleet.podwatch.records import BookedShare, OwnRequest, with_penalties
from bigfleet.podwatch.requests import RequestTemplate, asking_of, resources_in
from bigfleet.podwatch.taints import FleetTaint

#: Pods of one request; each is an object, and no request needs more.
MOST_PODS = 10_000
#: How long a request is worth an answer where it does not say, and the longest that is taken.
DEFAULT_VALID_SECONDS = 600
MOST_VALID_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class PodSetPlan:
    count: int
    #: Of each pod's CapacityRequest.
    spec: bytes
    #: The same without penalties, which pods may have from elsewhere.
    bare: bytes
    demand: TranslatedDemand


@dataclass(frozen=True, slots=True)
class BookingPlan:
    pod_sets: tuple[PodSetPlan, ...]
    #: What is to be told about it besides.
    notes: tuple[PodNote, ...] = ()

    @property
    def pods(self) -> int:
        return sum(each.count for each in self.pod_sets)


@dataclass(frozen=True, slots=True)
class BookingRefusal:
    """Why a request asks for nothing: a word for the condition, and what to do."""

    reason: str
    text: str
    #: Its spec never changes: nothing but another request can be better.
    is_final: bool = True


@dataclass(frozen=True, slots=True)
class FoundTemplate:
    """What a podSet points at."""

    template: PodTemplateSpec
    #: Of the template, or of its PriorityClass; None: neither says.
    priority: int | None = None


def why_refused(spec: ProvisioningRequestSpec) -> BookingRefusal | None:
    """What is wrong with it before anything it points at was read."""
    if not spec.pod_sets:
        return BookingRefusal("NoPodSets", "podSets is empty; name at least one, with its count")
    for place, each in enumerate(spec.pod_sets):
        where = f"podSets[{place}]"
        if not each.pod_template_ref.name:
            text = f"{where}.podTemplateRef.name is empty; name a PodTemplate of its namespace"
            return BookingRefusal("NoPodTemplate", text)
        if each.count < 1:
            text = f"{where}.count is {each.count}; at least one pod must be asked for"
            return BookingRefusal("InvalidCount", text)
    pods = sum(each.count for each in spec.pod_sets)
    if pods > MOST_PODS:
        text = f"it is for {pods} pods, and {MOST_PODS} are the most; make several requests of it"
        return BookingRefusal("TooManyPods", text)
    valid = valid_seconds(spec.parameters)
    return valid if isinstance(valid, BookingRefusal) else None


def valid_seconds(parameters: Mapping[str, str]) -> int | BookingRefusal:
    """Seconds from its creation; more than the most is the most."""
    said = parameters.get(VALID_UNTIL_SECONDS)
    if said is None:
        return DEFAULT_VALID_SECONDS
    text = said.strip()
    if not (text.isascii() and text.isdecimal()) or int(text[:20]) < 1:
        told = f"parameters.{VALID_UNTIL_SECONDS} is {said[:40]!r}; write seconds, such as 600"
        return BookingRefusal("InvalidParameter", told)
    return min(MOST_VALID_SECONDS, int(text[:20]))


def clamped_text(parameters: Mapping[str, str]) -> str:
    """What is to be said of a longer time than is taken; empty: nothing."""
    said = parameters.get(VALID_UNTIL_SECONDS, "").strip()
    if not said.isdecimal() or int(said[:20]) <= MOST_VALID_SECONDS:
        return ""
    return f"; {VALID_UNTIL_SECONDS} is taken as {MOST_VALID_SECONDS}, which is the most"


def plan_of(
    spec: ProvisioningRequestSpec,
    found: Sequence[FoundTemplate],
    namespace: str,
    defaults: Defaults,
    taints: Sequence[FleetTaint] = (),
) -> BookingPlan | BookingRefusal:
    """`found`: one for each podSet, in their order."""
    pod_sets, notes = [], list[PodNote]()
    for place, (pod_set, target) in enumerate(zip(spec.pod_sets, found, strict=True)):
        plan = _pod_set_plan(pod_set.count, target, namespace, defaults, taints)
        if isinstance(plan, BookingRefusal):
            text = f"podSets[{place}]: {plan.text}"
            return BookingRefusal(plan.reason, text, plan.is_final)
        planned, told = plan
        pod_sets.append(planned)
        notes += [note for note in told if note not in notes]
    return BookingPlan(tuple(pod_sets), tuple(notes))


def _pod_set_plan(
    count: int,
    found: FoundTemplate,
    namespace: str,
    defaults: Defaults,
    taints: Sequence[FleetTaint],
) -> tuple[PodSetPlan, tuple[PodNote, ...]] | BookingRefusal:
    template = found.template
    penalties, notes = annotated(template.metadata.annotations)
    wanted = RequestTemplate(
        template.spec, found.priority or 0, template.metadata.labels, namespace
    )
    try:
        asking = asking_of(wanted, taints)
    except BadQuantity as problem:
        return BookingRefusal("InvalidQuantity", str(problem), is_final=False)
    if asking.impossible is not None:
        return BookingRefusal(asking.impossible.reason, asking.impossible.text, is_final=False)
    bare = asking.alternatives[0]
    default = defaults.get(template.spec.priority_class_name, NO_PENALTIES)
    spec = with_penalties(bare, penalties.otherwise(default))
    demand = translate(spec)
    if isinstance(demand, Untranslatable):
        return BookingRefusal("UntranslatableTemplate", str(demand), is_final=False)
    told = tuple(note for note in asking.notes if not note.is_hint)
    if len(asking.alternatives) > 1:
        told = (*told, _first_term_note(len(asking.alternatives)))
    return PodSetPlan(count, spec, bare, demand), notes + told


def needs_of(cluster: str, plan: BookingPlan, meant: Sequence[bool] | None = None) -> list[Need]:
    """All its pods as rows of a roll-up; `meant`: those of these podSets only."""
    pod_sets = plan.pod_sets if meant is None else compress(plan.pod_sets, meant)
    return aggregate(
        Need(
            cluster,
            each.demand.profile,
            each.demand.unit.times(each.count),
            each.demand.unit,
            group=each.demand.group,
        )
        for each in pod_sets
    )


def left_to_book(plan: BookingPlan, consuming: Sequence[ConsumingPod]) -> list[int]:
    """Of each podSet, pods that have not left their share behind.

    A pod that took a share over is of that share's podSet; another one of the first podSet that
    asks for the same, else for as much, else of any that has shares left.
    """
    left = [each.count for each in plan.pod_sets]
    for pod in consuming:
        place = _pod_set_of(pod, plan, left)
        if place is not None:
            left[place] -= 1
    return left


def _pod_set_of(pod: ConsumingPod, plan: BookingPlan, left: Sequence[int]) -> int | None:
    if pod.share is not None and pod.share.pod_set < len(left):
        return pod.share.pod_set if left[pod.share.pod_set] else None
    open_ones = [place for place, count in enumerate(left) if count]
    size = resources_in(pod.spec) if pod.spec else {}

    def rank(place: int) -> tuple[bool, bool]:
        bare = plan.pod_sets[place].bare
        return bare != pod.spec, resources_in(bare) != size

    return min(open_ones, key=rank, default=None)


def instructions_for(
    namespace: str,
    owner: Owner,
    plan: BookingPlan | None,
    left: Sequence[int],
    have: Sequence[OwnRequest],
    consuming: Sequence[ConsumingPod],
) -> tuple[Instruction, ...]:
    """`plan` None: it books nothing. Of too many shares those with the highest numbers go."""
    if plan is None:
        return tuple(Delete(each) for each in have)
    steps: list[Instruction] = []
    taken = {pod.share for pod in consuming}
    by_set: list[dict[int, OwnRequest]] = [{} for _ in plan.pod_sets]
    for request in have:
        share = request.share
        known = share is not None and share.pod_set < len(by_set)
        if share is None or not known or share.number in by_set[share.pod_set]:
            steps.append(Delete(request))
        else:
            by_set[share.pod_set][share.number] = request
    for place, (pod_set, there) in enumerate(zip(plan.pod_sets, by_set, strict=True)):
        numbers = sorted(there)
        kept, surplus = numbers[: left[place]], numbers[left[place] :]
        steps += [Delete(there[number]) for number in surplus]
        steps += [
            Patch(there[number], spec_patch(there[number].body.spec, pod_set.spec))
            for number in kept
            if there[number].body.spec != pod_set.spec
        ]
        missing, number = left[place] - len(kept), 0
        while missing > 0:
            share = BookedShare(place, number)
            if number not in there and share not in taken:
                steps.append(share_of_booking(namespace, owner, share, pod_set.spec))
                missing -= 1
            number += 1
    return tuple(steps)


def is_whole(
    plan: BookingPlan, left: Sequence[int], have: Sequence[OwnRequest], *, acknowledged: bool
) -> bool:
    """Whether every share is there that should be; with `acknowledged`, as the shard heard it."""
    counts = [0] * len(left)
    for request in have:
        share = request.share
        if share is None or share.pod_set >= len(counts):
            continue
        asked = request.body.spec == plan.pod_sets[share.pod_set].spec
        if not acknowledged or (asked and request.acknowledged):
            counts[share.pod_set] += 1
    return all(count >= wanted for count, wanted in zip(counts, left, strict=True))


def _first_term_note(count: int) -> PodNote:
    text = (
        f"BigFleet books machines of the first of {count} required node affinity terms only; put "
        "what must be bought first, or write one term"
    )
    return PodNote("OnlyFirstAffinityTermUsed", text)
