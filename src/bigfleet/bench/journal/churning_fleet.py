"""A benchmark shape that lives: every cycle a few machines and a few Needs change.

Two in a hundred change in a minute, spread evenly over its cycles; the same ones with every run.
"""

from dataclasses import replace
from random import Random

from bigfleet.bench.engine.exercises import loaded_inventory, loaded_needs
from bigfleet.bench.engine.workload import NOW, EngineWorkload
from bigfleet.engine.decision import Decision
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.recorder import FinishedCycle, Note
from bigfleet.model.fleet import Marks
from bigfleet.model.journal import JournalEvent, JournalNote
from bigfleet.model.machines import Instant, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.needs import Need
from bigfleet.model.options import SECOND, EngineOptions
from bigfleet.model.shard_views import ActionView, Disposition, StoryEvent, StorySource

CHURN_A_MINUTE = 0.02
SEED = 1


class ChurningFleet:
    def __init__(
        self,
        workload: EngineWorkload,
        inventory: Inventory | None = None,
        needs: NeedsTable | None = None,
    ) -> None:
        """Where machines and Needs are not given, those of the workload are put into new ones."""
        self._chance = Random(SEED)
        self._inventory: Inventory = inventory or loaded_inventory(workload.batches)
        self._ids = [name for batch in workload.batches for name in batch.ids]
        self._needs = needs or loaded_needs(workload)
        self._demand: dict[str, list[Need]] = {c: [*n] for c, n in workload.needs.items()}
        self._cycle = 0
        self.machines_a_cycle = _share(workload.machine_count)
        self.needs_a_cycle = min(_share(workload.need_count), len(self._demand))

    def change(self) -> None:
        """What happens in the second before a cycle."""
        now = self._now(self._cycle + 1)
        for name in self._chance.sample(self._ids, self.machines_a_cycle):
            machine = self._inventory.machine_of(name)
            if machine.state is MachineState.SPECULATIVE:
                price = round(machine.price_per_hour * self._chance.choice((0.9, 1.1)), 4)
                self._inventory.apply(replace(machine, price_per_hour=price), adopted=True)
            else:
                self._inventory.mark(name, Marks(idle_since=now, overdue=True))
        for cluster in self._chance.sample(sorted(self._demand), self.needs_a_cycle):
            needs = self._demand[cluster]
            place = self._chance.randrange(len(needs))
            grown = needs[place].aggregate.plus(needs[place].min_unit)
            needs[place] = replace(needs[place], aggregate=grown)
            self._needs.replace(cluster, needs)

    def next_input(self) -> EngineInput:
        """Of the next cycle, as it stands now."""
        self._cycle += 1
        return EngineInput(
            self._cycle,
            self._now(self._cycle),
            self._inventory.snapshot(),
            self._needs.freeze(),
            EngineMemory(),
            EngineOptions(),
        )

    def finished(self, given: EngineInput, decision: Decision) -> FinishedCycle:
        """With as many actions told one by one as machines change."""
        few = decision.actions[: self.machines_a_cycle]
        views = tuple(
            ActionView(
                given.cycle,
                place,
                action.kind,
                action.machine,
                action.cluster,
                None if action.need is None else decision.outcome.key(action.need),
                grace_seconds=action.grace_seconds,
                disposition=Disposition.ENQUEUED,
                at=given.at,
            )
            for place, action in enumerate(few)
        )
        return FinishedCycle(given, decision, views)

    def notes(self, cycle: FinishedCycle) -> list[Note]:
        """A line of its machine's story and the outcome for each action, a roll-up for each Need.

        As many machines change in a cycle as actions are told, so each has one line. Operation ids
        are random.
        """
        at, bodies = cycle.given.at, list[JournalNote]()
        for view in cycle.actions:
            seen = at + self._chance.randrange(SECOND)
            bodies.append(
                StoryEvent(
                    seen,
                    StorySource.EXECUTOR,
                    "asked to configure it",
                    cycle.given.cycle,
                    MachineState.IDLE,
                    MachineState.CONFIGURING,
                    view.cluster,
                    f"{self._chance.getrandbits(64):016x}",
                    sequence=cycle.given.cycle,
                    machine=view.machine,
                )
            )
            bodies.append(replace(view, need=None, outcome="success", at=seen))
        for cluster in self._chance.sample(sorted(self._demand), self.needs_a_cycle):
            text = f"took a roll-up of cluster {cluster}: 46 rows, 46 before"
            facts = {"rows": "46", "baseline": "46"}
            bodies.append(JournalEvent("rollup_accepted", cluster, text, facts))
        return [Note(cycle.given.cycle, getattr(body, "at", at), body) for body in bodies]

    def _now(self, cycle: int) -> Instant:
        return NOW + cycle * SECOND


def _share(count: int) -> int:
    """Of so many, those that change in a second."""
    return max(1, round(count * CHURN_A_MINUTE / 60))
