"""Facts of a pod's way, as the command line would collect them."""

from dataclasses import replace
from typing import Any

from bigfleet.explain.pod_chain import ChainStep, PodAnswer
from bigfleet.explain.pod_facts import (
    ACKNOWLEDGED,
    ChainFacts,
    NodeFacts,
    PodFacts,
    RequestFacts,
    SessionFacts,
    ShardFacts,
    UpcomingFacts,
)
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile
from bigfleet.model.reasons import ToldReason
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import MachineView, NeedRow, NeedView

SAID = "0/3 nodes are available: 3 Insufficient cpu."
PROFILE = Profile.of([], priority=100)
UNIT = Resources.parse({"cpu": "5", "memory": "1Gi"})
POD = PodFacts("shop/web-1", scheduler_text=SAID, is_unschedulable=True)
KEY = NeedKey("east", PROFILE.fingerprint, "")
REQUEST = RequestFacts("shop/cr-1", "Pod shop/web-1", ACKNOWLEDGED, unit=UNIT, key=KEY)
SESSION = SessionFacts(True, 4.0)


def row(
    state: NeedState = NeedState.MET,
    *,
    pods: int = 2,
    satisfied: bool = True,
    group: str = "",
    claimed: int = 2,
    code: str = "keep.order",
    text: str = "keeps its machines",
    min_unit: Resources = UNIT,
    **more: Any,
) -> NeedRow:
    need = Need("east", PROFILE, UNIT.times(pods), min_unit, group=group)
    deficit = Resources() if satisfied else UNIT
    view = NeedView(need, satisfied, deficit, claimed)
    return NeedRow(view, state, ToldReason(code, text), 0, **more)


def machine(
    name: str = "m-1",
    state: MachineState = MachineState.CONFIGURED,
    *,
    price: float = 0.4,
    claimed_by: NeedKey = KEY,
) -> MachineView:
    capacity = Resources.parse({"cpu": "8", "memory": "32Gi"})
    return MachineView(
        Machine(name, state, cluster="east", resources=capacity, price_per_hour=price),
        "sim",
        claimed_by=claimed_by,
    )


def upcoming(*machines: str, phase: str = "Ready") -> dict[str, UpcomingFacts]:
    return {each: UpcomingFacts(f"un-{each}", phase, f"node-{each}") for each in machines}


def served(*needs: NeedRow, machines: tuple[MachineView, ...] = (), **more: Any) -> ShardFacts:
    return ShardFacts(SESSION, needs, machines=machines, cycle="1:7", **more)


def chain(shard: ShardFacts | None = None, **changed: Any) -> ChainFacts:
    """A pod that waits with an acknowledged request."""
    whole = ChainFacts("east", POD, REQUEST, shard=shard, upcoming=upcoming("m-1", "m-2"))
    return replace(whole, **changed)


def bound(node: str = "node-m-1", machine_id: str = "m-1") -> dict[str, Any]:
    return {"pod": PodFacts("shop/web-1", node=node), "node": NodeFacts(node, machine_id)}


def steps(answer: PodAnswer, name: str) -> list[ChainStep]:
    return [step for step in answer.steps if step.name == name]


def step(answer: PodAnswer, name: str) -> ChainStep:
    (found,) = steps(answer, name)
    return found
