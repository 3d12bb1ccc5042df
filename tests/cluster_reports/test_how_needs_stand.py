"""The standings of a cluster's Needs, under the keys with which it asked for them."""

from hypothesis import Phase, given, settings

from bigfleet.model.actions import UnmetReason
from bigfleet.model.cluster_reports import ClusterReportReply, NeedStanding
from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.options import EngineOptions
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.plan.cycle import cycle_input
from bigfleet.shard.ledgers.needs import NeedsLedger
from tests.generated.fleets import fleets
from tests.worlds.fleets import fleet_of
from tests.worlds.racks import pods_gang, r6i


def ledger_of(machines: list[FleetMachine], needs: list[Need]) -> NeedsLedger:
    fleet = fleet_of(machines, needs, options=EngineOptions())
    return NeedsLedger(cycle_input(fleet).decide(), 7, 99)


def standing_in(machines: list[FleetMachine], need: Need) -> NeedStanding:
    [standing] = ledger_of(machines, [need]).standings("c1").standings
    return standing


def plain(cpus: int, kind: str = "") -> Need:
    wanted = [Requirement.of("kind", Operator.IN, [kind])] if kind else []
    amount = Resources.parse({"cpu": str(cpus)})
    return Need("c1", Profile.of(wanted, priority=5), amount, Resources.parse({"cpu": "1"}))


@settings(phases=(Phase.explicit, Phase.reuse, Phase.generate), max_examples=100)
@given(fleets())
def test_every_need_stands_as_its_verdict_says(fleet: Fleet) -> None:
    decision = cycle_input(fleet).decide()
    demand = decision.outcome.scene.demand
    ledger = NeedsLedger(decision, 7, 99)
    expected: dict[NeedKey, tuple[bool, UnmetReason | None]] = {}
    found: dict[NeedKey, tuple[bool, UnmetReason | None]] = {}
    for verdict in decision.verdicts:
        for member in verdict.members:
            expected[demand.need(member).key] = verdict.satisfied, verdict.unmet_reason
    for cluster in {key.cluster for key in expected}:
        reply = ledger.standings(cluster)
        assert (reply.cycle, reply.computed_at, reply.total) == (7, 99, len(reply.standings))
        found |= {each.key(cluster): (each.satisfied, each.reason) for each in reply.standings}
    assert found == expected


def test_machines_that_serve_are_told_from_those_on_their_way() -> None:
    serving = r6i("m-1", MachineState.CONFIGURED, cluster="c1")
    coming = r6i("m-2", MachineState.CONFIGURING, cluster="c1")
    there = standing_in([serving], plain(16))
    assert (there.satisfied, there.arriving, there.sentence) == (True, 0, "served by 1 machine")
    for second in (coming, r6i("m-2", MachineState.IDLE)):
        both = standing_in([serving, second], plain(32))
        sentence = "served by 2 machines, 1 of them on the way"
        assert (both.satisfied, both.arriving, both.sentence) == (True, 1, sentence)


def test_a_standing_tells_what_was_wanted_and_what_counts_for_it() -> None:
    serving = r6i("m-1", MachineState.CONFIGURED, cluster="c1")
    both = standing_in([serving, r6i("m-2", MachineState.IDLE)], plain(20))
    assert both.wanted == Resources.parse({"cpu": "20"})
    assert both.claimed == Resources.parse({"cpu": "32", "memory": "256Gi"})
    assert (both.machines, both.arriving, both.folded_members) == (2, 1, 0)
    none = standing_in([r6i("m-1")], plain(4, "gpu"))
    assert (none.claimed, none.machines) == (Resources(), 0)


def test_what_is_missing_and_why_is_a_sentence() -> None:
    short = standing_in([r6i("m-1")], plain(4, "gpu"))
    assert (short.satisfied, short.reason) == (False, UnmetReason.NO_MATCHING_SUPPLY)
    assert short.sentence == "short of cpu 4 for 1 cycle: NO_MATCHING_SUPPLY"


def test_gangs_that_were_folded_stand_under_their_own_names() -> None:
    gangs = [pods_gang("c1", 4, f"g-{i}") for i in range(2)]
    ledger = ledger_of([r6i("large")], gangs)
    assert len(ledger.page().needs) == 1
    reply = ledger.standings("c1")
    assert reply.total == 2
    assert {each.key("c1") for each in reply.standings} == {gang.key for gang in gangs}
    large = Resources.parse({"cpu": "16", "memory": "128Gi"})
    for each, gang in zip(reply.standings, gangs, strict=True):
        assert (each.folded_members, each.machines, each.arriving) == (2, 1, 1)
        assert each.wanted == gang.aggregate
        assert each.claimed.times(2) == large


def test_needs_that_are_asked_for_come_first_and_are_never_cut() -> None:
    needs = [Need("c1", Profile.of(priority=n), Resources.parse({"cpu": "1"})) for n in range(5)]
    asked = [(Profile.of(priority=n).fingerprint, "") for n in (0, 3, 1)]
    ledger = ledger_of([r6i("m")], needs)
    for limit, priorities in ((2, [0, 3, 1]), (4, [0, 3, 1, 4]), (9, [0, 3, 1, 4, 2])):
        reply = ledger.standings("c1", limit, [*asked, asked[0], ("unknown", "")])
        found = [each.fingerprint for each in reply.standings]
        assert found == [Profile.of(priority=n).fingerprint for n in priorities]
        assert reply.total == 5


def test_no_more_are_told_than_asked_for_the_most_important_first() -> None:
    needs = [Need("c1", Profile.of(priority=n), Resources.parse({"cpu": "1"})) for n in range(5)]
    reply = ledger_of([r6i("m")], needs).standings("c1", 2)
    assert reply.total == 5
    top = [NeedKey("c1", Profile.of(priority=n).fingerprint, "") for n in (4, 3)]
    assert [each.key("c1") for each in reply.standings] == top


def test_without_a_computed_reply_and_for_an_unknown_cluster_nothing_is_told() -> None:
    assert NeedsLedger().standings("c1") == ClusterReportReply()
    ledger = ledger_of([r6i("m")], [plain(1)])
    assert ledger.standings("nobody") == ClusterReportReply((), 7, 99, 0)
