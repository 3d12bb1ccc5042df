"""A domain that is given up: what is free leaves at once, what serves stays until it is free."""

from dataclasses import replace
from itertools import pairwise

import pytest

from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.memory import Reservation, ReservationKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.ownership import PROVIDER_KEY, MachineOverride, OwnershipView
from bigfleet.model.requirements import HOSTNAME_KEY, ZONE_KEY
from tests.ownership.sharing import shard_of, takes, takes_over, view
from tests.reconciling.rig import (
    CONFIGURED,
    CONFIGURING,
    CREATING,
    DELETING,
    DRAINING,
    FAILED,
    IDLE,
    SPECULATIVE,
    Rig,
    record,
)

ZONE = (ZONE_KEY, "eu-1a")


def giving_up(*states: MachineState) -> Rig:
    """A shard with a machine of each state in zone eu-1a, which has no owner by now."""
    rig = shard_of(view(1, eu_1a="shard-0"))
    rig.lists(*(record(f"m-{state.label.lower()}", state) for state in states))
    rig.sent.clear()
    takes(rig, view(2, eu_1a=""))
    return rig


@pytest.mark.parametrize("state", [CREATING, CONFIGURING, CONFIGURED, DRAINING, DELETING])
def test_an_occupied_machine_stays(state: MachineState) -> None:
    rig = giving_up(state)
    assert rig.ids() == [f"m-{state.label.lower()}"]
    assert rig.reconciler.is_owned(rig.ids()[0])
    assert rig.reconciler.occupied_in(ZONE) == 1


@pytest.mark.parametrize("state", [IDLE, SPECULATIVE, FAILED])
def test_a_free_machine_leaves_at_once_and_no_cluster_is_told(state: MachineState) -> None:
    rig = giving_up(state)
    assert rig.ids() == []
    assert rig.sent == []
    assert rig.reconciler.occupied_in(ZONE) == 0
    assert rig.count("machines_ignored_unowned", provider="acme") == 1


def test_before_its_turn_has_come_a_free_machine_is_not_ours_any_more() -> None:
    rig = shard_of(view(1, eu_1a="shard-0"))
    rig.lists(record("idle"), record("busy", CONFIGURED))
    now = rig.reconciler.ownership
    rig.reconciler.on_ownership(now.newer(view(2, eu_1a=""), ["acme"]), rig.now)
    assert rig.ids() == ["busy", "idle"]
    assert rig.reconciler.is_sweeping()
    assert not rig.reconciler.is_owned("idle")
    assert rig.reconciler.is_owned("busy")
    assert not rig.reconciler.is_owned("unheard-of")


def test_it_leaves_when_a_list_shows_it_free_and_its_cluster_hears_the_end() -> None:
    rig = giving_up(CONFIGURED)
    rig.lists(record("m-configured", DRAINING))
    assert rig.ids() == ["m-configured"]
    rig.sent.clear()
    rig.lists(record("m-configured", IDLE))
    assert rig.told() == [("shop", "m-configured", IDLE)]
    assert not rig.reconciler.is_owned("m-configured")
    rig.reconciler.tick(rig.now)
    assert rig.ids() == []
    assert rig.reconciler.occupied_in(ZONE) == 0


def test_it_leaves_when_the_shard_itself_has_freed_it() -> None:
    rig = giving_up(DRAINING)
    machine = rig.machine("m-draining")
    rig.local(replace(machine, state=IDLE, cluster=""))
    assert not rig.reconciler.is_owned("m-draining")
    rig.reconciler.tick(rig.now)
    assert rig.ids() == []


def test_one_with_a_pending_action_leaves_when_that_has_ended() -> None:
    rig = shard_of(view(1, eu_1a="shard-0"))
    rig.lists(record("m", IDLE))
    rig.pending.add("m")
    takes(rig, view(2, eu_1a=""))
    assert rig.ids() == ["m"]
    assert rig.reconciler.occupied_in(ZONE) == 1
    assert not rig.reconciler.is_owned("m"), "what waits in the queue is not begun"
    rig.reconciler.tick(rig.now)
    assert rig.ids() == ["m"]
    rig.pending.clear()
    rig.reconciler.tick(rig.now)
    assert rig.ids() == []


def test_a_list_begun_before_brings_nothing_free_back() -> None:
    rig = shard_of(view(1, eu_1a="shard-0"))
    rig.lists(record("m", IDLE))
    early = rig.read([record("m", IDLE), record("new", IDLE), record("busy", CONFIGURED)])
    takes(rig, view(2, eu_1a=""))
    rig.arrived(early, rig.now)
    assert rig.ids() == ["busy"], "a machine that serves in the domain may be one of our own"


def test_after_a_restart_occupied_machines_come_in_and_free_ones_do_not() -> None:
    ownership = shard_of(view(1, eu_1a="shard-0")).reconciler.ownership
    rig = Rig(ownership=ownership.newer(view(2, eu_1a=""), ["acme"]))
    rig.lists(record("busy", CONFIGURED), record("idle", IDLE))
    assert rig.ids() == ["busy"]
    assert rig.reconciler.occupied_in(ZONE) == 1


def test_the_next_owner_ends_it() -> None:
    rig = giving_up(CONFIGURED)
    takes(rig, view(3, eu_1a="shard-1"))
    assert rig.ids() == []
    assert rig.sent == []


def test_a_domain_that_comes_back_keeps_its_machines() -> None:
    rig = giving_up(CONFIGURED, IDLE)
    takes(rig, view(3, eu_1a="shard-0"))
    assert rig.ids() == ["m-configured"]
    rig.lists(record("m-configured", CONFIGURED), record("m-idle", IDLE))
    assert rig.ids() == ["m-configured", "m-idle"]


