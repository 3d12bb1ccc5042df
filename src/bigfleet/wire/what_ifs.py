"""What-if over the wire: edits to and from messages, the answer to and from its message.

What this version does not answer is refused with its name, never left out silently.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.errors import BadInput
from bigfleet.model.latencies import latencies_of
from bigfleet.model.machines import Host, Machine
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.provider_calls import Code, MachineRecord, Rejected
from bigfleet.model.what_if import (
    HIGHEST_PRIORITY,
    LARGEST_FACTOR,
    LOWEST_PRIORITY,
    MOST_ADDED_MACHINES,
    AddDemand,
    AddedNeed,
    AddMachines,
    ClusterDelta,
    ClusterSide,
    Edit,
    EngineOption,
    Fate,
    Move,
    NeedChange,
    NeedSelector,
    NeedWait,
    NumberEdit,
    RemoveMachines,
    ReplaceDemand,
    ScaleDemand,
    SetAttributes,
    SetPenalty,
    SetPriority,
    SettledSide,
    Settling,
    StockOut,
    Sweep,
    SweepAxis,
    SweepPoint,
    WhatIfAnswer,
    WhatIfCall,
    WhatIfSide,
)
from bigfleet.v1alpha1 import capacity_pb2, provider_pb2
from bigfleet.wire.machine_views import SELECTOR
from bigfleet.wire.machines import message_of, record_of_message
from bigfleet.wire.needs import need_message, need_of, resources_message, resources_of

MOST_BYTES = 8 * 1024 * 1024
MOST_EDITS = 1_000
_NEED_ID = re.compile(r"n[0-9a-f]{1,12}")


def call_message(call: WhatIfCall) -> pb.WhatIfRequest:
    return pb.WhatIfRequest(
        base_cycle=call.base_cycle,
        edits=map(_edit_message, call.edits),
        settle=call.settle,
        latencies=call.latencies.texts,
        sweep=call.sweep,
        include_machines=call.with_machines,
    )


def call_of(request: pb.WhatIfRequest) -> WhatIfCall:
    """Raises Rejected(INVALID_ARGUMENT)."""
    unanswered = {
        "cycles": request.cycles > 1,
        "step_seconds": bool(request.step_seconds),
        "include_actions": request.include_actions,
    }
    if names := [name for name, asked in unanswered.items() if asked]:
        raise _refused(f"{', '.join(names)}: not answered by this version; leave it out")
    if request.latencies and not request.settle:
        raise _refused("latencies: only where settle is asked for; leave them out, or set settle")
    if len(request.edits) > MOST_EDITS:
        raise _refused(f"{len(request.edits)} edits; {MOST_EDITS} are the most")
    if request.base_cycle < 0:
        raise _refused("base_cycle: 0 for now, or the number of a cycle")
    try:
        edits = [edit for message in request.edits for edit in _edits_of(message)]
        latencies = latencies_of(request.latencies)
    except (BadInput, ValueError) as problem:
        raise _refused(str(problem)) from None
    return WhatIfCall(
        request.base_cycle,
        tuple(edits),
        request.settle,
        latencies,
        tuple(request.sweep),
        request.include_machines,
    )


def _refused(text: str) -> Rejected:
    return Rejected(Code.INVALID_ARGUMENT, text)


# -- edits ---------------------------------------------------------------------------------------


def _edit_message(edit: Edit) -> pb.WhatIfEdit:
    match edit:
        case RemoveMachines(selector):
            return pb.WhatIfEdit(remove_machines=SELECTOR.message(selector))
        case StockOut(selector):
            return pb.WhatIfEdit(stock_out=SELECTOR.message(selector))
        case AddMachines(template, count, pattern):
            added = pb.AddMachines(
                template=_template_message(template),
                count=count,
                id_prefix=pattern or template.id,
            )
            return pb.WhatIfEdit(add_machines=added)
        case SetAttributes(selector, price, probability, labels):
            changed = pb.SetAttributes(
                selector=SELECTOR.message(selector),
                price_per_hour=_number_message(price),
                interruption_probability=_number_message(probability),
                labels=dict(labels),
            )
            return pb.WhatIfEdit(set_attributes=changed)
        case ReplaceDemand(cluster, needs):
            return pb.WhatIfEdit(replace_demand=_demand_message(cluster, needs))
        case AddDemand(need):
            return pb.WhatIfEdit(add_demand=_demand_message(need.cluster, [need]))
        case ScaleDemand(selector, factor):
            return pb.WhatIfEdit(scale_demand=_scale_message(selector, factor))
        case SetPenalty(selector, interruption, reclamation):
            penalty = pb.SetPenalty(
                need=_need_ref(selector),
                interruption=cast("capacity_pb2.PenaltyBucket.ValueType", interruption or 0),
                reclamation=cast("capacity_pb2.PenaltyBucket.ValueType", reclamation or 0),
            )
            return pb.WhatIfEdit(set_penalty=penalty)
        case SetPriority(selector, priority):
            return pb.WhatIfEdit(
                set_priority=pb.SetPriority(need=_need_ref(selector), priority=priority)
            )
        case EngineOption(name, value):
            return pb.WhatIfEdit(engine_option=pb.EngineOption(name=name, value=value))


def _edits_of(message: pb.WhatIfEdit) -> Iterable[Edit]:
    match message.WhichOneof("edit"):
        case "remove_machines":
            yield RemoveMachines(SELECTOR.record(message.remove_machines))
        case "stock_out":
            yield StockOut(SELECTOR.record(message.stock_out))
        case "add_machines":
            yield _added(message.add_machines)
        case "set_attributes":
            yield _attributes(message.set_attributes)
        case "replace_demand":
            demand = message.replace_demand
            yield ReplaceDemand(_cluster(demand), tuple(_needs_of(demand)))
        case "add_demand":
            _cluster(message.add_demand)
            yield from map(AddDemand, _needs_of(message.add_demand))
        case "scale_demand":
            yield _scale(message.scale_demand)
        case "set_penalty":
            penalty = message.set_penalty
            yield SetPenalty(
                _need_selector(penalty.need),
                penalty.interruption or None,
                penalty.reclamation or None,
            )
        case "set_priority":
            yield SetPriority(
                _need_selector(message.set_priority.need), message.set_priority.priority
            )
        case "engine_option":
            yield EngineOption(message.engine_option.name, message.engine_option.value)
        case other:
            raise ValueError(f"an edit of the kind {other or 'unknown'} is not answered")


def _added(message: pb.AddMachines) -> AddMachines:
    if not 1 <= message.count <= MOST_ADDED_MACHINES:
        raise ValueError(f"add_machines.count: from 1 to {MOST_ADDED_MACHINES}")
    template = _template_of(message.template)
    pattern = message.id_prefix or template.id
    if not pattern:
        raise ValueError("add_machines.id_prefix: what are the machines called?")
    return AddMachines(template, message.count, pattern)


def _template_message(machine: Machine) -> provider_pb2.Machine:
    """Without what it is assigned for: that is the shard's own."""
    record = MachineRecord(
        machine.id,
        machine.state,
        None if machine.host.empty else machine.host,
        machine.instance_type,
        machine.zone,
        machine.capacity_type,
        machine.price_per_hour,
        machine.interruption_probability,
        machine.resources.texts(),
        machine.labels,
        machine.last_error,
        machine.allocatable.texts(),
        machine.cluster,
    )
    return message_of(record)


