"""The cap on Preempts in a whole shard: a mistaken priority takes a cluster's machines slowly."""

from dataclasses import replace

from bigfleet.model.machines import Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import ZONE_KEY, Operator, Requirement
from bigfleet.shard.settings import RailSettings, ShardSettings
from tests.shard_cases.rig import SHOP, Rig, cores, machine

SETTINGS = ShardSettings(rails=RailSettings(preempt_cap_per_minute=2))
HIGH = Profile.of(priority=9)
GANG = Profile.of([Requirement.of(ZONE_KEY, Operator.SAME)], priority=9)


def of_bank(number: int) -> Machine:
    return replace(machine(f"b-{number}", MachineState.CONFIGURED, "bank"), zone="a")


def rig() -> Rig:
    """Six machines of cluster bank, of which half may go within a minute."""
    return Rig(SETTINGS, [of_bank(number) for number in range(6)])


def drained(shard: Rig) -> list[str]:
    return sorted(intent.machine for intent in shard.state.parts.drains.intents())


def test_half_of_the_victims_go_in_the_first_minute_and_the_rest_is_told_why() -> None:
    shard = rig()
    shard.report_needs(Need(SHOP, HIGH, cores(48)))
    shard.cycle()
    shard.cycle()
    assert len(drained(shard)) == 3
    assert len(shard.state.decision_loop.memory.reservations) == 3
    held = {a["machine"]: a["outcome"] for a in shard.audit() if a["outcome"] == "capped"}
    assert len(held) == 3
    assert shard.counts.of("preempts_capped_total") == 6


def test_more_follow_after_a_minute() -> None:
    shard = rig()
    shard.report_needs(Need(SHOP, HIGH, cores(48)))
    for _ in range(61):
        shard.cycle()
    assert len(drained(shard)) == 5


def test_a_gang_that_takes_a_whole_domain_takes_it_at_once() -> None:
    shard = rig()
    shard.report_needs(Need(SHOP, GANG, cores(48)))
    shard.cycle()
    assert len(drained(shard)) == 6