def test_machines_that_stay_by_name_are_not_waited_for() -> None:
    """One was moved here by itself: it is not the domain's to give."""
    rows = [MachineOverride("moved", "shard-0", "shard-1", "t1")]
    rig = shard_of(OwnershipView.of(1, domains={ZONE: "shard-0"}, overrides=rows))
    rig.lists(record("moved", CONFIGURED), record("m", CONFIGURED))
    takes(rig, OwnershipView.of(2, domains={ZONE: ""}, overrides=rows))
    assert rig.ids() == ["m", "moved"]
    assert rig.reconciler.occupied_in(ZONE) == 1


def test_a_machine_that_goes_by_name_goes_in_every_state() -> None:
    rig = shard_of(OwnershipView.of(1, domains={ZONE: "shard-0"}))
    rig.lists(record("moved", CONFIGURED), record("m", CONFIGURED))
    rows = [MachineOverride("moved", "shard-1", "shard-0", "t1")]
    takes(rig, OwnershipView.of(2, domains={ZONE: ""}, overrides=rows))
    assert rig.ids() == ["m"]
    assert not rig.reconciler.is_owned("moved")


def test_nodes_that_are_domains_of_their_own_are_counted_one_by_one() -> None:
    node = (HOSTNAME_KEY, "ip-1")
    domains = {node: "shard-0", ZONE: "shard-0"}
    rig = shard_of(OwnershipView.of(1, domains=domains))
    rig.lists(
        record("named", CONFIGURED, labels={HOSTNAME_KEY: "ip-1"}),
        record("free", IDLE, labels={HOSTNAME_KEY: "ip-1"}),
        record("m", CONFIGURED),
    )
    takes(rig, OwnershipView.of(2, domains={**domains, node: ""}))
    assert rig.ids() == ["m", "named"]
    assert rig.reconciler.occupied_in(node) == 1
    assert rig.reconciler.occupied_in(ZONE) == 0


def test_what_serves_below_a_new_domain_is_waited_for_by_both() -> None:
    provider = (PROVIDER_KEY, "acme")
    rig = shard_of(view(1, default="shard-0"))
    rig.lists(record("in-zone", CONFIGURED), record("outside", CONFIGURED, zone="eu-1b"))
    takes(rig, view(2, default="shard-0", eu_1a=""))
    now = rig.reconciler.ownership
    rig.reconciler.on_ownership(now.giving_up(provider), rig.now)
    takes_over(rig)
    assert rig.ids() == ["in-zone", "outside"]
    assert rig.reconciler.occupied_in(ZONE) == 1
    assert rig.reconciler.occupied_in(provider) == 2


def test_machines_of_a_provider_the_view_does_not_cover_leave_in_every_state() -> None:
    ownership = shard_of(view(1, eu_1a="shard-0")).reconciler.ownership
    rig = Rig("acme", "bolt", ownership=replace(ownership, covered=frozenset({"acme", "bolt"})))
    rig.lists(record("m", CONFIGURED), provider="acme")
    rig.lists(record("n", CONFIGURED), provider="bolt")
    assert rig.ids() == ["m", "n"]
    takes(rig, view(2, eu_1a=""))
    assert rig.ids() == ["m"]
    assert rig.reconciler.occupied_in(ZONE) == 1


def test_nothing_is_remembered_of_a_machine_that_is_another_shards() -> None:
    rig = shard_of(view(1, eu_1a="shard-0", eu_1b="shard-1"))
    rig.with_past.add("theirs")
    loop = rig.parts.decision_loop
    holder = NeedKey("shop", "a profile", "")
    loop.reserve(
        Reservation(name, ReservationKind.PREEMPTION, holder, None) for name in ("theirs", "m")
    )
    rig.lists(record("m", IDLE), record("theirs", IDLE, zone="eu-1b"))
    assert set(loop.reservations) == {"m"}
    takes(rig, view(2, eu_1a="shard-1"))
    assert set(loop.reservations) == set()


def test_the_story_says_why_it_left() -> None:
    rig = giving_up(IDLE)
    last = list(rig.effects.stories.of("m-idle"))[-1]
    assert last.text == "owned by another shard"
    assert last.to_state is MachineState.UNSPECIFIED


def test_a_big_domain_leaves_piece_by_piece() -> None:
    rig = shard_of(view(1, eu_1a="shard-0", eu_1b="shard-0"))
    records = [record(f"m-{i:05}", IDLE, zone="eu-1a") for i in range(5_000)]
    rig.lists(*records, record("stays", IDLE, zone="eu-1b"))
    now = rig.reconciler.ownership
    newer = now.newer(view(2, eu_1a="shard-1", eu_1b="shard-0"), ["acme"])
    rig.reconciler.on_ownership(newer, rig.now)
    left = [len(rig.ids())]
    while rig.reconciler.continue_sweep():
        left.append(len(rig.ids()))
    assert rig.ids() == ["stays"]
    assert max(a - b for a, b in pairwise(left)) <= 1_024
    assert not any(rig.reconciler.is_owned(each.id) for each in records)


def test_a_machine_is_judged_by_what_it_is_now() -> None:
    """It came to rest while others were leaving: it goes with them."""
    rig = shard_of(view(1, eu_1a="shard-0"))
    rig.lists(record("m", CONFIGURED))
    now = rig.reconciler.ownership
    rig.reconciler.on_ownership(now.newer(view(2, eu_1a=""), ["acme"]), rig.now)
    machine: Machine = rig.machine("m")
    rig.local(replace(machine, state=IDLE, cluster=""))
    takes_over(rig)
    rig.reconciler.tick(rig.now)
    assert rig.ids() == []
