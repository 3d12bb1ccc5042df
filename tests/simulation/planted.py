"""Bugs that are planted into the real code, one at a time: each must be found by a law.

Every bug is one that a person could write: a check that is forgotten, a row that is not kept. The
scenarios draw faults from the seed; `make planted` looks for the first seed that finds each bug.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from bigfleet.coordinator.membership import handovers
from bigfleet.engine import arrays, preemption, release, reservations
from bigfleet.engine import decide as engine
from bigfleet.model.machines import MachineState
from bigfleet.model.session_frames import NodeStateUpdate
from bigfleet.placement.admission import Admissions
from bigfleet.placement.margins import Margins
from bigfleet.provider.ledger import decisions
from bigfleet.provider.ledger.published import PublishedMachines
from bigfleet.shard.decision_loop import DecisionLoop
from bigfleet.shard.drains.drains import Drains
from bigfleet.shard.rails.caps import ReclaimWindow
from bigfleet.shard.rails.pauses import Pauses
from bigfleet.shard.reconciling.list_guard import ListGuard
from bigfleet.shard.state import ShardState
from bigfleet.simulation.provider import SimulatedProvider
from tests.simulation.scenarios import run

VERIFIER_OFF = "settings: {verifier.enabled: false}\n"
CHAOS = "chaos: {perMinute: 20, lasting: [2s, 10s], from: 5s}\n"
#: Two clusters on one fleet that is too small for both: the shop preempts batch, and gives back.
CONTENDED = """
version: 1
kind: Scenario
name: contended
duration: 120s
fleet:
  generate:
    - {id: "bm-{0}", count: 6, state: Idle, capacityType: BareMetal, instanceType: metal.8,
       zones: [a, b], resources: {cpu: 8, memory: 32Gi}, allocatable: {cpu: 7500m, memory: 28Gi}}
    - {id: "od-{0}", count: 6, state: Speculative, capacityType: OnDemand, instanceType: std-8,
       zones: [a, b], pricePerHour: 0.5, interruptionProbability: 0.05,
       resources: {cpu: 8, memory: 32Gi}, allocatable: {cpu: 7500m, memory: 28Gi}}
provider:
  latency: {create: "uniform:2s,6s", configure: "uniform:1s,3s", ready: "uniform:1s,2s",
            drain: "uniform:1s,4s", delete: "uniform:1s,2s"}
clusters: [{id: shop}, {id: batch}]
workloads:
  - {name: web, cluster: shop, priority: 1000, interruptionPenalty: 4,
     pod: {cpu: 1400m, memory: 5Gi},
     curve: {step: [[0s, 10], [30s, 40], [80s, 10]]}}
  - {name: etl, cluster: batch, priority: 100, pod: {cpu: 2300m, memory: 8Gi},
     curve: {step: [[0s, 20], [90s, 8]]}}
  - {name: big, cluster: batch, priority: 100, pod: {cpu: 5, memory: 9Gi},
     curve: {step: [[0s, 3], [60s, 6], [100s, 3]]}}
"""
#: Machines change hands all the time.
QUICK = """
version: 1
kind: Scenario
name: quick
duration: 200s
fleet:
  generate:
    - {id: "bm-{0}", count: 4, state: Idle, capacityType: BareMetal, instanceType: metal.8,
       zone: a, resources: {cpu: 8, memory: 32Gi}}
provider: {latency: {configure: "fixed:1s", ready: "fixed:1s", drain: "fixed:1s"}}
clusters: [{id: shop}, {id: batch}]
settings: {rails.reclaim_cap_fraction: 1}
workloads:
  - {name: web, cluster: shop, priority: 1000, pod: {cpu: 5, memory: 5Gi},
     curve: {burst: {base: 0, extra: 3, at: 5s, for: 12s, every: 24s}}}
  - {name: etl, cluster: batch, priority: 100, pod: {cpu: 5, memory: 5Gi},
     curve: {burst: {base: 0, extra: 3, at: 17s, for: 12s, every: 24s}}}
"""
#: Small pods go, large ones stay, each on a machine with room that only small ones could use.
SHRINKING = """
version: 1
kind: Scenario
name: shrinking
duration: 200s
fleet:
  generate:
    - {id: "bm-{0}", count: 8, state: Idle, capacityType: BareMetal, instanceType: metal.8,
       zone: a, resources: {cpu: 8, memory: 32Gi}, allocatable: {cpu: 7500m, memory: 28Gi}}
provider: {latency: {configure: "fixed:1s", ready: "fixed:1s", drain: "fixed:1s"}}
clusters: [{id: batch}]
settings: {rails.reclaim_cap_fraction: 1}
workloads:
  - {name: big, cluster: batch, priority: 100, pod: {cpu: 5, memory: 9Gi}, curve: {constant: 4}}
  - {name: etl, cluster: batch, priority: 100, pod: {cpu: 2300m, memory: 8Gi},
     curve: {step: [[0s, 12], [40s, 0]]}}
