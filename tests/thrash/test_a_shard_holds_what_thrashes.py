"""A whole shard that sees its machine come back keeps it there for a while."""

from random import Random

import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.coordinator_calls import (
    CoordinatorInstruction,
    InstructionKind,
    NotYet,
    Obeyed,
)
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.ownership import PROVIDER_KEY, Ownership, OwnershipView
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import ZONE_KEY
from bigfleet.model.settings import Seconds
from bigfleet.model.shard_views import Disposition, StorySource
from bigfleet.model.thrash import ThrashKind
from bigfleet.shard.settings import RailSettings, ShardSettings, ThrashSettings
from tests.shard_cases.rig import CLOUD, SHOP, Rig, cores, machine

#: The caps are off: only the hold is looked at.
RAILS = RailSettings(reclaim_cap_fraction=0.0, empty_rollup_guard=False)
WEB = Profile.of(priority=5)
#: Of the provider, as the coordinator knows it; and a domain in which no machine of it lies.
ADDRESS = "cloud:9000"
ELSEWHERE = (ZONE_KEY, "elsewhere")


def settings_of(hold: float = 600.0) -> ShardSettings:
    return ShardSettings(rails=RAILS, thrash=ThrashSettings(hold=Seconds(hold)))


def shard_of(*machines: Machine, hold: float = 600.0) -> Rig:
    return Rig(settings_of(hold), machines)


def own_by_view(rig: Rig) -> None:
    """From here on the shard owns what a coordinator gave it: all of the provider, and a zone."""
    shard = rig.state.parts.settings.now.id
    view = OwnershipView.of(1, domains={ELSEWHERE: shard}, default_owners={ADDRESS: shard})
    owned = Ownership(shard, everything=False).newer(view, [ADDRESS])
    rig.state.parts.reconciler.on_ownership(owned, rig.at)


def wants(rig: Rig, machines: int) -> None:
    rig.report_needs(*([Need(SHOP, WEB, cores(8 * machines))] if machines else []))
    rig.cycle()


def drained(rig: Rig, name: str) -> None:
    """Its provider shows it Idle, which ends the drain."""
    parts = rig.state.parts
    idle = machine(name, MachineState.IDLE)
    parts.machines.step(idle, rig.at, "listed so", adopted=True)
    rig.obey(rig.state.taken())


def came_back(hold: float = 600.0, *, owned: bool = False) -> Rig:
    """Bound to shop, given back, and bound to it again. `owned`: by a view of a coordinator."""
    rig = shard_of(hold=hold)
    if owned:
        own_by_view(rig)
    rig.insert(machine("m-1", MachineState.IDLE))
    wants(rig, 1)
    assert rig.states() == {"m-1": MachineState.CONFIGURED}
    wants(rig, 0)
    drained(rig, "m-1")
    wants(rig, 1)
    assert rig.states() == {"m-1": MachineState.CONFIGURED}
    return rig


def test_a_machine_that_comes_back_is_told_and_counted() -> None:
    rig = came_back()
    (finding,) = rig.state.parts.thrash.findings()
    assert (finding.kind, finding.cluster, finding.subject) == (
        ThrashKind.RETURN,
        SHOP,
        "machine/m-1",
    )
    assert [each.kind for each in finding.witness] == [ActionKind.RECLAIM, ActionKind.BOOTSTRAP]
    assert rig.counts.of("thrash_findings_total", kind="return") == 1
    assert [line.facts["subject"] for line in rig.logs("thrash")] == ["machine/m-1"]


def test_its_next_reclaim_is_held_and_says_why() -> None:
    rig = came_back()
    wants(rig, 0)
    (held,) = [each for each in rig.audit() if each["outcome"] == "held"]
    assert held["machine"] == "m-1"
    assert rig.states() == {"m-1": MachineState.CONFIGURED}
    assert rig.state.parts.drains.intent("m-1") is None
    count = rig.counts.of("action_dispositions_total", kind="Reclaim", disposition="held")
    assert count == 1
    story = [event.text for event in rig.state.effects.stories.of("m-1")]
    assert any("held" in text and "reports thrash --witness 1" in text for text in story)


def test_after_the_hold_nothing_is_held() -> None:
    rig = came_back()
    (finding,) = rig.state.parts.thrash.findings()
    assert finding.held_until is not None
    reclaim = Action(ActionKind.RECLAIM, "m-1", SHOP, Rule.EXCESS)
    checks = rig.state.parts.action_checks
    assert checks.why_held(reclaim, finding.held_until - 1) is not None
    assert checks.why_held(reclaim, finding.held_until) is None