def _template_of(message: provider_pb2.Machine) -> Machine:
    record = record_of_message(message)
    return Machine(
        record.id,
        record.state,
        record.capacity_type,
        record.host or Host(),
        record.cluster,
        record.instance_type,
        record.zone,
        record.labels,
        resources_of(message.resources),
        resources_of(message.allocatable),
        record.price_per_hour,
        record.interruption_probability,
        record.last_error,
    )


def _attributes(message: pb.SetAttributes) -> SetAttributes:
    return SetAttributes(
        SELECTOR.record(message.selector),
        _number(message.price_per_hour, "price_per_hour", 1_000_000.0),
        _number(message.interruption_probability, "interruption_probability", 1.0),
        tuple(sorted(message.labels.items())),
    )


def _number_message(edit: NumberEdit | None) -> pb.DoubleEdit | None:
    if edit is None:
        return None
    if edit.value is not None:
        return pb.DoubleEdit(set=edit.value)
    return pb.DoubleEdit(multiply=edit.multiply)


def _number(message: pb.DoubleEdit, name: str, most: float) -> NumberEdit | None:
    match message.WhichOneof("edit"):
        case None:
            return None
        case "set":
            if not 0 <= message.set <= most:
                raise ValueError(f"{name}.set: from 0 to {most:g}")
            return NumberEdit(value=message.set)
        case "multiply":
            if not 0 <= message.multiply <= LARGEST_FACTOR:
                raise ValueError(f"{name}.multiply: from 0 to {LARGEST_FACTOR:g}")
            return NumberEdit(message.multiply)
        case _:
            raise ValueError(f"{name}.add is not answered; write set or multiply")