"""


@dataclass(frozen=True, slots=True)
class Bug:
    law: str
    #: One change of real code; its name says what is wrong with it.
    plant: Callable[[pytest.MonkeyPatch], None]
    #: Further keys of the scenario.
    more: str
    base: str = CONTENDED
    #: The first that finds it.
    seed: int = 1

    @property
    def name(self) -> str:
        return f"{self.law}: {self.plant.__name__.replace('_', ' ')}"


def calls_are_not_fenced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decisions, "is_stale", lambda token, mark: False)


def a_zone_is_given_away_before_its_holder_lets_go(patch: pytest.MonkeyPatch) -> None:
    honest = handovers.hand_over
    patch.setattr(
        handovers, "hand_over", lambda draft, pair, to, holders: honest(draft, pair, to, ())
    )


def a_bound_machine_is_bound_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(decisions, "_why_out_of_position", lambda kind, entry: None)
    patch.setattr(decisions, "_why_other_binding", lambda kind, call, entry: None)
    patch.setattr(decisions, "_recorded", lambda kind, entry: "")


def every_cluster_counts_as_reported(patch: pytest.MonkeyPatch) -> None:
    honest = DecisionLoop.options
    patch.setattr(DecisionLoop, "options", lambda self: replace(honest(self), clusters_ready=None))


def a_drain_goes_to_the_provider_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Drains, "_advance", Drains._to_provider)


def victims_have_no_priority(patch: pytest.MonkeyPatch) -> None:
    honest = preemption.victim_runs

    def wrong(scene: Any, needs: Any, *given: Any) -> Any:
        victims = honest(scene, needs._replace(priority=needs.priority + 1_000_000), *given)
        return victims._replace(priority=np.full_like(victims.priority, -1))

    patch.setattr(preemption, "victim_runs", wrong)


def the_reclaim_cap_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReclaimWindow, "over_cap", lambda *given: {})


def pauses_are_not_asked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pauses, "why_suppressed", lambda self, kind, cluster: None)


def a_failed_machine_leaves_the_list(patch: pytest.MonkeyPatch) -> None:
    honest = PublishedMachines.publish

    def wrong(self: PublishedMachines, published: Any) -> None:
        honest(self, published)
        if published.entry.state is MachineState.FAILED:
            self.retire(published.entry.id, self.head + 1)

    patch.setattr(PublishedMachines, "publish", wrong)


def owned_metal_is_released(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(release, "release_hold", lambda options, capacity_type: 5 * 10**9)


def the_engine_fails_when_it_preempts(patch: pytest.MonkeyPatch) -> None:
    honest = release.excess

    def wrong(scene: Any, ready: Any, holder: Any, preempted: Any) -> Any:
        if len(preempted):
            raise IndexError("row 7 of 7")
        return honest(scene, ready, holder, preempted)

    patch.setattr(engine, "excess", wrong)


def claimed_machines_are_excess(patch: pytest.MonkeyPatch) -> None:
    honest = release.excess

    def wrong(scene: Any, ready: Any, holder: Any, preempted: Any) -> Any:
        return honest(scene, ready, np.full_like(holder, -1), preempted)

    patch.setattr(engine, "excess", wrong)


def freed_victims_are_anyones(patch: pytest.MonkeyPatch) -> None:
    guards, honest = reservations.guards_of, arrays.precedence_order
    patch.setattr(engine, "guards_of", lambda standing: guards([]))
    patch.setattr(engine, "precedence_order", lambda *given: honest(*given)[::-1].copy())


def clusters_do_not_hear_of_machines(patch: pytest.MonkeyPatch) -> None:
    honest = ShardState.take_frames

    def wrong(self: ShardState, session: int, limit: int) -> Any:
        frames = honest(self, session, limit)
        return [f for f in frames if not isinstance(f, NodeStateUpdate) or f.machine_id[-1] > "1"]

    patch.setattr(ShardState, "take_frames", wrong)


def the_first_list_is_answered_for_ever(patch: pytest.MonkeyPatch) -> None:
    honest = SimulatedProvider._list
    kept: dict[int, bytes] = {}

    def wrong(self: SimulatedProvider, call: Any) -> bytes:
        return kept.setdefault(id(self), honest(self, call))

    patch.setattr(SimulatedProvider, "_list", wrong)


def every_drain_is_admitted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Admissions, "why_not_drained", lambda self, node, at: None)
    patch.setattr(Admissions, "why_called_off", lambda self, node, at: None)
    margins_are_never_asked(patch)


def margins_are_never_asked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Margins, "_turn_of", lambda self, subject, at: [])


def lists_are_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ListGuard, "_suspicious", lambda self, missing, rails: False)


#: Two shards with a zone each, and a third zone that changes hands while its holder hears nothing.
HANDED_OVER = (
    CONTENDED.replace("zones: [a, b], ", "zones: [a, b, c], ")
    .replace(
        "clusters: [{id: shop}, {id: batch}]", "clusters: [{id: shop}, {id: batch, zones: [b]}]"
    )
    .replace("name: contended", "name: handed-over\nshards: 2\nowners: {c: shard-1}")
)
UNHEARD = """events: [{at: 40s, do: move-zone, zone: c, shard: shard-0}]
faults:
  - {from: 42s, for: 25s, do: partition, between: [shard/shard-1, coordinator/coordinator-0]}
