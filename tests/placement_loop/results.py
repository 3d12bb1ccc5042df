"""What a run came to, and what many of them must keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, quantiles

from tests.placement_loop.mixes import best_cost, helped_by_a_machine
from tests.placement_loop.scenarios import SCENARIOS, is_used_up, last_quarter

HALF_LOST = "half the Nodes lost"
FRUITLESS = "pods no machine helps"
SCARCE = "scarcity"


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    scenario: str
    #: Pods that wait at the end though an empty machine would take them, and there is one.
    stuck: int
    #: The cost at the end over that of first fit decreasing.
    cost: float
    #: Decisions in the last quarter, releases apart.
    late: int
    evicted: int
    evicted_waited: int
    bought: int
    bought_without_demand: int
    waits: tuple[float, ...]
    reactions: tuple[float, ...]


def result_of(seed: int) -> Result:
    scenario = list(SCENARIOS)[seed % len(SCENARIOS)]
    loop = SCENARIOS[scenario](seed)
    stuck, cost = 0, 1.0
    for cluster in loop.clusters:
        left = [pod for pod in cluster.waiting() if helped_by_a_machine(cluster, pod)]
        if cluster is loop.clusters[0] or not is_used_up(cluster):
            stuck += len(left)
        if scenario != SCARCE:
            best = best_cost(cluster)
            # Without pods nothing is worth its price.
            cost = cluster.cost() / best if best else 1.0 + cluster.cost()
    figures = [cluster.figures for cluster in loop.clusters]
    return Result(
        seed=seed,
        scenario=scenario,
        stuck=stuck,
        cost=cost,
        late=sum(at >= last_quarter(loop) for at in loop.shard.acted_at),
        evicted=sum(f.evicted for f in figures),
        evicted_waited=sum(f.evicted_waited for f in figures),
        bought=sum(f.bought for f in figures),
        bought_without_demand=sum(f.bought_without_demand for f in figures),
        waits=tuple(wait for f in figures for wait in f.waits),
        reactions=tuple(wait for f in figures for wait in f.reactions),
    )


def broken(results: Sequence[Result]) -> list[str]:
    """Every promise that these runs do not keep, with seeds."""
    found = [f"seed {r.seed} ({r.scenario}): {r.stuck} stuck" for r in results if r.stuck]
    found += [f"seed {r.seed} ({r.scenario}): {r.late} late" for r in results if r.late]
    costs = [r for r in results if r.scenario != SCARCE]
    for name, chosen, most in (
        ("cost", [r for r in costs if r.scenario != HALF_LOST], 1.05),
        ("cost after losing half the Nodes", [r for r in costs if r.scenario == HALF_LOST], 1.25),
        ("cost of fruitless pods", [r for r in costs if r.scenario == FRUITLESS], 1.05),
    ):
        if chosen and mean(r.cost for r in chosen) > most:
            worst = sorted(chosen, key=lambda r: -r.cost)[:5]
            seeds = ", ".join(f"{r.seed}: {r.cost:.2f}" for r in worst)
            found.append(f"{name} {mean(r.cost for r in chosen):.4f} > {most} (worst {seeds})")
    evicted, waited = sum(r.evicted for r in results), sum(r.evicted_waited for r in results)
    if waited * 500 > evicted:
        seeds = ", ".join(str(r.seed) for r in results if r.evicted_waited)
        found.append(f"{waited} of {evicted} evicted pods waited (seeds {seeds})")
    bought = sum(r.bought for r in results)
    idle = sum(r.bought_without_demand for r in results)
    if idle * 100 >= bought:
        seeds = ", ".join(str(r.seed) for r in results if r.bought_without_demand)
        found.append(f"{idle} of {bought} machines bought while no pod waits (seeds {seeds})")
    return found


def table(results: Sequence[Result]) -> str:
    lines = []
    for scenario in (*SCENARIOS, "all"):
        rows = [r for r in results if scenario in ("all", r.scenario)]
        if not rows:
            continue
        lines.append(
            f"{scenario:26} {len(rows):5} runs  {sum(r.stuck for r in rows):2} stuck "
            f" cost {mean(r.cost for r in rows):.3f} (most {max(r.cost for r in rows):.2f}) "
            f" last pod {_spread([w for r in rows for w in r.waits])}"
            f" of which reaction {_spread([w for r in rows for w in r.reactions])} "
            f" late {sum(r.late for r in rows)} "
            f" evicted {sum(r.evicted for r in rows)}/{sum(r.evicted_waited for r in rows)} "
            f" bought {sum(r.bought for r in rows)}"
            f"/{sum(r.bought_without_demand for r in rows)}"
        )
    return "\n".join(lines)


def _spread(seconds: Sequence[float]) -> str:
    if len(seconds) < 2:
        return "-"
    cuts = quantiles(seconds, n=20)
    return f"p50 {cuts[9]:.0f} s p95 {cuts[18]:.0f} s"
