"""What an overlay decides is what `plan` decides on the file edited by hand."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from bigfleet.journal.digests import output_digest
from bigfleet.model.fleet import Fleet
from bigfleet.model.machines import Assigned, CapacityType, Host, Machine, MachineState
from bigfleet.model.needs import Need
from bigfleet.model.penalties import PINNED
from bigfleet.model.profiles import Profile
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import MachineSelector
from bigfleet.model.what_if import (
    AddDemand,
    AddMachines,
    Edit,
    NeedSelector,
    NumberEdit,
    RemoveMachines,
    ReplaceDemand,
    ScaleDemand,
    SetAttributes,
    SetPenalty,
    SetPriority,
    StockOut,
)
from bigfleet.plan.cycle import decide_fleet, engine_input_of
from bigfleet.whatif.applying import apply
from bigfleet.whatif.comparing import once
from bigfleet.whatif.overlay_text import edit_of, text_of
from tests.generated.fleets import fleet_of_seed
from tests.generated.parts import ZONES
from tests.journal.lives import LivingFleet
from tests.whatif.edited_fleets import edited

SEEDS = st.integers(0, 2**40)


def edits_of_seed(chance: Random, fleet: Fleet) -> tuple[Edit, ...]:
    """A few edits of different kinds about this fleet; none contradicts another."""
    kinds = list(range(9))
    chance.shuffle(kinds)
    return tuple(_edit(chance, fleet, kind) for kind in sorted(kinds[: chance.randint(1, 4)]))


def _edit(chance: Random, fleet: Fleet, kind: int) -> Edit:
    clusters = sorted({row.need.cluster for row in fleet.needs})
    needs = NeedSelector(chance.choice(clusters)) if clusters and kind % 2 else NeedSelector()
    machines = [m.machine for m in fleet.machines]
    named = [m.instance_type for m in machines if m.instance_type] or ["metal"]
    types, zone = frozenset([chance.choice(named)]), chance.choice([z for z in ZONES if z])
    of_type = MachineSelector(instance_types=types)
    match kind:
        case 0:
            return SetAttributes(of_type, price=NumberEdit(chance.choice([0.0, 0.5, 2.0])))
        case 1:
            return SetAttributes(of_type, probability=NumberEdit(value=chance.random()))
        case 2:
            return StockOut(MachineSelector(capacity_types=frozenset([chance.randint(1, 4)])))
        case 3:
            return ScaleDemand(needs, chance.choice([0.0, 0.4, 1.4, 3.0]))
        case 4:
            return SetPenalty(needs, chance.choice([None, 1, PINNED]), chance.choice([1, 4]))
        case 5:
            return SetPriority(NeedSelector(), chance.choice([0, 100, 1000]))
        case 6:
            new = Need(
                chance.choice([*clusters, "newcomer"]),
                Profile.of(priority=chance.choice([10, 500])),
                Resources.of({"cpu": 16000}),
                Resources.of({"cpu": 1000}),
            )
            return AddDemand(new)
        case 7:
            state = chance.choice([MachineState.SPECULATIVE, MachineState.IDLE])
            host = Host() if state is MachineState.SPECULATIVE else Host("sim", "spare")
            template = Machine(
                "extra-0",
                state,
                CapacityType.ON_DEMAND,
                host,
                zone=zone,
                resources=Resources.of({"cpu": 8000, "memory": 32 * 2**30}),
                price_per_hour=chance.choice([0.01, 2.0]),
                assigned=Assigned(),
            )
            return AddMachines(template, chance.randint(1, 5), "extra-{0}")
        case _:
            return RemoveMachines(MachineSelector(zones=frozenset([zone])))


@settings(max_examples=150)
@given(seed=SEEDS)
def test_an_overlay_decides_as_plan_does_on_the_edited_file(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    overlay = edits_of_seed(Random(seed), fleet)
    given_input = engine_input_of(fleet)
    before = given_input.decide().actions
    decided = apply(given_input, overlay).decide()
    planned = decide_fleet(edited(fleet, overlay))
    assert decided.actions == planned.actions, overlay
    assert decided.memory == planned.memory, overlay
    # The input asked about is as it was.
    assert given_input.decide().actions == before


@settings(max_examples=60)
@given(seed=SEEDS)
def test_a_cluster_that_leaves_is_one_without_needs_in_the_file(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    for cluster in sorted({row.need.cluster for row in fleet.needs}):
        overlay = (ReplaceDemand(cluster),)
        decided = apply(engine_input_of(fleet), overlay).decide()
        assert decided.actions == decide_fleet(edited(fleet, overlay)).actions


@settings(max_examples=30)
@given(seed=SEEDS)
def test_without_edits_the_recorded_cycle_comes_out_again(seed: int) -> None:
    for cycle in LivingFleet(seed).cycles(3):
        again = apply(cycle.given, ()).decide()
        assert output_digest(again) == output_digest(cycle.decision)
        answer = once(cycle.given, (), "3:1")
        assert answer.base == answer.changed
        assert not answer.newly_unmet_count
        assert not answer.newly_met_count


@settings(max_examples=100)
@given(seed=SEEDS)
def test_an_edit_reads_back_from_its_canonical_text(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    for edit in edits_of_seed(Random(seed), fleet):
        operation, _, rest = text_of(edit).partition(" ")
        assert edit_of(operation, rest) == edit
        assert text_of(edit_of(operation, rest)) == text_of(edit)


@settings(max_examples=60)
@given(seed=SEEDS)
def test_what_is_told_is_what_the_decisions_say(seed: int) -> None:
    fleet = fleet_of_seed(seed)
    overlay = edits_of_seed(Random(seed), fleet)
    answer = once(engine_input_of(fleet), overlay, "1")
    for side, told in ((fleet, answer.base), (edited(fleet, overlay), answer.changed)):
        planned = decide_fleet(side)
        unmet = sum(len(v.members) for v in planned.verdicts if not v.satisfied)
        assert told.unsatisfied_needs == unmet
        assert sum(told.actions_by_kind.values()) == len(planned.actions)
        assert sum(told.machines_by_state.values()) == len(side.machines)
    for name, side_of in (("before", answer.base), ("after", answer.changed)):
        sides = [getattr(cluster, name) for cluster in answer.clusters]
        assert sum(each.unmet for each in sides) == side_of.unsatisfied_needs


@settings(max_examples=100)
@given(seed=SEEDS)
def test_added_demand_is_covered_where_the_edited_file_is_short_of_nothing_for_it(
    seed: int,
) -> None:
    """Also where the Need was short before, and where more important Needs are short."""
    fleet, chance = fleet_of_seed(seed), Random(seed)
    overlay = tuple(_edit(chance, fleet, 6) for _ in range(3))
    if fleet.needs:
        # More of what is asked for already.
        overlay = (*overlay, AddDemand(chance.choice(fleet.needs).need))
    answer = once(engine_input_of(fleet), overlay, "1")
    planned = decide_fleet(edited(fleet, overlay))
    added = {edit.need.key for edit in overlay if isinstance(edit, AddDemand)}
    assert [each.key for each in answer.added] == list(
        dict.fromkeys(edit.need.key for edit in overlay if isinstance(edit, AddDemand))
    )
    verdicts = {v.need.key: v for v in planned.verdicts if v.need.key in added and not v.folded}
    for told in answer.added:
        if (verdict := verdicts.get(told.key)) is None:
            continue
        short = not verdict.satisfied and bool(verdict.unresolved.positive().amounts)
        assert told.covered is not short, (told, verdict)
        assert bool(told.code and told.sentence) is short
