"""Stock: the machines of the fleet in the orders the rules walk them."""

from bigfleet.model.fleet import Fleet, FleetMachine
from bigfleet.model.machines import MachineState
from bigfleet.model.needs import NeedKey
from bigfleet.model.penalties import upper_bound_dollars
from bigfleet.model.profiles import Profile


class Stock:
    def __init__(self, fleet: Fleet) -> None:
        self.machines = sorted(fleet.machines, key=lambda m: m.machine.id)
        self.by_id = {m.machine.id: m for m in self.machines}

    def in_state(self, state: MachineState) -> list[FleetMachine]:
        """By id."""
        return [m for m in self.machines if m.machine.state is state]

    def bound(self, cluster: str, state: MachineState) -> list[FleetMachine]:
        """In keep-priority order: cheap first, then dear to reclaim, then busy, then id (U23)."""
        mine = [m for m in self.in_state(state) if m.machine.cluster == cluster]
        return sorted(
            mine,
            key=lambda m: (
                m.machine.price_per_hour,
                -m.machine.assigned.reclamation_penalty,
                m.marks.empty,
                m.machine.id,
            ),
        )

    def creating_for(self, key: NeedKey) -> list[FleetMachine]:
        """Ordered for this identity (U15); a stamp without cluster fits any cluster."""
        found = []
        for each in self.in_state(MachineState.CREATING):
            stamp = each.machine.assigned
            if (stamp.need_fingerprint, stamp.group) != (key.fingerprint, key.group):
                continue
            if stamp.cluster in ("", key.cluster):
                found.append(each)
        return found

    def creditable(self, key: NeedKey) -> list[FleetMachine]:
        """What may already serve the Need, in the order it is credited; overdue ones are not."""
        everything = (
            self.bound(key.cluster, MachineState.CONFIGURED)
            + self.bound(key.cluster, MachineState.CONFIGURING)
            + self.creating_for(key)
        )
        return [m for m in everything if not m.marks.overdue]

    def idle_pool(self) -> list[FleetMachine]:
        free = [m for m in self.in_state(MachineState.IDLE) if m.marks.held is None]
        return sorted(free, key=idle_order)

    def speculative_pool(self, profile: Profile) -> list[FleetMachine]:
        free = [m for m in self.in_state(MachineState.SPECULATIVE) if m.marks.held is None]
        return sorted(free, key=lambda m: speculative_order(m, profile))


def idle_order(each: FleetMachine) -> tuple[float, str]:
    return (each.machine.price_per_hour, each.machine.id)


def speculative_order(each: FleetMachine, profile: Profile) -> tuple[float, str]:
    return (effective_cost(each, profile), each.machine.id)


def effective_cost(each: FleetMachine, profile: Profile) -> float:
    """Price plus expected penalty; zero times infinity is zero (U4)."""
    machine = each.machine
    if machine.interruption_probability == 0:
        return machine.price_per_hour
    bound = upper_bound_dollars(profile.interruption_bucket)
    return machine.price_per_hour + machine.interruption_probability * bound