def _demand_message(cluster: str, needs: Iterable[Need]) -> capacity_pb2.ClusterCapacityNeeds:
    return capacity_pb2.ClusterCapacityNeeds(cluster_id=cluster, needs=map(need_message, needs))


def _cluster(message: capacity_pb2.ClusterCapacityNeeds) -> str:
    if not message.cluster_id:
        raise ValueError("replace_demand and add_demand: cluster_id: whose demand is it?")
    return message.cluster_id


def _needs_of(message: capacity_pb2.ClusterCapacityNeeds) -> Iterable[Need]:
    return (need_of(need, message.cluster_id) for need in message.needs)


def _scale_message(selector: NeedSelector, factor: float) -> pb.ScaleDemand:
    every = selector.priority_min == LOWEST_PRIORITY and selector.priority_max == HIGHEST_PRIORITY
    return pb.ScaleDemand(
        cluster_id=selector.cluster,
        factor=factor,
        priority_min=0 if every else selector.priority_min,
        priority_max=0 if every else selector.priority_max,
        need=_need_ref(selector) if selector.need_id else None,
    )


def _scale(message: pb.ScaleDemand) -> ScaleDemand:
    if not 0 <= message.factor <= LARGEST_FACTOR:
        raise ValueError(f"scale_demand.factor: from 0 to {LARGEST_FACTOR:g}")
    if message.HasField("need"):
        return ScaleDemand(_need_selector(message.need), message.factor)
    low, high = message.priority_min, message.priority_max
    if not low and not high:
        low, high = LOWEST_PRIORITY, HIGHEST_PRIORITY
    return ScaleDemand(NeedSelector(message.cluster_id, "", low, high), message.factor)


def _need_ref(selector: NeedSelector) -> shared.NeedRef:
    every = selector.priority_min == LOWEST_PRIORITY and selector.priority_max == HIGHEST_PRIORITY
    if not every:
        raise _refused(
            "priority and penalty of Needs by their priority are not asked of a live shard;"
            " name the cluster or the Need"
        )
    return shared.NeedRef(cluster_id=selector.cluster, profile_fingerprint=selector.need_id)


def _need_selector(ref: shared.NeedRef) -> NeedSelector:
    named = ref.profile_fingerprint
    if named and not _NEED_ID.fullmatch(named):
        named = NeedKey(ref.cluster_id, named, ref.group).need_id
    return NeedSelector(ref.cluster_id, named)


# -- the answer ----------------------------------------------------------------------------------


def answer_message(answer: WhatIfAnswer) -> pb.WhatIfResponse:
    return pb.WhatIfResponse(
        base=_side_message(answer.base),
        changed=_side_message(answer.changed),
        clusters=map(_delta_message, answer.clusters),
        warnings=answer.warnings,
        cycle=answer.cycle,
        overlay=answer.overlay,
        newly_unmet=map(_need_change_message, answer.newly_unmet),
        newly_met=map(_need_change_message, answer.newly_met),
        newly_unmet_count=answer.newly_unmet_count,
        newly_met_count=answer.newly_met_count,
        moved=[
            pb.WhatIfMove(
                from_cluster_id=m.from_cluster, to_cluster_id=m.to_cluster, machines=m.machines
            )
            for m in answer.moved
        ],
        removed_machines=answer.removed,
        added=map(_added_need_message, answer.added),
        settling=None if answer.settling is None else _settling_message(answer.settling),
        sweep=None if answer.sweep is None else _sweep_message(answer.sweep, len(answer.overlay)),
        fates=None if answer.fates is None else _fates_message(answer.fates),
    )


