"""Bills of decided fleets, and the same numbers counted by hand, one machine after the other."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from bigfleet.costs.rates import CostSheet
from bigfleet.engine.decision import Decision
from bigfleet.fleetfile import load_fleet
from bigfleet.model.costs import CostRow
from bigfleet.model.fleet import Costs, Fleet
from bigfleet.model.machines import Machine, MachineState
from bigfleet.plan.cycle import engine_input_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleets" / "what-it-costs.yaml"


def example() -> Fleet:
    return load_fleet(EXAMPLE.read_bytes(), EXAMPLE.name)


def decided(fleet: Fleet) -> Decision:
    return engine_input_of(fleet).decide(workers=1)


def sheet_of(fleet: Fleet, costs: Costs | None = None) -> CostSheet:
    return CostSheet(decided(fleet).outcome, fleet.costs if costs is None else costs)


def rows_by_name(rows: Sequence[CostRow]) -> dict[str, CostRow]:
    return {row.name: row for row in rows}


def is_billed(machine: Machine) -> bool:
    return not machine.host.empty or machine.state is MachineState.CREATING


def cluster_of(machine: Machine) -> str:
    ordered = machine.assigned.cluster if machine.state is MachineState.CREATING else ""
    return machine.cluster or ordered


def dollars_by_cluster(fleet: Fleet) -> Mapping[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for machine in (entry.machine for entry in fleet.machines):
        if is_billed(machine):
            found[cluster_of(machine)] += machine.price_per_hour
    return found


def interruption_dollars(fleet: Fleet) -> float:
    return math.fsum(
        machine.interruption_probability * machine.assigned.interruption_penalty
        for machine in (entry.machine for entry in fleet.machines)
        if is_billed(machine)
        and machine.state is MachineState.CONFIGURED
        and math.isfinite(machine.assigned.interruption_penalty)
    )
