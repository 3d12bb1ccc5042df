"""Workloads: sets of equal pods, and the ones that the clusters of `bigfleet up` run.

A shard counts amounts, a scheduler places pods. Shapes are those of real clusters: they do not
divide a node, some are mostly memory, some hardly ask for anything, and every node loses a part of
its capacity to the kubelet and to DaemonSets. So what covers the sum does not always hold the pods.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.penalties import bucket_of_dollars
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import (
    HOSTNAME_KEY,
    INSTANCE_TYPE_KEY,
    RACK_KEY,
    Operator,
    Requirement,
)
from bigfleet.model.resources import Resources
from bigfleet.placement.records import PodGroupTerm, PodView

SHOP, ML, BATCH = "shop", "ml", "batch"
CLUSTERS = (SHOP, ML, BATCH)
#: Machines with a hardware security module, which only checkout may need and web must leave alone.
SECURE_KEY = "hardware.bigfleet/security-module"

#: Classes of work: cluster and priority -> name.
CLASSES = {
    (SHOP, 1_000_000): "critical",
    (SHOP, 100_000): "web",
    (ML, 1_000): "training",
    (BATCH, 100): "batch",
}

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
    #: No two of its pods run on one node.
    exclusive: bool = False

    @property
    def is_gang(self) -> bool:
        return self.profile.same is not None

    def need_key(self, cluster: str) -> NeedKey:
        return NeedKey(cluster, self.profile.fingerprint, self.group)

    def need(self, cluster: str, pods: int) -> Need:
        """This many of its pods as one row of a roll-up, to be merged with equal ones."""
        return Need(cluster, self.profile, self.request.times(pods), self.request, group=self.group)

    def pods(self, numbers: Iterable[int]) -> Iterator[PodView]:
        """New pods, which the scheduler has not looked at. They share what is equal."""
        same = self.profile.same
        groups = frozenset({self.name}) if same or self.exclusive else frozenset[str]()
        apart = (PodGroupTerm(HOSTNAME_KEY, self.name),) if self.exclusive else ()
        near = (PodGroupTerm(same.key, self.name),) if same else ()
        for number in numbers:
            name = f"{self.name}-{number}"
            yield PodView(
                uid=name,
                key=f"default/{name}",
                requests=self.request,
                owner=self.name,
                priority=self.profile.priority,
                requirements=self.profile.requirements,
                groups=groups,
                apart=apart,
                near=near,
            )


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """One pod on every node; it comes and goes with the node."""

    name: str
    request: Resources

    def pod(self, node: str) -> PodView:
        name = f"{self.name}-{node}"
        return PodView(
            uid=name,
            key=f"kube-system/{name}",
            requests=self.request,
            owner=self.name,
            node=node,
            follows_node=True,
        )


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


#: Of every simulated cluster: together 150m and 300Mi of each node.
DAEMON_SETS = (
    DaemonSet("node-agent", _pod("100m", "200Mi")),
    DaemonSet("log-shipper", _pod("50m", "100Mi")),
)

#: What a node of 7500m and 28Gi holds is beside it; the rest of the node is left to smaller pods.
SMALL_WEB = _pod("1400m", "5Gi")  # five
LARGE_WEB = _pod("5", "8Gi")  # one
CACHE = _pod("500m", "12Gi")  # two
TINY = _pod("10m", "20Mi")  # as many as the kubelet allows
SMALL_JOB = _pod("2300m", "8Gi")  # three
LARGE_JOB = _pod("5", "10Gi")  # one
HUNGRY_JOB = _pod("1", "9Gi")  # three
#: One a node; sixteen ask for more than fifteen nodes have.
MEMBER = _pod("7", "27Gi")


def web(name: str, request: Resources = SMALL_WEB) -> Workload:
    """A deployment of the shop; those of one profile become one Need."""
    profile = _profile(
        100_000, 4.0, 1.0, _ANY_NODE, Requirement.of(SECURE_KEY, Operator.DOES_NOT_EXIST)
    )
    return Workload(name, profile, request, max_unavailable=0.1)


def checkout(name: str, *, secure: bool) -> Workload:
    """Of class critical; `secure`: only on machines with a security module."""
    hardware = [Requirement.of(SECURE_KEY, Operator.EXISTS)] if secure else []
    profile = _profile(1_000_000, 16.0, 4.0, _ANY_NODE, *hardware)
    return Workload(name, profile, SMALL_WEB, max_unavailable=0.1)


def gang(name: str) -> Workload:
    """Members of one training run: one pod a node, all of them in one rack."""
    profile = _profile(1_000, 64.0, 16.0, _ANY_NODE, Requirement.of(RACK_KEY, Operator.SAME))
    group = f"{RACK_KEY}\0job={name},;"
    return Workload(name, profile, MEMBER, group)


def training(name: str) -> Workload:
    """Of the class of gangs, with members that need not be near each other: one a node."""
    return Workload(name, _profile(1_000, 64.0, 16.0), MEMBER)


def job(name: str, request: Resources = SMALL_JOB, *, secure: bool = False) -> Workload:
    """A batch job, and losing a machine costs nothing; `secure`: as for checkout."""
    hardware = [_ANY_NODE, Requirement.of(SECURE_KEY, Operator.EXISTS)] if secure else []
    return Workload(name, _profile(100, 0.0, 0.0, *hardware), request)
