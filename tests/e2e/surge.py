"""A surge of pods in one cluster, measured from the Deployment to the last pod that is bound.

    python -m tests.e2e.surge --pods 1000

Everything is real but the machines and their kubelets. Counts may be asserted; times are printed.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bigfleet.edge.clock import SECOND
from bigfleet.edge.driver import RealClock
from bigfleet.model.machines import Instant
from tests.e2e.joined import JoinedCluster, join
from tests.e2e.rig.cluster import Cluster, visited
from tests.e2e.rig.control_plane import control_planes
from tests.e2e.rig.fleet import Fleet, offered, provided
from tests.e2e.rig.node_actor import NodeActor, acting
from tests.e2e.rig.nodes import Naming, named_by_host
from tests.e2e.rig.processes import Supervised
from tests.e2e.rig.workloads import deployment, pod_spec
from tests.e2e.sightings import Sightings

#: Of one CPU each on machines of eight.
PODS_A_MACHINE = 8
WRITES = ("POST", "PUT", "PATCH", "DELETE")
OPERATOR_CALLS = "bigfleet_operator_api_requests_total"
PODWATCH_CALLS = "bigfleet_podwatch_api_requests_total"
_PATIENCE = 300.0


@dataclass(frozen=True)
class Spent:
    megabytes: float
    cpu_seconds: float


@dataclass(frozen=True)
class Surge:
    pods: int
    machines: int
    #: Name of a stage -> seconds since the Deployment was applied, one for each pod, sorted.
    stages: Mapping[str, list[float]]
    #: Writes to the API server by verb, leases included.
    operator_writes: Mapping[str, int]
    podwatch_writes: Mapping[str, int]
    spent: Mapping[str, Spent]

    @property
    def writes_a_pod(self) -> float:
        both = (*self.operator_writes.values(), *self.podwatch_writes.values())
        return sum(both) / self.pods


async def surge(here: JoinedCluster, pods: int) -> Surge:
    """The cluster has no pods yet, the fleet machines enough."""
    cluster, clock = here.cluster, RealClock()
    await here.operator.event("session.opened")
    await here.podwatch.event("podwatch.leads")
    seen = Sightings(clock)
    following = asyncio.create_task(seen.follow(cluster.api, cluster.namespace))
    processes = _processes(here)
    before = {name: each.cpu_seconds() for name, each in processes.items()}

    async def is_followed() -> bool:
        if following.done():
            following.result()
        return seen.follows

    try:
        await cluster.until(is_followed)
        began = clock.now()
        await cluster.apply(deployment("web", pods, pod_spec(cpu="1")))

        async def is_done() -> bool:
            if following.done():
                following.result()
            return len(seen.ready) == len(seen.acknowledged) == pods

        def standing() -> object:
            counted = (seen.pods, seen.requests, seen.acknowledged, seen.nodes, seen.bound)
            return [len(each) for each in counted], here.actor.troubles

        await cluster.until(is_done, standing, _PATIENCE)
        spent = {
            name: Spent(each.resident_megabytes(), each.cpu_seconds() - before[name])
            for name, each in processes.items()
        }
    finally:
        following.cancel()
        await asyncio.wait({following})
    return Surge(
        pods,
        len(await here.fleet.bound_to(cluster.name)),
        _stages(seen, _configured_at(here), began),
        await _writes(here.operator, OPERATOR_CALLS),
        await _writes(here.podwatch, PODWATCH_CALLS),
        spent,
    )


def _processes(here: JoinedCluster) -> dict[str, Supervised]:
    assert here.fleet.shard is not None
    return {"operator": here.operator, "podwatch": here.podwatch, "shard": here.fleet.shard}


def _configured_at(here: JoinedCluster) -> dict[str, Instant]:
    """By name of the Node, as the provider logged it."""
    assert here.fleet.provider is not None
    done = {
        line["machine"]: _instant(line["time"])
        for line in here.fleet.provider.logged("operation.succeeded")
        if line["kind"] == "configure"
    }
    return {name: done[machine.id] for name, machine in here.actor.machines.items()}


def _stages(
    seen: Sightings, configured: Mapping[str, Instant], began: Instant
) -> dict[str, list[float]]:
    def since(instants: Iterable[Instant]) -> list[float]:
        return sorted((at - began) / SECOND for at in instants)

    nodes = [seen.node_of_pod[uid] for uid in seen.bound]
    return {
        "pod created": since(seen.pods.values()),
        "CapacityRequest created": since(seen.requests.values()),
        "its machine Configured": since(configured[node] for node in nodes),
        "its Node created": since(seen.nodes[node] for node in nodes),
        "pod bound": since(seen.bound.values()),
        "pod Ready": since(seen.ready.values()),
        "CapacityRequest Acknowledged": since(seen.acknowledged.values()),
    }


async def _writes(process: Supervised, metric: str) -> dict[str, int]:
    _, text = await process.page("/metrics")
    rows = [line.rpartition(" ") for line in text.splitlines() if line.startswith(f"{metric}{{")]
    return {
        verb: round(sum(float(value) for label, _, value in rows if f'verb="{verb}"' in label))
        for verb in WRITES
    }


def _instant(text: str) -> Instant:
    """Of a log line: nanoseconds, more digits than datetime takes."""
    whole, _, digits = text.rstrip("Z").partition(".")
    seconds = datetime.fromisoformat(f"{whole}+00:00").timestamp()
    return round(seconds) * SECOND + int(digits.ljust(9, "0")[:9] or 0)


def table(found: Surge) -> str:
    def at(times: list[float], share: float) -> float:
        return times[min(len(times) - 1, int(share * len(times)))]

    lines = [
        f"{found.pods} pods bound on {found.machines} machines",
        "",
        "| seconds since the Deployment was applied | p50 | p99 | all |",
        "|---|---:|---:|---:|",
    ]
    for name, times in found.stages.items():
        lines.append(f"| {name} | {at(times, 0.5):.1f} | {at(times, 0.99):.1f} | {times[-1]:.1f} |")
    lines += ["", "| writes to the API server | " + " | ".join(WRITES) + " | a bound pod |"]
    lines.append("|---|" + "---:|" * (len(WRITES) + 1))
    both = {"operator": found.operator_writes, "pod controller": found.podwatch_writes}
    for name, writes in both.items():
        numbers = " | ".join(str(writes[verb]) for verb in WRITES)
        lines.append(f"| {name} | {numbers} | {sum(writes.values()) / found.pods:.2f} |")
    lines += ["", "| process | resident MB | CPU s |", "|---|---:|---:|"]
    for name, spent in found.spent.items():
        lines.append(f"| {name} | {spent.megabytes:.0f} | {spent.cpu_seconds:.1f} |")
    return "\n".join(lines)


def machines_for(pods: int) -> int:
    return -(-pods // PODS_A_MACHINE)


def offers_for(pods: int, spare: int = 0) -> list[dict[str, Any]]:
    """Machines that so many pods fill to the last CPU: what is covered can then be placed."""
    offer = offered("bare_metal", machines_for(pods) + spare)
    return [{**offer, "allocatable": {"cpu": str(PODS_A_MACHINE), "memory": "32Gi"}}]


async def _measured(folder: Path, pods: int, qps: float, burst: int) -> Surge:
    async with AsyncExitStack() as stack:
        (plane,) = stack.enter_context(control_planes(folder, "east"))
        cluster = await stack.enter_async_context(visited(plane))
        fleet = await stack.enter_async_context(provided(folder / "fleet", offers_for(pods)))
        await fleet.start_shard()

        async def act(
            cluster: Cluster,
            of: Fleet,
            *,
            naming: Naming = named_by_host,
            tells_machine_id: bool = False,
        ) -> NodeActor:
            actor = acting(
                cluster.api,
                cluster.name,
                of.provider_address,
                naming=naming,
                tells_machine_id=tells_machine_id,
            )
            return await stack.enter_async_context(actor)

        paced = {"qps": f"{qps:g}", "burst": str(burst)}
        here = await join(
            cluster, fleet, act, podwatch_settings=paced, qps=paced["qps"], burst=paced["burst"]
        )
        return await surge(here, pods)


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m tests.e2e.surge", description=__doc__)
    words.add_argument("--pods", type=int, default=1000)
    words.add_argument("--qps", type=float, default=50, help="of operator and pod controller each")
    words.add_argument("--burst", type=int, default=100)
    asked = words.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(_measured(Path(folder), asked.pods, asked.qps, asked.burst))
    loads = f"load {load:.1f} before, {os.getloadavg()[0]:.1f} after; {os.cpu_count()} cores"
    sys.stdout.write(f"{loads}\n{table(found)}\n")


if __name__ == "__main__":
    main()
