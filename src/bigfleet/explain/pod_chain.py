"""Why a pod waits or where it runs: pod, CapacityRequest, Need, machines, Nodes, dollars per hour.

Facts in, answer out. Every step of the way says where it stands; a step that is missing says what
is known of the reason, and the steps behind it are not told. What the shard decided is the shard's
own answer, word for word.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from bigfleet.explain.need_facts import need_name
from bigfleet.explain.pod_facts import (
    ACKNOWLEDGED,
    ChainFacts,
    ControllerFacts,
    NodeFacts,
    PodFacts,
    RequestFacts,
    ShardFacts,
    UpcomingFacts,
)
from bigfleet.model.machines import MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import is_margin
from bigfleet.model.reasons import dollars_text, resources_text
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import MachineView, NeedRow

#: Machines and Events a step tells one by one.
_MOST_TOLD = 8
#: Events about room that pods do not find: a step of its own tells them.
_REVISING = ("MachinesAddedForStuckPods", "MoreMachinesDoNotHelp", "GangSpansMachines")
_RECLAIMING = ("ReclaimRefused",)


class PodVerdict(StrEnum):
    ENDED = "ended"
    BOUND = "bound"
    COVERED_NOT_PLACED = "covered, not placed"
    #: The four states of its Need.
    MET = "met"
    ARRIVING = "arriving"
    BLOCKED = "blocked"
    SHORT = "short"
    #: It asks for no machine, and will not before something changes.
    NOT_ASKED_FOR = "not asked for"
    #: It will ask, or has asked and the shard does not know of it yet.
    NOT_YET_ASKED_FOR = "not yet asked for"


class StepStatus(StrEnum):
    DONE = "ok"
    WAITS = "waits"
    MISSING = "missing"
    #: It could not be read.
    UNKNOWN = "unknown"
    #: Worth knowing; nothing waits for it.
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class ChainStep:
    #: pod, request, operator, need, revised, machines, nodes, reclaim or cost.
    name: str
    status: StepStatus
    text: str
    #: Names of objects to ask about next.
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodAnswer:
    verdict: PodVerdict
    sentence: str
    steps: tuple[ChainStep, ...]
    #: What its share of its Need's machines costs; None: it has none.
    dollars_per_hour: float | None = None
    #: Commands to copy, or what a person has to do.
    remedies: tuple[str, ...] = ()


def explain_pod(facts: ChainFacts) -> PodAnswer:
    """Of a pod, or of a CapacityRequest that was not made for one."""
    steps = list(_steps(facts))
    verdict, sentence = _verdict(facts)
    share = _share(facts)
    if share is not None:
        steps.append(_cost_step(share))
    return PodAnswer(
        verdict,
        sentence,
        tuple(steps),
        share.dollars if share is not None else None,
        tuple(_remedies(facts, verdict)),
    )


# -- the headline ----------------------------------------------------------------------------------


def _verdict(facts: ChainFacts) -> tuple[PodVerdict, str]:
    pod, request = facts.pod, facts.request
    if pod is not None and pod.has_ended:
        return PodVerdict.ENDED, "it has ended and needs no machine"
    if pod is not None and pod.node:
        return PodVerdict.BOUND, _bound_text(pod.node, facts.node)
    if request is None:
        return _why_no_request(facts)
    if request.untranslatable:
        return PodVerdict.NOT_ASKED_FOR, f"{request.name}: {request.untranslatable}"
    shard = facts.shard
    if shard is None or not shard.needs:
        return PodVerdict.NOT_YET_ASKED_FOR, _need_missing(facts)
    return _verdict_of_need(facts, shard)


def _bound_text(name: str, node: NodeFacts | None) -> str:
    if node is None:
        return f"it runs on node {name}"
    if node.machine:
        return f"it runs on node {name}, which is machine/{node.machine}"
    return f"it runs on node {name}, which is not a machine of the fleet"


def _verdict_of_need(facts: ChainFacts, shard: ShardFacts) -> tuple[PodVerdict, str]:
    row, pod = shard.needs[0], facts.pod
    if pod is not None and row.view.satisfied and not row.arriving:
        said = pod.scheduler_text or "nothing yet; a scheduler needs a moment"
        return PodVerdict.COVERED_NOT_PLACED, f"the scheduler says: {said}"
    return PodVerdict(row.state_label), row.reason.text


def _why_no_request(facts: ChainFacts) -> tuple[PodVerdict, str]:
    pod = facts.pod
    if pod is not None and pod.why_not_demand:
        return PodVerdict.NOT_ASKED_FOR, pod.why_not_demand
    if pod is not None and pod.why_not_yet:
        return PodVerdict.NOT_YET_ASKED_FOR, pod.why_not_yet
    return PodVerdict.NOT_ASKED_FOR, _request_missing(facts)


# -- the steps -------------------------------------------------------------------------------------


def _steps(facts: ChainFacts) -> Iterator[ChainStep]:
    if facts.pod is not None:
        yield _pod_step(facts.pod)
        yield from _note_steps(facts.pod)
        if facts.pod.node and facts.node is not None:
            yield _node_step(facts.node, facts)
    yield _request_step(facts)
    if facts.request is None or facts.request.untranslatable:
        return
    if (step := _operator_step(facts, facts.request)) is not None:
        yield step
    shard = facts.shard
    if shard is None or not shard.needs:
        yield ChainStep("need", StepStatus.MISSING, _need_missing(facts))
        return
    yield _need_step(shard)
    yield from _revised_steps(facts, shard)
    yield _machines_step(shard)
    yield from _upcoming_steps(facts, shard)
    yield from _reclaim_steps(facts, shard)


def _pod_step(pod: PodFacts) -> ChainStep:
    if pod.has_ended:
        return ChainStep("pod", StepStatus.DONE, f"pod {pod.name} has ended")
    if pod.node:
        return ChainStep("pod", StepStatus.DONE, f"pod {pod.name} is bound to node {pod.node}")
    if pod.is_unschedulable:
        said = f"the scheduler found no Node for it: {pod.scheduler_text or 'no more was said'}"
    elif pod.scheduler_text:
        said = f"the scheduler says: {pod.scheduler_text}"
    else:
        said = "the scheduler has not spoken of it"
    leaving = "; it is being deleted" if pod.is_leaving else ""
    return ChainStep("pod", StepStatus.WAITS, f"pod {pod.name} has no Node: {said}{leaving}")


def _note_steps(pod: PodFacts) -> Iterator[ChainStep]:
    """What of the pod is not asked for, in the words of its Events; each once."""
    apart = (*_REVISING, *_RECLAIMING)
    told = dict.fromkeys((*pod.notes, *(e for e in pod.events if e.reason not in apart)))
    for each in list(told)[:_MOST_TOLD]:
        yield ChainStep("pod", StepStatus.NOTE, f"{each.reason}: {each.text}")


def _node_step(node: NodeFacts, facts: ChainFacts) -> ChainStep:
    if not node.is_there:
        text = f"node {node.name} is not there any more; the pod is moved when it is deleted"
        return ChainStep("node", StepStatus.MISSING, text)
    how = ["Ready" if node.is_ready else "not Ready"]
    if node.is_cordoned:
        how.append("cordoned")
    refs: tuple[str, ...] = ()
    if node.machine:
        upcoming = facts.upcoming.get(node.machine)
        phase = f", UpcomingNode {upcoming.name} {upcoming.phase}" if upcoming else ""
        what, refs = f"machine/{node.machine}{phase}", (f"machine/{node.machine}",)
    elif facts.upcoming_unread:
        text = f"which machine it is could not be read: {facts.upcoming_unread}"
        return ChainStep("node", StepStatus.UNKNOWN, f"node {node.name}: {text}")
    else:
        what = "not a machine of the fleet: a pod on it is not asked for"
    return ChainStep("node", StepStatus.DONE, f"node {node.name} ({', '.join(how)}): {what}", refs)


def _request_step(facts: ChainFacts) -> ChainStep:
    request = facts.request
    if request is None:
        verdict, text = _why_no_request(facts)
        status = StepStatus.UNKNOWN if facts.requests_unread else StepStatus.MISSING
        if facts.pod is not None and (facts.pod.has_ended or facts.pod.node):
            status = StepStatus.NOTE
        elif verdict is PodVerdict.NOT_YET_ASKED_FOR:
            status = StepStatus.WAITS
        return ChainStep("request", status, f"no CapacityRequest: {text}")
    if request.untranslatable:
        return ChainStep("request", StepStatus.MISSING, f"{request.name}: {request.untranslatable}")
    asks = resources_text(request.unit.texts())
    said = [f"CapacityRequest {request.name} asks for {asks}"]
    if request.made_for and facts.pod is None:
        said.append(f"made for {request.made_for}")
    if request.term:
        said.append(f"node affinity term {request.term}")
    if request.others:
        said.append(f"{request.others} more of the same pod, which the pod controller deletes")
    if request.is_leaving:
        said.append("it is being deleted")
    return ChainStep("request", StepStatus.DONE, "; ".join(said))


def _request_missing(facts: ChainFacts) -> str:
    """Nothing of the pod itself keeps it from being asked for."""
    if facts.requests_unread:
        return f"whether there is one could not be read: {facts.requests_unread}"
    text = "the pod controller has not made one"
    if facts.controller is not None:
        return f"{text}: {_controller_text(facts.controller, facts.pod)}"
    if facts.controller_unread:
        return f"{text}; whether it runs could not be read: {facts.controller_unread}"
    return f"{text}: no lease bigfleet-podwatch is in this cluster, so bigfleet podwatch never ran"


def _controller_text(lease: ControllerFacts, pod: PodFacts | None) -> str:
    if not lease.holder or lease.renewed_seconds is None:
        return "no replica of bigfleet podwatch holds its lease"
    if lease.renewed_seconds > lease.duration_seconds:
        since = f"{lease.renewed_seconds:.0f} s"
        return f"{lease.holder} has not renewed its lease for {since}, so bigfleet podwatch is down"
    may_be = ["it has not seen the pod yet", "its settings leave the pod out (exclude_namespaces)"]
    if pod is not None and pod.claims:
        claims = ", ".join(pod.claims)
        may_be.append(f"its volumes ({claims}) are where no machine of the fleet is")
    if pod is not None and pod.booking:
        may_be.append(f"its share of ProvisioningRequest {pod.booking} is on its way")
    return f"{lease.holder} runs, so {', or '.join(may_be)}; the pod's Events and its log say which"


def _operator_step(facts: ChainFacts, request: RequestFacts) -> ChainStep | None:
    session = facts.shard.session if facts.shard is not None else None
    if session is None:
        return None
    taken = request.phase == ACKNOWLEDGED
    said = ["the shard has acknowledged it" if taken else "the shard has not acknowledged it"]
    if session.refused_rollup:
        said.append(f"it refused the cluster's last roll-up: {session.refused_rollup}")
    if not session.is_connected:
        said.append("the cluster's operator is not connected")
    elif session.rollup_seconds is None:
        said.append("the operator has sent no roll-up yet")
    else:
        said.append(f"its last roll-up came {session.rollup_seconds:.0f} s ago")
    held = session.refused_rollup or not session.is_connected
    status = StepStatus.DONE if taken and not held else StepStatus.WAITS
    for event in request.events[:_MOST_TOLD]:
        said.append(f"{event.reason}: {event.text}")
    return ChainStep("operator", status, "; ".join(said))


def _need_missing(facts: ChainFacts) -> str:
    request = facts.request
    assert request is not None, "a Need is looked for by what a request asks for"
    if facts.shard is None or request.key is None:
        return "no shard has answered, so nothing is known beyond the request"
    name = need_name(request.key)
    if request.phase != ACKNOWLEDGED:
        return f"the shard does not know {name} yet: the request is not acknowledged"
    return (
        f"the shard does not know {name}, though the request is acknowledged: is this the API "
        f"server of cluster {facts.cluster}? --kube-context names another"
    )


def _need_step(shard: ShardFacts) -> ChainStep:
    row = shard.needs[0]
    name = need_name(row.view.need.key)
    asks = resources_text(row.view.need.aggregate.positive().texts())
    said = [f"{name} ({asks}, priority {row.view.need.profile.priority}) is {row.state_label}"]
    if not row.view.satisfied:
        said.append(f"it lacks {resources_text(row.view.deficit.positive().texts())}")
    said += dict.fromkeys(each.text for each in (row.reason, *row.further) if each.text)
    if len(shard.needs) > 1:
        others = ", ".join(need_name(each.view.need.key) for each in shard.needs[1:])
        said.append(f"pods of these sizes ask in groups; it may also be in {others}")
    status = StepStatus.DONE if row.state is NeedState.MET else StepStatus.WAITS
    return ChainStep("need", status, "; ".join(said), (name,))


def _revised_steps(facts: ChainFacts, shard: ShardFacts) -> Iterator[ChainStep]:
    """What the operator asks for beyond the requests because pods found no place."""
    for row in shard.margins:
        name, machines = need_name(row.view.need.key), row.view.claimed
        more = resources_text(row.view.need.aggregate.positive().texts())
        text = (
            f"pods of this Need did not fit on its machines, so the operator asks for {more} more "
            f"in {name} (margin): {row.state_label}, {_counted(machines, 'machine')}"
        )
        yield ChainStep("revised", StepStatus.NOTE, text, (name,))
    if stuck := sum(row.stuck_pods for row in shard.needs[:1]):
        text = f"{_counted(stuck, 'pod')} of this Need wait though its machines are there"
        yield ChainStep("revised", StepStatus.NOTE, text)
    events = facts.pod.events if facts.pod is not None else ()
    for event in [each for each in events if each.reason in _REVISING][:_MOST_TOLD]:
        yield ChainStep("revised", StepStatus.NOTE, f"{event.reason}: {event.text}")


def _machines_step(shard: ShardFacts) -> ChainStep:
    own = [each for each in shard.machines if not _is_of_margin(each)]
    count = max(len(own), shard.needs[0].view.claimed)
    if not count:
        return ChainStep("machines", StepStatus.MISSING, "no machine serves the Need")
    states = Counter(each.machine.state for each in own)
    parts = [f"{n} {state.label}" for state, n in sorted(states.items())]
    if unseen := count - len(own):
        parts.append(f"{unseen} more")
    here = states[MachineState.CONFIGURED] == count
    refs = tuple(f"machine/{each.machine.id}" for each in own[:_MOST_TOLD])
    return ChainStep(
        "machines",
        StepStatus.DONE if here else StepStatus.WAITS,
        f"{_counted(count, 'machine')}: {', '.join(parts)}",
        refs,
    )


def _upcoming_steps(facts: ChainFacts, shard: ShardFacts) -> Iterator[ChainStep]:
    if facts.upcoming_unread:
        yield ChainStep("nodes", StepStatus.UNKNOWN, facts.upcoming_unread)
        return
    found = [(each, facts.upcoming.get(each.machine.id)) for each in shard.machines]
    # What is not ready yet is what a person looks for.
    found.sort(key=lambda pair: (_is_ready(pair[1]), pair[0].machine.id))
    for view, upcoming in found[:_MOST_TOLD]:
        machine = view.machine.id
        if upcoming is None:
            text = f"machine/{machine} ({view.machine.state.label}) has no UpcomingNode"
            yield ChainStep("nodes", StepStatus.WAITS, text, (f"machine/{machine}",))
            continue
        where = f", node {upcoming.node}" if upcoming.node else ", no Node yet"
        error = f": {upcoming.last_error}" if upcoming.last_error else ""
        status = StepStatus.DONE if _is_ready(upcoming) else StepStatus.WAITS
        text = f"machine/{machine}: UpcomingNode {upcoming.name} is {upcoming.phase}{where}{error}"
        yield ChainStep("nodes", status, text, (f"machine/{machine}",))
    if (left := len(found) - _MOST_TOLD) > 0:
        yield ChainStep("nodes", StepStatus.NOTE, f"and {left:,} more")


def _is_ready(upcoming: UpcomingFacts | None) -> bool:
    return upcoming is not None and upcoming.phase == "Ready"


def _reclaim_steps(facts: ChainFacts, shard: ShardFacts) -> Iterator[ChainStep]:
    """Machines that are wanted back and that the cluster keeps, for want of a place for pods."""
    own = {each.machine.id for each in shard.machines}
    if facts.node is not None and facts.node.machine:
        own.add(facts.node.machine)
    for machine in sorted(own & shard.refused_reclaims.keys())[:_MOST_TOLD]:
        text = f"machine/{machine} is wanted back: {shard.refused_reclaims[machine]}"
        yield ChainStep("reclaim", StepStatus.NOTE, text, (f"machine/{machine}",))
    events = facts.pod.events if facts.pod is not None else ()
    for event in [each for each in events if each.reason in _RECLAIMING][:_MOST_TOLD]:
        yield ChainStep("reclaim", StepStatus.NOTE, f"{event.reason}: {event.text}")


# -- what it costs ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CostShare:
    dollars: float
    #: Of all machines of the Need and its margin.
    whole: float
    #: Of the Need's demand.
    part: float
    dimension: str
    machines: int


def cost_share(unit: Resources, wanted: Resources, machines: Iterable[MachineView]) -> CostShare:
    """A pod's part of what its Need's machines cost.

    In the dimension that fills the machines most, as that one says how many there are. Law: the
    shares of all pods of a Need add up to what its machines cost.
    """
    served = list(machines)
    capacity = Resources()
    for each in served:
        capacity = capacity.plus(each.machine.effective_allocatable)
    whole = sum(each.machine.price_per_hour for each in served)
    asked = [name for name, amount in wanted.amounts if amount > 0]
    dimension = max(asked, key=lambda n: (wanted[n] / max(1, capacity[n]), n), default="")
    part = unit[dimension] / wanted[dimension] if dimension else 0.0
    return CostShare(part * whole, whole, part, dimension, len(served))


def _share(facts: ChainFacts) -> CostShare | None:
    shard, request = facts.shard, facts.request
    if shard is None or request is None or not shard.needs or not shard.machines:
        return None
    return cost_share(request.unit, shard.needs[0].view.need.aggregate, shard.machines)


def _cost_step(share: CostShare) -> ChainStep:
    text = (
        f"{dollars_text(share.dollars)}/h: {share.part:.1%} of {share.dimension} of "
        f"the Need, whose {_counted(share.machines, 'machine')} cost {dollars_text(share.whole)}/h"
    )
    return ChainStep("cost", StepStatus.NOTE, text)


# -- what to do ------------------------------------------------------------------------------------


def _remedies(facts: ChainFacts, verdict: PodVerdict) -> Iterator[str]:
    shard = facts.shard
    if shard is not None and shard.needs and verdict is not PodVerdict.BOUND:
        row: NeedRow = shard.needs[0]
        if row.remedy:
            yield row.remedy
        yield f"bigfleet why {need_name(row.view.need.key)}"
        if verdict is PodVerdict.SHORT:
            yield f"bigfleet why-not {need_name(row.view.need.key)}"
    elif facts.node is not None and facts.node.machine:
        yield f"bigfleet why machine/{facts.node.machine}"


def _is_of_margin(view: MachineView) -> bool:
    return view.claimed_by is not None and is_margin(view.claimed_by.group)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
