"""Machines of two providers in regions, and the quotas over them."""

from collections.abc import Mapping
from dataclasses import replace

from bigfleet.model.coordination import QuotaGrant
from bigfleet.model.fleet import HeldBy
from bigfleet.model.machines import CapacityType, Host, Machine, MachineState
from bigfleet.model.options import SECOND
from bigfleet.model.requirements import REGION_KEY
from bigfleet.model.resources import Resources
from bigfleet.shard.effects import COORDINATION
from tests.shard_parts import parts_of

S = MachineState
START = 1_700_000_000 * SECOND
ACME, BOLT = "acme", "bolt"


def slot(
    name: str,
    price: float = 1.0,
    region: str | None = "eu",
    state: MachineState = S.SPECULATIVE,
    cores: int = 8,
) -> Machine:
    labels = {} if region is None else {REGION_KEY: region}
    hosted = state in (S.IDLE, S.CONFIGURING, S.CONFIGURED)
    return Machine(
        name,
        state,
        CapacityType.ON_DEMAND,
        Host("cloud", name) if hosted else Host(),
        "shop" if state in (S.CONFIGURING, S.CONFIGURED) else "",
        labels=labels,
        resources=Resources.of({"cpu": cores * 1000}),
        price_per_hour=price,
    )


class GrantRig:
    def __init__(self, disk: Mapping[str, bytes] | None = None) -> None:
        self.at = START
        providers = {ACME: "acme:9000", BOLT: "bolt:9000"}
        stored = {COORDINATION: disk or {}}
        self.parts = parts = parts_of(providers=providers, at=START, stored=stored)
        self.effects, self.machines, self.quotas = parts.effects, parts.machines, parts.quotas

    def has(self, *machines: Machine, provider: str = ACME) -> None:
        for machine in machines:
            self.machines.insert(machine, provider, self.at, "listed")

    def grants(self, *grants: QuotaGrant, **regions: str) -> None:
        """`regions`: of the providers, as the registry has them."""
        self.wait()
        self.quotas.take(grants, regions, self.at)

    def granted(self, allocated: int, region: str = "eu", provider: str = ACME) -> None:
        self.grants(QuotaGrant(provider, region, allocated))

    def wait(self, seconds: float = 1.0) -> None:
        self.at += int(seconds * SECOND)

    def looks(self) -> None:
        self.wait()
        self.quotas.refresh(self.at)

    def becomes(self, name: str, state: MachineState) -> None:
        machine = self.machines.truth(name)
        bound = state in (S.CONFIGURING, S.CONFIGURED, S.DRAINING)
        after = replace(
            machine,
            state=state,
            host=Host("cloud", name) if state is not S.SPECULATIVE else Host(),
            cluster="shop" if bound else "",
        )
        if state is S.CREATING:
            after = replace(after, host=Host())
        self.machines.step(after, self.at, "acted", adopted=True)

    def held(self) -> dict[str, HeldBy]:
        marks = {name: self.machines.inventory.marks_of(name) for name in self.machines.ids()}
        return {name: each.held.by for name, each in sorted(marks.items()) if each.held}

    def withheld(self) -> list[str]:
        return [name for name, by in self.held().items() if by is HeldBy.QUOTA]

    def bought(self, name: str) -> bool:
        """Whether a slot may be bought; it is then."""
        if self.quotas.why_not_bought(self.machines.truth(name)) is not None:
            return False
        self.becomes(name, S.CREATING)
        return True
