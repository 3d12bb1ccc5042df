"""A shard of a benchmark shape, as a process of its own: it lives, and it has nothing left to do.

Machines and Needs are put into it before it starts; it has no provider and no session, and is in
dry-run. What it decides is done by the next second, in its inventory, as an instant provider would
do it; every second some machines and Needs change (`ChurningFleet`). Everything else is the process
that `bigfleet shard` runs: cycles, journal, questions, what-ifs.

Told `journal off` by a line on its standard input it records no more, until `journal on`. Told
`costs off` its ledger of costs looks at no cycle, told `costs on` at every one. It
answers every line with what its cycles cost since the last one.
"""

import asyncio
import json
import sys
from dataclasses import replace

from bigfleet.bench.engine.shapes import SHAPES
from bigfleet.bench.journal.churning_fleet import ChurningFleet
from bigfleet.bench.journal.switched_costs import Looks, SwitchedCosts
from bigfleet.bench.journal.switched_journal import SwitchedJournal
from bigfleet.bench.processes import answer_lines
from bigfleet.bench.shard.cycle_watch import CycleWatch
from bigfleet.edge.driver import RealClock
from bigfleet.edge.garbage_collection import collect_rarely
from bigfleet.edge.heap import return_freed_memory
from bigfleet.edge.log_lines import open_log
from bigfleet.edge.thread_turns import take_quick_turns
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.inventory import Inventory
from bigfleet.engine.needs_table import NeedsTable
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.writer import JournalWriter
from bigfleet.model.actions import Action, ActionKind
from bigfleet.model.machines import Assigned, Host, Machine, MachineState
from bigfleet.model.memory import EngineMemory
from bigfleet.model.options import EngineOptions
from bigfleet.model.rollups import Rollup
from bigfleet.process import real_context
from bigfleet.shard.driving.costs import ShardCosts
from bigfleet.shard.driving.process import ShardProcess
from bigfleet.shard.execution.action_runs import whole_stamp
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.state import ShardState

PROVIDER = "bench"
#: Decisions after which a fleet has settled, or has to do.
MOST_ROUNDS = 10
#: Far shorter than the pause between two cycles.
LOOK_SECONDS = 0.02


class SettledShard(ShardProcess):
    switch: SwitchedJournal
    costs: SwitchedCosts

    def _make_costs(self, settings: ShardSettings, state: ShardState) -> ShardCosts:
        self.costs = SwitchedCosts(state, self._data_dir, self.context.clock, self.context.log)
        return self.costs

    def _make_journal(self, settings: ShardSettings, epoch: int) -> JournalWriter:
        context = self.context
        file = JournalFile(
            self._data_dir / "journal", settings.id, epoch, context.version, JournalLimits()
        )
        self.switch = SwitchedJournal(file, context.clock.now, context.stopwatch)
        return self.switch


def done(machine: Machine, action: Action) -> Machine:
    """The machine once the action is over."""
    match action.kind:
        case ActionKind.BOOTSTRAP | ActionKind.PROVISION:
            state, cluster, stamp = MachineState.CONFIGURED, action.cluster, whole_stamp(action)
        case ActionKind.DELETE:
            return replace(machine, state=MachineState.SPECULATIVE, host=Host())
        case _:
            state, cluster, stamp = MachineState.IDLE, "", Assigned()
    host = machine.host if machine.host.ref else Host(PROVIDER, machine.id)
    return replace(machine, state=state, cluster=cluster, assigned=stamp, host=host)


def carry_out(inventory: Inventory, actions: tuple[Action, ...]) -> None:
    for action in actions:
        machine = done(inventory.machine_of(action.machine), action)
        inventory.apply(machine, adopted=True)


def settle(inventory: Inventory, needs: NeedsTable, at: int) -> None:
    """Until nothing is decided any more."""
    memory = EngineMemory()
    for cycle in range(MOST_ROUNDS):
        given = EngineInput(
            cycle, at, inventory.snapshot(), needs.freeze(), memory, EngineOptions()
        )
        decision = given.decide()
        memory = decision.memory
        if not decision.action_count:
            return
        carry_out(inventory, decision.actions)


async def _live(process: SettledShard, fleet: ChurningFleet) -> None:
    """After every cycle, so that each sees as many changes."""
    state, seen = process.state, 0
    while True:
        finished = state.decision_loop.finished
        if finished is not None and finished.given.cycle != seen:
            seen = finished.given.cycle
            carry_out(state.parts.machines.inventory, finished.decision.actions)
            fleet.change()
            await process.costs.cycle_ended()
        await asyncio.sleep(LOOK_SECONDS)


async def _served(settings: ShardSettings, shape: str, scale: float) -> None:
    clock = RealClock()
    log = open_log(sys.stderr, "shard", clock.now, text=True, level="warning")
    process = SettledShard(settings, real_context(log, None, ""))
    parts, at = process.state.parts, clock.now()
    workload = SHAPES[shape].build(scale)
    for batch in workload.batches:
        parts.machines.load(batch, PROVIDER, at)
    for cluster, needs in workload.needs.items():
        parts.ingest.on_rollup(cluster, Rollup(cluster, at, tuple(needs), cluster.encode()), at)
    settle(parts.machines.inventory, parts.needs, at)
    process.state.taken()
    fleet = ChurningFleet(workload, parts.machines.inventory, parts.needs)
    watch = CycleWatch(process.state)
    take_quick_turns()
    await process.start()
    beside = [
        asyncio.create_task(each)
        for each in (_live(process, fleet), collect_rarely(clock), return_freed_memory(clock))
    ]

    def told() -> dict[str, object]:
        finished = process.state.decision_loop.finished
        return {
            "port": process.port,
            "cycle": 0 if finished is None else finished.given.cycle,
            "actions": 0 if finished is None else finished.decision.action_count,
            "machines": len(parts.machines),
            "needs": len(parts.needs),
            "costs": watch.taken(),
        }

    def heard(line: str) -> None:
        match line.split():
            case ["journal", word]:
                process.switch.is_on = word == "on"
            case ["costs", *words]:
                process.costs.looks = Looks(" ".join(words))

    await answer_lines(told, heard)
    for task in beside:
        task.cancel()


def main() -> None:
    """Arguments: the data dir, the shape, its scale, seconds between two cycles."""
    data_dir, shape, scale, cycle_interval = sys.argv[1:]
    settings = ShardSettings(
        listen="127.0.0.1:0",
        metrics_addr="127.0.0.1:0",
        data_dir=data_dir,
        dry_run=True,
        # All of a decision in one thread, so that its CPU time is told whole.
        workers=1,
        cycle_interval=json.loads(cycle_interval),
    )
    asyncio.run(_served(settings, shape, json.loads(scale)))
