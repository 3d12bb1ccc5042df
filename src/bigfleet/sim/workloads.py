"""Workloads: sets of equal pods, and the ones that the clusters of `bigfleet up` run.

A shard counts amounts, not pods. So shapes divide the node of 7500m and 28Gi (five web pods, three
of a job, one member of a gang), and no cluster mixes shapes on one kind of node: what the shard has
covered can be placed, and a pod that waits is waiting for a machine.
"""

from dataclasses import dataclass

from bigfleet.model.needs import Need
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, RACK_KEY, Operator, Requirement
from bigfleet.model.resources import Resources

SHOP, ML, BATCH = "shop", "ml", "batch"
CLUSTERS = (SHOP, ML, BATCH)
#: Machines with a hardware security module, which only checkout may need and web must leave alone.
SECURE_KEY = "hardware.bigfleet/security-module"

_ANY_NODE = Requirement.of(INSTANCE_TYPE_KEY, Operator.EXISTS)


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    profile: Profile
    #: Of one pod.
    request: Resources
    #: Opaque gang id; its pods start together or not at all.
    group: str = ""
    #: The disruption budget: the share of its pods that an eviction may leave without a place.
    max_unavailable: float = 1.0

    @property
    def is_gang(self) -> bool:
        return self.profile.same is not None

    def need(self, cluster: str, pods: int) -> Need:
        """All of its live pods as one row of a roll-up, to be merged with equal ones."""
        return Need(cluster, self.profile, self.request.times(pods), self.request, group=self.group)


def _profile(
    priority: int, interruption: float, reclamation: float, *requirements: Requirement
) -> Profile:
    return Profile.of(
        requirements or [_ANY_NODE],
        priority=priority,
        interruption_bucket=bucket_of_dollars(interruption),
        reclamation_bucket=bucket_of_dollars(reclamation),
    )


def _pod(cpu: str, memory: str) -> Resources:
    return Resources.parse({"cpu": cpu, "memory": memory})


def web(name: str) -> Workload:
    """A deployment of the shop; those of one profile become one Need."""
    profile = _profile(
        100_000, 4.0, 1.0, _ANY_NODE, Requirement.of(SECURE_KEY, Operator.DOES_NOT_EXIST)
    )
    return Workload(name, profile, _pod("1500m", "5Gi"), max_unavailable=0.1)


def checkout(name: str, *, secure: bool) -> Workload:
    """Of class critical; `secure`: only on machines with a security module."""
    hardware = [Requirement.of(SECURE_KEY, Operator.EXISTS)] if secure else []
    profile = _profile(1_000_000, 16.0, 4.0, _ANY_NODE, *hardware)
    return Workload(name, profile, _pod("1500m", "5Gi"), max_unavailable=0.1)


def gang(name: str) -> Workload:
    """Members of one training run: one pod a node, all of them in one rack."""
    profile = _profile(1_000, 64.0, 16.0, _ANY_NODE, Requirement.of(RACK_KEY, Operator.SAME))
    group = f"{RACK_KEY}\0job={name},;"
    return Workload(name, profile, _pod("7500m", "28Gi"), group)


def job(name: str) -> Workload:
    """A batch job: any machine will do, and losing one costs nothing."""
    return Workload(name, _profile(100, 0.0, 0.0), _pod("2500m", "9Gi"))
