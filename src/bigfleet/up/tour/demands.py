"""What the beats of the tour ask for, in nodes of the small fleet; it grows with the fleet."""

from dataclasses import dataclass

from bigfleet.sim.demand import Asked
from bigfleet.sim.script import GANG_NODES, PODS_PER_NODE, shop_of
from bigfleet.sim.workloads import (
    BATCH,
    LARGE_JOB,
    ML,
    SHOP,
    SMALL_JOB,
    SMALL_WEB,
    Workload,
    checkout,
    gang,
    job,
    training,
)

GANG, SCAN = gang("tour-run"), job("tour-scan", LARGE_JOB, secure=True)
CHECKOUT, PREPARE = checkout("tour-checkout", secure=True), training("tour-prepare")
#: More than any rack has.
TOO_LARGE = gang("tour-giant")


@dataclass(frozen=True, slots=True)
class Demands:
    #: As a multiple of the small fleet.
    size: float
    #: Machines with a security module.
    secure: int

    def nodes(self, of_small: float) -> int:
        return max(1, round(of_small * self.size))

    def usual(self, *more: Asked, shop: float = 120, batch: float = 90) -> tuple[Asked, ...]:
        """About so many nodes for the two that are always there, and more."""
        return (*self.shop(shop), *self.batch(batch), *more)

    def shop(self, nodes: float) -> tuple[Asked, ...]:
        return tuple(Asked(SHOP, each, pods) for each, pods in shop_of(nodes * self.size))

    def batch(self, nodes: float) -> tuple[Asked, ...]:
        return (Asked(BATCH, job("etl"), self.nodes(nodes) * PODS_PER_NODE[SMALL_JOB]),)

    def batch_of(self, machines: int) -> tuple[Asked, ...]:
        """For so many machines of this fleet."""
        return (Asked(BATCH, job("etl"), machines * PODS_PER_NODE[SMALL_JOB]),)

    def gang(self, workload: Workload = GANG, members: int = GANG_NODES) -> Asked:
        return Asked(ML, workload, members)

    def prepare(self, machines: int) -> Asked:
        return Asked(ML, PREPARE, machines)

    def scan(self) -> Asked:
        """Batch work on every machine with a security module."""
        return Asked(BATCH, SCAN, self.secure)

    def checkout(self, nodes: float) -> Asked:
        """Critical work that can run on those machines only."""
        return Asked(SHOP, CHECKOUT, self.nodes(nodes) * PODS_PER_NODE[SMALL_WEB])