def answer_of(message: pb.WhatIfResponse) -> WhatIfAnswer:
    return WhatIfAnswer(
        cycle=message.cycle,
        base=_side_of(message.base),
        changed=_side_of(message.changed),
        clusters=tuple(map(_delta_of, message.clusters)),
        newly_unmet=tuple(map(_need_change_of, message.newly_unmet)),
        newly_met=tuple(map(_need_change_of, message.newly_met)),
        newly_unmet_count=message.newly_unmet_count,
        newly_met_count=message.newly_met_count,
        moved=tuple(Move(m.from_cluster_id, m.to_cluster_id, m.machines) for m in message.moved),
        removed=message.removed_machines,
        overlay=tuple(message.overlay),
        warnings=tuple(message.warnings),
        added=tuple(map(_added_need_of, message.added)),
        settling=_settling_of(message.settling) if message.HasField("settling") else None,
        sweep=_sweep_of(message) if message.HasField("sweep") else None,
        fates=tuple(map(_fate_of, message.fates.groups)) if message.HasField("fates") else None,
    )


def _sweep_message(sweep: Sweep, edits: int) -> pb.WhatIfSweep:
    """Points begin with the edits of the answer itself, a thousand perhaps: those are left out."""
    return pb.WhatIfSweep(
        axes=[pb.WhatIfAxis(name=axis.name, values=axis.values) for axis in sweep.axes],
        points=[
            pb.WhatIfPoint(
                values=point.values,
                answer=answer_message(replace(point.answer, overlay=point.answer.overlay[edits:])),
            )
            for point in sweep.points
        ],
    )


def _sweep_of(message: pb.WhatIfResponse) -> Sweep:
    def point_of(point: pb.WhatIfPoint) -> SweepPoint:
        answer = answer_of(point.answer)
        overlay = (*message.overlay, *answer.overlay)
        return SweepPoint(tuple(point.values), replace(answer, overlay=overlay))

    sweep = message.sweep
    return Sweep(
        tuple(SweepAxis(axis.name, tuple(axis.values)) for axis in sweep.axes),
        tuple(map(point_of, sweep.points)),
    )


def _fates_message(fates: Iterable[Fate]) -> pb.WhatIfFates:
    return pb.WhatIfFates(
        groups=[
            pb.WhatIfFate(
                removed=fate.removed,
                before=fate.before,
                before_cluster_id=fate.before_cluster,
                after=fate.after,
                after_cluster_id=fate.after_cluster,
                machines=fate.machines,
                machine_ids=fate.machine_ids,
            )
            for fate in fates
        ]
    )


def _fate_of(message: pb.WhatIfFate) -> Fate:
    return Fate(
        message.removed,
        message.before,
        message.before_cluster_id,
        message.after,
        message.after_cluster_id,
        message.machines,
        tuple(message.machine_ids),
    )


def _side_message(side: WhatIfSide) -> pb.WhatIfSide:
    rest, quiet = side.settled, 0
    if rest is not None:
        quiet = -1 if rest.quiet_after_cycles is None else rest.quiet_after_cycles
    return pb.WhatIfSide(
        actions_by_kind=side.actions_by_kind,
        satisfied_needs=side.satisfied_needs,
        unsatisfied_needs=side.unsatisfied_needs,
        cost_per_hour=side.cost_per_hour,
        expected_interruption_per_hour=side.expected_interruption_per_hour,
        machines_by_state=side.machines_by_state,
        shortfalls_by_priority={str(p): n for p, n in side.shortfalls_by_priority.items()},
        declared_penalties=side.declared_penalties,
        pinned_victims=side.pinned_victims,
        quiet_after_cycles=quiet,
        rest=None if rest is None else _rest_message(rest),
    )


def _side_of(message: pb.WhatIfSide) -> WhatIfSide:
    shortfalls = {int(p): n for p, n in message.shortfalls_by_priority.items()}
    return WhatIfSide(
        actions_by_kind=dict(message.actions_by_kind),
        satisfied_needs=message.satisfied_needs,
        unsatisfied_needs=message.unsatisfied_needs,
        shortfalls_by_priority={p: shortfalls[p] for p in sorted(shortfalls, reverse=True)},
        cost_per_hour=message.cost_per_hour,
        expected_interruption_per_hour=message.expected_interruption_per_hour,
        declared_penalties=message.declared_penalties,
        pinned_victims=message.pinned_victims,
        machines_by_state=dict(message.machines_by_state),
        settled=_rest_of(message) if message.HasField("rest") else None,
    )


