"""Small scenarios for tests, and runs of them."""

from pathlib import Path

from bigfleet.simulation.scenario_file import load_scenario
from bigfleet.simulation.simulator import Outcome, Simulator
from tests.architecture.tree import ROOT

SHIPPED = sorted((ROOT / "scenarios").glob("*.yaml"))

SMALL = """
version: 1
kind: Scenario
name: small
duration: 60s
fleet:
  generate:
    - {id: "bm-{0}", count: 4, state: Idle, capacityType: BareMetal, instanceType: metal.8,
       zones: [a, b], resources: {cpu: 8, memory: 32Gi}, allocatable: {cpu: 7500m, memory: 28Gi}}
    - {id: "od-{0}", count: 6, state: Speculative, capacityType: OnDemand, instanceType: std-8,
       zones: [a, b], pricePerHour: 0.5, interruptionProbability: 0.05,
       resources: {cpu: 8, memory: 32Gi}, allocatable: {cpu: 7500m, memory: 28Gi}}
provider:
  latency: {create: "uniform:2s,6s", configure: "uniform:1s,3s", ready: "uniform:1s,2s",
            drain: "uniform:1s,2s", delete: "uniform:1s,2s"}
clusters: [{id: shop}]
workloads:
  - {name: web, cluster: shop, priority: 100, pod: {cpu: 1500m, memory: 4Gi},
     curve: {step: [[0s, 12], [20s, 20]]}}
"""


def run(more: str = "", seed: int = 1, base: str = SMALL, journal: Path | None = None) -> Outcome:
    """`more`: further keys of the file."""
    return Simulator(load_scenario((base + more).encode()), seed, journal).run()


def lines_of(more: str = "", seed: int = 1, base: str = SMALL) -> list[str]:
    """The trace of a run."""
    lines: list[str] = []
    Simulator(load_scenario((base + more).encode()), seed, trace=lines.append).run()
    return lines
