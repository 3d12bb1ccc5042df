"""A whole shard that sees its machine come back keeps it there for a while."""

from random import Random

import pytest

from bigfleet.model.actions import Action, ActionKind, Rule
from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.settings import Seconds
from bigfleet.model.shard_views import Disposition, StorySource
from bigfleet.model.thrash import ThrashKind
from bigfleet.shard.settings import RailSettings, ShardSettings, ThrashSettings
from tests.shard_cases.rig import CLOUD, SHOP, Rig, cores, machine

#: The caps are off: only the hold is looked at.
RAILS = RailSettings(reclaim_cap_fraction=0.0, empty_rollup_guard=False)
WEB = Profile.of(priority=5)


def settings_of(hold: float = 600.0) -> ShardSettings:
    return ShardSettings(rails=RAILS, thrash=ThrashSettings(hold=Seconds(hold)))


def shard_of(*machines: Machine, hold: float = 600.0) -> Rig:
    return Rig(settings_of(hold), machines)


def wants(rig: Rig, machines: int) -> None:
    rig.report_needs(*([Need(SHOP, WEB, cores(8 * machines))] if machines else []))
    rig.cycle()


def drained(rig: Rig, name: str) -> None:
    """Its provider shows it Idle, which ends the drain."""
    parts = rig.state.parts
    idle = machine(name, MachineState.IDLE)
    parts.machines.step(idle, rig.at, "listed so", adopted=True)
    rig.obey(rig.state.taken())


def came_back(hold: float = 600.0) -> Rig:
    """Bound to shop, given back, and bound to it again."""
    rig = shard_of(machine("m-1", MachineState.IDLE), hold=hold)
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
