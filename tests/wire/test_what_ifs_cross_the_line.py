"""What-ifs over the wire: every edit arrives whole, and a cluster hears of itself only."""

from dataclasses import replace
from pathlib import Path

import pytest

from bigfleet.admin.v1alpha1 import common_pb2 as shared
from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.latencies import latencies_of
from bigfleet.model.machines import CapacityType, Machine, MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import (
    AddDemand,
    AddMachines,
    Edit,
    EngineOption,
    Fate,
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
from bigfleet.v1alpha1 import capacity_pb2
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.shard_admin import SHARD_ADMIN, ShardAdminClient
from bigfleet.wire.what_ifs import answer_bytes, call_bytes, call_of, read_answer, read_call
from tests.wire import what_if_answer
from tests.wire.admin import ScriptedAdmin
from tests.wire.certificates import Authority
from tests.wire.sessions import ScriptedShard, line_to

SPOT = MachineSelector(
    zones=frozenset({"a"}),
    capacity_types=frozenset({int(CapacityType.SPOT)}),
    states=frozenset({MachineState.IDLE}),
    labels=(("rack", "r1"),),
    cluster="shop",
)
NEED = Need("shop", Profile.of(priority=7), Resources.of({"cpu": 8000}), Resources.of({"cpu": 100}))
SLOT = Machine("od-{00}", MachineState.SPECULATIVE, CapacityType.ON_DEMAND, zone="a")
EDITS: dict[str, Edit] = {
    "machines go": RemoveMachines(SPOT),
    "machines come": AddMachines(SLOT, 4, "od-{00}"),
    "prices": SetAttributes(SPOT, NumberEdit(2.0), NumberEdit(value=0.5), (("rack", "r2"),)),
    "sold out": StockOut(SPOT),
    "demand of a cluster": ScaleDemand(NeedSelector("shop"), 1.4),
    "demand of a priority": ScaleDemand(NeedSelector("shop", "", 5, 9), 0.0),
    "demand of a Need": ScaleDemand(NeedSelector("shop", "n3f9c"), 2.0),
    "a new demand": ReplaceDemand("shop", (NEED,)),
    "a cluster leaves": ReplaceDemand("shop"),
    "one Need more": AddDemand(NEED),
    "penalties": SetPenalty(NeedSelector("shop", "n3f9c"), 4, None),
    "a priority": SetPriority(NeedSelector("shop"), -5),
    "an option": EngineOption("drainSeconds", "60"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_arrives_as_it_was_asked(edit: Edit) -> None:
    call = WhatIfCall(7, (edit,))
    assert read_call(call_bytes(call)) == call


def test_a_call_to_settle_arrives_with_its_latencies() -> None:
    latencies = latencies_of({"create": "1m30s", "configure.bare-metal": "250ms"})
    call = WhatIfCall(0, (), settle=True, latencies=latencies)
    assert read_call(call_bytes(call)) == call
    assert call.latencies.given == {"create": 90.0, "configure.BareMetal": 0.25}


def test_how_a_fleet_settles_arrives_whole() -> None:
    rest = SettledSide(None, 41.0, ((2.0, 3), (40.0, 1)), 2)
    key = NeedKey("shop", "fp", "gang")
    waits = (NeedWait(key, 7, None, "nothing fits"), NeedWait(key, -7, 0.0), NeedWait(key, 0, 2.0))
    settling = Settling(latencies_of({"drain": "7s"}), 3, 2, waits)
    side = WhatIfSide(settled=rest)
    answer = WhatIfAnswer("3:1", side, WhatIfSide(settled=SettledSide()), settling=settling)
    assert read_answer(answer_bytes(answer)) == answer


def test_a_call_to_sweep_and_to_name_machines_arrives_whole() -> None:
    call = WhatIfCall(0, (), sweep=("demand.ml=1:2:0.5", "price=1:2:1"), with_machines=True)
    assert read_call(call_bytes(call)) == call


def test_points_of_a_sweep_and_fates_of_machines_arrive_whole() -> None:
    axes = (SweepAxis("demand.ml", (1.0, 1.5)), SweepAxis("price", (2.0,)))
    points = (SweepPoint((1.0, 2.0), what_if_answer.COMPARED),)
    fates = (Fate(True, "Reclaim", "ml", "", "", 40_000, ("m-1",)), Fate(False, after="Delete"))
    answer = replace(what_if_answer.COMPARED, sweep=Sweep(axes, points), fates=fates)
    assert read_answer(answer_bytes(answer)) == answer
    none_of_them = replace(what_if_answer.COMPARED, fates=())
    assert read_answer(answer_bytes(none_of_them)) == none_of_them


REFUSED = {
    "latencies of one cycle": pb.WhatIfRequest(latencies={"create": "1s"}),
    "a step that does not exist": pb.WhatIfRequest(settle=True, latencies={"boot": "1s"}),
    "a capacity type that does not exist": pb.WhatIfRequest(
        settle=True, latencies={"create.Gold": "1s"}
    ),
    "a latency that is not a duration": pb.WhatIfRequest(settle=True, latencies={"create": "soon"}),
    "a latency of years": pb.WhatIfRequest(settle=True, latencies={"create": "1000d"}),
    "too many latencies": pb.WhatIfRequest(
        settle=True, latencies={f"create{n}": "1s" for n in range(40)}
    ),
    "many cycles": pb.WhatIfRequest(cycles=2),
    "no edit in an edit": pb.WhatIfRequest(edits=[pb.WhatIfEdit()]),
    "a quota": pb.WhatIfRequest(
        edits=[pb.WhatIfEdit(set_quota=shared.QuotaAllocation(provider="sim"))]
    ),
    "a factor that is not a number": pb.WhatIfRequest(
        edits=[pb.WhatIfEdit(scale_demand=pb.ScaleDemand(factor=float("nan")))]
    ),
    "too many machines": pb.WhatIfRequest(
        edits=[pb.WhatIfEdit(add_machines=pb.AddMachines(count=2**31 - 1))]
    ),
    "an addition": pb.WhatIfRequest(
        edits=[
            pb.WhatIfEdit(set_attributes=pb.SetAttributes(price_per_hour=pb.DoubleEdit(add=1.0)))
        ]
    ),
    "demand without a cluster": pb.WhatIfRequest(
        edits=[pb.WhatIfEdit(replace_demand=capacity_pb2.ClusterCapacityNeeds())]
    ),
    "a cycle below zero": pb.WhatIfRequest(base_cycle=-1),
}


@pytest.mark.parametrize("request_message", REFUSED.values(), ids=REFUSED)
def test_what_is_not_answered_is_refused(request_message: pb.WhatIfRequest) -> None:
    with pytest.raises(Rejected) as rejected:
        call_of(request_message)
    assert rejected.value.code is Code.INVALID_ARGUMENT


OWN = WhatIfCall(0, (ReplaceDemand("shop", (NEED,)), AddDemand(NEED)))
FOREIGN = {
    "another's demand": WhatIfCall(0, (ReplaceDemand("bank"),)),
    "machines": WhatIfCall(0, (ReplaceDemand("shop"), RemoveMachines(SPOT))),
    "a past cycle": WhatIfCall(3, (ReplaceDemand("shop"),)),
    "how the fleet settles": WhatIfCall(0, (ReplaceDemand("shop"),), settle=True),
    "a sweep": WhatIfCall(0, (ReplaceDemand("shop"),), sweep=("price=1:2:1",)),
    "which machines": WhatIfCall(0, (ReplaceDemand("shop"),), with_machines=True),
    "nothing": WhatIfCall(),
}


async def test_a_cluster_asks_about_its_own_demand_and_hears_of_itself_only(tmp_path: Path) -> None:
    authority, people = Authority(tmp_path), ScriptedAdmin()
    tls = authority.leaf("client", "bigfleet://cluster/shop")
    async with (
        line_to(
            ScriptedShard(),
            server_tls=authority.leaf("server"),
            extra_services=[RpcService(SHARD_ADMIN, people)],
        ) as line,
        ShardAdminClient(line.client.address, tls) as client,
    ):
        told = await client.what_if(OWN)
        for call in FOREIGN.values():
            with pytest.raises(Rejected) as rejected:
                await client.what_if(call)
            assert rejected.value.code is Code.PERMISSION_DENIED
    assert people.asked == [("what_if", OWN)]
    assert [c.cluster for c in told.clusters] == ["shop"]
    assert [n.key.cluster for n in told.newly_unmet] == ["shop"]
    assert told.newly_unmet_count == 1
    assert not told.moved
    assert not told.newly_met
    assert not told.changed.machines_by_state
    assert told.cycle == what_if_answer.COMPARED.cycle
    assert [n.key.cluster for n in told.added] == ["shop"]


async def test_an_answer_arrives_as_it_was_given() -> None:
    assert read_answer(answer_bytes(what_if_answer.COMPARED)) == what_if_answer.COMPARED
