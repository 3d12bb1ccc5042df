"""R17: an order of the coordinator is done when it is acknowledged, or said to have failed.

Every kind of instruction comes in a situation in which it can be carried out, and in one in which
it cannot. In the first the change is there to be seen the moment the handler says Done; in the
second the handler does not say Done, and everything is as it was.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from bigfleet.model.coordination import TransferState, TransferTier
from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    Done,
    InstructionKind,
    NotYet,
    Refused,
)
from bigfleet.model.ownership import PROVIDER_KEY, MachineOverride, OwnershipView
from tests.transfers.shards import (
    ADDRESS,
    S,
    Shard,
    adopt,
    drain,
    idle,
    machine,
    moving,
    need,
    offer,
    release,
)


@dataclass(frozen=True)
class Order:
    """An instruction, a shard that can obey it, and how to see that it did."""

    instruction: CoordinatorInstruction
    able: Callable[[], Shard]
    unable: Callable[[], Shard]
    is_done: Callable[[Shard], bool]


def _domain(kind: InstructionKind, key: str, value: str) -> CoordinatorInstruction:
    return CoordinatorInstruction("dom-1", kind, topology_key=key, topology_value=value)


def _releasing(tier: TransferTier = TransferTier.IDLE) -> Shard:
    slots = tier is TransferTier.SPECULATIVE
    shard = Shard([machine(f"m-{n}", S.SPECULATIVE if slots else S.IDLE) for n in range(4)])
    shard.asked_for(offer(1, tier=tier))
    shard.sync(transfers=[moving(TransferState.RELEASING, "m-0", tier=tier)])
    return shard


def _in_use(tier: TransferTier = TransferTier.IDLE) -> Shard:
    shard = _releasing(tier)
    shard.sync(transfers=[moving(TransferState.CANCELLED, "m-0", tier=tier)])
    shard.report("shop", need("shop", 4, 100))
    shard.run(1)
    shard.sync(transfers=[moving(TransferState.RELEASING, "m-0", tier=tier)])
    return shard


def _granted(*machines: str, listed: bool = True) -> Shard:
    shard = Shard(idle(4), name="shard-b")
    rows = [MachineOverride(m, "shard-b", "shard-a", "1-1") for m in machines]
    shard.view(*rows, transfers=[moving(TransferState.GRANTED, "m-00")])
    if listed:
        shard.run(1)
    return shard


def _with_batch(priority: int) -> Shard:
    shard = Shard(idle(2))
    shard.report("batch", need("batch", 2, priority))
    shard.run(3)
    shard.sync(transfers=[moving(TransferState.DRAINING, "m-00", tier=TransferTier.DRAIN)])
    return shard


def _with_domain(*owners: str, bound: bool = False) -> Shard:
    """In a zone that is one shard's after the other; empty: no shard's."""
    shard = Shard([machine(f"m-0{n}", labels={"zone": "a"}) for n in range(2)])
    for revision, owner in enumerate(owners, start=8):
        domains = {("zone", "a"): owner}
        view = OwnershipView.of(revision, domains=domains, default_owners={ADDRESS: "shard-a"})
        shard.sync(ownership=view)
        shard.run(2)
        if bound:
            shard.report("shop", need("shop", 1, 100))
            shard.run(3)
    return shard


def _without_provider(*, bound: bool = False) -> Shard:
    """Whose default owner it was."""
    shard = Shard(idle(2))
    if bound:
        shard.report("shop", need("shop", 1, 100))
        shard.run(3)
    shard.sync(ownership=OwnershipView.of(9, default_owners={ADDRESS: ""}))
    return shard


ORDERS = {
    "transfer_ownership, release": Order(
        release("m-0"), _releasing, _in_use, lambda shard: not shard.has("m-0")
    ),
    "reassign_speculative, release": Order(
        release("m-0", slots=True),
        lambda: _releasing(TransferTier.SPECULATIVE),
        lambda: _in_use(TransferTier.SPECULATIVE),
        lambda shard: not shard.has("m-0"),
    ),
    "transfer_ownership, adopt": Order(
        adopt("m-00"),
        lambda: _granted("m-00"),
        lambda: _granted("m-00", listed=False),
        lambda shard: shard.has("m-00"),
    ),
    "cross_shard_drain": Order(
        drain("m-00"),
        lambda: _with_batch(100),
        lambda: _with_batch(1000),
        lambda shard: bool(shard.state.parts.drains.intents()),
    ),
    "assign_domain": Order(
        _domain(InstructionKind.ASSIGN_DOMAIN, "zone", "a"),
        lambda: _with_domain("shard-a"),
        lambda: _with_domain("shard-c"),
        lambda shard: shard.has("m-00"),
    ),
    "unassign_domain": Order(
        _domain(InstructionKind.UNASSIGN_DOMAIN, "zone", "a"),
        lambda: _with_domain("shard-a", ""),
        lambda: _with_domain("shard-a", "", bound=True),
        lambda shard: not shard.has("m-00") and not shard.has("m-01"),
    ),
    "unassign_domain of a provider": Order(
        _domain(InstructionKind.UNASSIGN_DOMAIN, PROVIDER_KEY, ADDRESS),
        _without_provider,
        lambda: _without_provider(bound=True),
        lambda shard: not shard.has("m-00"),
    ),
}


def test_r17_every_kind_of_instruction_is_tried() -> None:
    tried = {order.instruction.kind for order in ORDERS.values()}
    assert tried == set(InstructionKind) - {InstructionKind.UNKNOWN}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_r17_what_is_acknowledged_is_done(order: Order) -> None:
    shard = order.able()
    answer = shard.told(order.instruction)
    if isinstance(answer, NotYet):
        shard.run(1)
        answer = shard.told(order.instruction)
    assert isinstance(answer, Done)
    assert order.is_done(shard)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_r17_what_cannot_be_done_is_not_acknowledged(order: Order) -> None:
    shard = order.unable()
    answer = shard.told(order.instruction)
    assert isinstance(answer, Refused | NotYet)
    assert answer.why
    assert not order.is_done(shard)


def test_r17_an_order_of_a_later_version_is_refused() -> None:
    answer = Shard(idle(2)).told(CoordinatorInstruction("x-1", InstructionKind.UNKNOWN))
    assert isinstance(answer, Refused)


@pytest.mark.parametrize(
    "instruction",
    [
        CoordinatorInstruction("tx-1-1/other", InstructionKind.TRANSFER_OWNERSHIP),
        CoordinatorInstruction("1-1", InstructionKind.TRANSFER_OWNERSHIP),
        CoordinatorInstruction("tx-1-1/release", InstructionKind.CROSS_SHARD_DRAIN),
    ],
    ids=["another step", "no transfer", "another kind"],
)
def test_r17_an_order_that_is_not_a_step_of_a_transfer_is_refused(
    instruction: CoordinatorInstruction,
) -> None:
    assert isinstance(_releasing().told(instruction), Refused)
