"""Whether a shape is decided alike with any number of workers and in any order of arrival.

The comparison with the slow reference implementation lives in the test suite, which alone may
import it. An incremental cycle joins the comparison when there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from bigfleet.bench.engine.exercises import lent_threads, loaded_inventory, loaded_needs
from bigfleet.bench.engine.workload import NOW, EngineWorkload, Shape
from bigfleet.engine.decide import decide
from bigfleet.model.batches import MachineBatch
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import EngineOptions

#: Small enough for a few seconds, large enough for uber to have two clusters.
MOST_MACHINES = 2_500
MOST_NEEDS = 5_000
WORKERS = (1, 2, 8)
SHUFFLE_SEED = 7


@dataclass(frozen=True, slots=True)
class Agreement:
    shape: str
    machines: int
    needs: int
    actions: int
    #: What was varied -> digest of the actions in order, as text.
    digests: dict[str, str]

    @property
    def disagreeing(self) -> list[str]:
        """The variations whose actions differ from those of the first one."""
        first = next(iter(self.digests.values()))
        return [name for name, digest in self.digests.items() if digest != first]


def check(shape: Shape) -> Agreement:
    workload = reduced(shape)
    texts = {f"{n} worker{'s' * (n > 1)}": _actions_of(workload, n) for n in WORKERS}
    texts["shuffled machines and clusters"] = _actions_of(_shuffled(workload), 1)
    digests = {
        name: sha256("\n".join(actions).encode()).hexdigest()[:16]
        for name, actions in texts.items()
    }
    return Agreement(
        shape.name,
        workload.machine_count,
        workload.need_count,
        len(next(iter(texts.values()))),
        digests,
    )


def reduced(shape: Shape) -> EngineWorkload:
    """The largest power-of-two part of the shape that fits the limits, or its smallest form."""
    scale = 2.0**-12
    workload = shape.build(scale)
    while scale < 1.0:
        scale *= 2
        larger = shape.build(scale)
        if larger.machine_count > MOST_MACHINES or larger.need_count > MOST_NEEDS:
            break
        workload = larger
    return workload


def _actions_of(workload: EngineWorkload, workers: int) -> list[str]:
    with lent_threads(workers) as run_workers:
        decision = decide(
            loaded_inventory(workload.batches).snapshot(),
            loaded_needs(workload).snapshot(),
            EngineMemory(),
            EngineOptions(workers=workers),
            NOW,
            run_workers=run_workers,
        )
    return [repr(action) for action in decision.actions]


def _shuffled(workload: EngineWorkload) -> EngineWorkload:
    rng = np.random.Generator(np.random.PCG64(SHUFFLE_SEED))
    batches = tuple(
        _reordered(batch, rng.permutation(len(batch.ids))) for batch in reversed(workload.batches)
    )
    clusters: Sequence[str] = list(workload.needs)
    order = [clusters[i] for i in rng.permutation(len(clusters))]
    return EngineWorkload(batches, {cluster: workload.needs[cluster] for cluster in order})


def _reordered(batch: MachineBatch, order: NDArray[np.int64]) -> MachineBatch:
    return replace(
        batch,
        ids=[batch.ids[i] for i in order],
        offering_of_machine=batch.offering_of_machine[order],
        state_of_machine=batch.state_of_machine[order],
        cluster_of_machine=batch.cluster_of_machine[order],
        stamp_of_machine=batch.stamp_of_machine[order],
        idle_since_of_machine=batch.idle_since_of_machine[order],
    )