def _rest_message(rest: SettledSide) -> pb.WhatIfRest:
    covered = [pb.CoveredAfter(seconds=seconds, needs=n) for seconds, n in rest.covered_after]
    return pb.WhatIfRest(seconds=rest.seconds, covered_after=covered, uncovered=rest.uncovered)


def _rest_of(side: pb.WhatIfSide) -> SettledSide:
    quiet, rest = side.quiet_after_cycles, side.rest
    return SettledSide(
        None if quiet < 0 else quiet,
        rest.seconds,
        tuple((each.seconds, each.needs) for each in rest.covered_after),
        rest.uncovered,
    )


def _settling_message(settling: Settling) -> pb.WhatIfSettling:
    return pb.WhatIfSettling(
        latencies=settling.latencies.texts,
        short_at_first=settling.short_at_first,
        recovered=settling.recovered,
        waits=map(_wait_message, settling.waits),
    )


def _settling_of(message: pb.WhatIfSettling) -> Settling:
    return Settling(
        latencies_of(message.latencies),
        message.short_at_first,
        message.recovered,
        tuple(map(_wait_of, message.waits)),
    )


def _wait_message(wait: NeedWait) -> pb.WhatIfWait:
    return pb.WhatIfWait(
        need=_key_message(wait.key),
        priority=wait.priority,
        covered_after_seconds=wait.covered_after or 0.0,
        sentence=wait.sentence,
        covered=wait.covered_after is not None,
    )


def _wait_of(message: pb.WhatIfWait) -> NeedWait:
    covered = message.covered_after_seconds if message.covered else None
    return NeedWait(_key_of(message.need), message.priority, covered, message.sentence)


def _delta_message(delta: ClusterDelta) -> pb.ClusterDelta:
    before, after = delta.before, delta.after
    return pb.ClusterDelta(
        cluster_id=delta.cluster,
        cost_before=before.cost_per_hour,
        cost_after=after.cost_per_hour,
        unmet_before=before.unmet,
        unmet_after=after.unmet,
        machines_before=before.machines,
        machines_after=after.machines,
        actions_before=before.actions_by_kind,
        actions_after=after.actions_by_kind,
        lost_machines=delta.lost,
    )


def _delta_of(message: pb.ClusterDelta) -> ClusterDelta:
    return ClusterDelta(
        message.cluster_id,
        ClusterSide(
            message.machines_before,
            message.unmet_before,
            message.cost_before,
            dict(message.actions_before),
        ),
        ClusterSide(
            message.machines_after,
            message.unmet_after,
            message.cost_after,
            dict(message.actions_after),
        ),
        message.lost_machines,
    )


def _key_message(key: NeedKey) -> shared.NeedRef:
    return shared.NeedRef(
        cluster_id=key.cluster, profile_fingerprint=key.fingerprint, group=key.group
    )


def _key_of(ref: shared.NeedRef) -> NeedKey:
    return NeedKey(ref.cluster_id, ref.profile_fingerprint, ref.group)


def _added_need_message(need: AddedNeed) -> pb.AddedNeed:
    return pb.AddedNeed(
        need=_key_message(need.key), covered=need.covered, code=need.code, sentence=need.sentence
    )


def _added_need_of(message: pb.AddedNeed) -> AddedNeed:
    return AddedNeed(_key_of(message.need), message.covered, message.code, message.sentence)


def _need_change_message(change: NeedChange) -> pb.WhatIfNeed:
    return pb.WhatIfNeed(
        need=_key_message(change.key),
        priority=change.priority,
        deficit=resources_message(change.deficit),
        sentence=change.sentence,
    )


def _need_change_of(message: pb.WhatIfNeed) -> NeedChange:
    key = _key_of(message.need)
    return NeedChange(key, message.priority, resources_of(message.deficit), message.sentence)


# -- bytes ---------------------------------------------------------------------------------------


def call_bytes(call: WhatIfCall) -> bytes:
    return call_message(call).SerializeToString()


def read_call(content: bytes) -> WhatIfCall:
    return call_of(pb.WhatIfRequest.FromString(content))


def answer_bytes(answer: WhatIfAnswer) -> bytes:
    return answer_message(answer).SerializeToString(deterministic=True)


def read_answer(content: bytes) -> WhatIfAnswer:
    return answer_of(pb.WhatIfResponse.FromString(content))