def test_a_hold_of_zero_tells_and_holds_nothing() -> None:
    rig = came_back(hold=0.0)
    assert len(rig.state.parts.thrash.findings()) == 1
    wants(rig, 0)
    assert rig.state.parts.drains.intent("m-1") is not None


def test_preempts_bootstraps_and_provisions_are_never_held() -> None:
    rig = came_back()
    thrash = rig.state.parts.thrash
    for kind in (ActionKind.PREEMPT, ActionKind.BOOTSTRAP, ActionKind.PROVISION):
        assert thrash.why_held(Action(kind, "m-1", SHOP, Rule.IDLE), rig.at) is None
    reclaim = Action(ActionKind.RECLAIM, "m-1", SHOP, Rule.EXCESS)
    assert thrash.why_held(reclaim, rig.at) is not None


def give_up(rig: Rig) -> Obeyed:
    order = CoordinatorInstruction(
        "dom-1/give-up",
        InstructionKind.UNASSIGN_DOMAIN,
        topology_key=PROVIDER_KEY,
        topology_value=ADDRESS,
    )
    return rig.state.parts.owned_machines.unassign(order, rig.at)


def test_a_domain_that_is_to_be_given_up_does_not_wait_for_the_hold() -> None:
    """S79: a person or the coordinator asked for it, and what leaves cannot come back here."""
    rig = came_back(owned=True)
    wants(rig, 0)
    assert rig.state.parts.drains.intent("m-1") is None, "held, while the domain stays"
    waiting = give_up(rig)
    assert isinstance(waiting, NotYet)
    rig.cycle()
    assert rig.state.parts.drains.intent("m-1") is not None
    assert held_of(rig, ActionKind.RECLAIM) == 1


def test_a_machine_of_a_domain_that_stays_is_held_while_another_is_given_up() -> None:
    rig = came_back(owned=True)
    parts = rig.state.parts
    parts.reconciler.on_ownership(parts.reconciler.ownership.giving_up(ELSEWHERE), rig.at)
    assert ELSEWHERE in parts.reconciler.ownership.lingering
    assert not parts.reconciler.is_being_given_up("m-1")
    assert not parts.reconciler.is_being_given_up("unheard-of")
    wants(rig, 0)
    assert parts.drains.intent("m-1") is None
    assert held_of(rig, ActionKind.RECLAIM) == 1


def test_the_delete_of_a_machine_that_served_the_held_profile_last_is_held() -> None:
    rig = came_back()
    rig.state.parts.machines.insert(machine("m-2", MachineState.IDLE), CLOUD, rig.at, "listed")
    thrash = rig.state.parts.thrash
    drained(rig, "m-1")
    rig.state.begin_cycle(rig.at)
    for name, is_held in (("m-1", True), ("m-2", False)):
        delete = Action(ActionKind.DELETE, name, "", Rule.RELEASE)
        assert (thrash.why_held(delete, rig.at) is not None) is is_held


def test_a_machine_that_left_the_inventory_is_forgotten() -> None:
    rig = came_back()
    parts = rig.state.parts
    parts.machines.remove("m-1", rig.at, "gone", StorySource.PROVIDER)
    rig.cycle()
    sizes = parts.thrash.sizes()
    assert (sizes["thrashMoves"], sizes["thrashLeaving"], sizes["thrashChanged"]) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_thrashes_only_reclaims_and_deletes_are_ever_held(seed: int) -> None:
    """Demand of three priorities jumps about; a drain ends within a cycle or two."""
    chance = Random(seed)
    rig = shard_of(*(machine(f"m-{number}", MachineState.IDLE) for number in range(6)))
    for _ in range(60):
        needs = [
            Need(SHOP, Profile.of(priority=priority), cores(8 * number))
            for priority in (5, 500, 500_000)
            if (number := chance.randrange(4))
        ]
        rig.report_needs(*needs)
        rig.cycle()
        for name in rig.state.parts.machines.ids():
            leaves = rig.state.parts.drains.intent(name) is not None
            if leaves and chance.random() < 0.7:
                drained(rig, name)
    held = {kind for kind in ActionKind if held_of(rig, kind)}
    assert rig.state.parts.thrash.findings(), f"seed {seed}: nothing thrashed"
    assert ActionKind.RECLAIM in held
    assert held <= {ActionKind.RECLAIM, ActionKind.DELETE}


def held_of(rig: Rig, kind: ActionKind) -> float:
    return rig.counts.of("action_dispositions_total", kind=kind.label, disposition="held")


def test_held_is_a_disposition_of_its_own() -> None:
    assert Disposition.HELD.value == 10