"""
SETTLES = "settle: 1700s\nduration: 1800s\ncycle: 5s\n"
_TO_PROVIDER = "from: 1s, for: 190s, between: [shard/shard-0, provider/sim]"
OLD_CALLS = f"""faults:
  - {{do: duplicate, probability: 0.9, {_TO_PROVIDER}}}
  - {{do: reorder, seconds: 30, {_TO_PROVIDER}}}
"""
#: A shard that is new, and an operator that is away.
UNSEEN = """settings: {verifier.enabled: false, drain.reclaim_without_session: provider}
faults:
  - {from: 35s, for: 3s, do: kill, process: shard/shard-0}
  - {from: 33s, for: 30s, do: kill, process: operator/batch}
"""
OLD_LISTS = "chaos: {perMinute: 20, do: [kill, list-stale], lasting: [5s, 20s], from: 5s}\n"
LONG = CONTENDED.replace("duration: 120s\n", "")
BUGS = (
    Bug("one-actor", calls_are_not_fenced, OLD_CALLS, QUICK),
    Bug("one-owner", a_zone_is_given_away_before_its_holder_lets_go, UNHEARD, HANDED_OVER),
    Bug("bound-once", a_bound_machine_is_bound_again, OLD_LISTS, seed=3),
    Bug("first-rollup", every_cluster_counts_as_reported, UNSEEN),
    Bug("grace", a_drain_goes_to_the_provider_at_once, CHAOS, seed=2),
    Bug("priorities", victims_have_no_priority, VERIFIER_OFF + CHAOS),
    Bug("reclaim-cap", the_reclaim_cap_is_forgotten, CHAOS),
    Bug("paused", pauses_are_not_asked, "events: [{at: 20s, do: pause}]\n"),
    Bug("conservation", a_failed_machine_leaves_the_list, CHAOS),
    Bug("owned-stays", owned_metal_is_released, VERIFIER_OFF + CHAOS, seed=4),
    Bug("sound", owned_metal_is_released, "duration: 200s\n", LONG),
    Bug("engine", the_engine_fails_when_it_preempts, CHAOS),
    Bug("claimed-stays", claimed_machines_are_excess, VERIFIER_OFF + CHAOS),
    Bug("victims", freed_victims_are_anyones, VERIFIER_OFF + CHAOS),
    Bug("keeps", lists_are_believed, "faults: [{from: 35s, for: 15s, do: list-empty}]\n"),
    Bug("nodes", clusters_do_not_hear_of_machines, "duration: 290s\n", LONG),
    Bug("agrees", the_first_list_is_answered_for_ever, "duration: 330s\n", LONG),
    Bug("place-to-go", every_drain_is_admitted, "", SHRINKING),
    Bug("met", every_drain_is_admitted, "", SHRINKING),
    Bug("no-pod-stuck", margins_are_never_asked, SETTLES, LONG, seed=3),
    Bug("settles", claimed_machines_are_excess, VERIFIER_OFF + SETTLES, LONG),
)


def laws_broken_with(bug: Bug, seed: int) -> set[str]:
    with pytest.MonkeyPatch.context() as patch:
        bug.plant(patch)
        return laws_broken_without(bug, seed)


def laws_broken_without(bug: Bug, seed: int) -> set[str]:
    return {each.law for each in run(bug.more, seed, bug.base).violations}


def first_seed(bug: Bug, most: int) -> int | None:
    """The first that finds it."""
    found = (seed for seed in range(1, most + 1) if bug.law in laws_broken_with(bug, seed))
    return next(found, None)


def main(most: int = 500) -> int:
    """A line for each bug; 1 where one is not found, or its law is broken without it."""
    console, missed = Console(), 0
    for bug in BUGS:
        seed = first_seed(bug, most)
        if seed is None:
            said = f"NOT FOUND in {most} seeds"
        elif bug.law in laws_broken_without(bug, seed):
            said = f"seed {seed}, AND WITHOUT IT TOO"
        else:
            said = f"seed {seed}"
        missed += said != f"seed {seed}"
        console.print(f"{bug.name}: {said}")
    console.print(
        f"{len(BUGS) - missed} of {len(BUGS)} planted bugs found within {most} seeds each"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
