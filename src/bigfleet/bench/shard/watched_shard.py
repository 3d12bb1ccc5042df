"""A shard as `bigfleet shard` runs it, in a process of its own whose event loop is watched.

Asked by a line on its standard input, the process tells what it saw since it was last asked.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from bigfleet.bench.processes import answer_lines
from bigfleet.bench.shard.cycle_watch import CycleWatch
from bigfleet.bench.shard.loop_watch import LoopWatch
from bigfleet.edge.driver import RealClock
from bigfleet.edge.garbage_collection import collect_rarely
from bigfleet.edge.log_lines import open_log
from bigfleet.edge.thread_turns import take_quick_turns
from bigfleet.process import MakePage, real_context
from bigfleet.shard.driving.process import ShardProcess
from bigfleet.shard.settings import ShardSettings
from bigfleet.shard.thrash_watch import ThrashWatch

#: Far shorter than the pause between two cycles.
LOOK_SECONDS = 0.02


#: What a cycle asks of the watch, and what is answered where there is none.
_ASKED_OF_THRASH = ("on_cycle_begun", "begin", "on_decision", "on_change", "why_held")


def switch_thrash_watch(watch: ThrashWatch, *, is_on: bool) -> None:
    """Off, it is told nothing and holds nothing; a shard has no setting for it."""
    for name in _ASKED_OF_THRASH:
        if is_on:
            vars(watch).pop(name, None)
        else:
            setattr(watch, name, lambda *_: None)


class WatchedShard:
    """What the parent asks for."""

    def __init__(self, process: ShardProcess, watch: LoopWatch) -> None:
        self._process = process
        self._watch = watch
        self._cycle_watch = CycleWatch(process.state)
        self._cycles: list[float] = []

    def hear(self, line: str) -> None:
        """Such as `verifier off`; an empty line says nothing."""
        match line.split():
            case ["verifier", how]:
                settings = self._process.state.settings
                verifier = replace(settings.verifier, enabled=how == "on")
                self._process.apply_settings(replace(settings, verifier=verifier))
            case ["thrash", how]:
                switch_thrash_watch(self._process.state.parts.thrash, is_on=how == "on")

    async def follow(self) -> None:
        """Every cycle by itself."""
        deciding, seen = self._process.state.decision_loop, 0
        while True:
            if deciding.ledger.cycle != seen:
                seen = deciding.ledger.cycle
                self._cycles.append(deciding.last_seconds)
            await asyncio.sleep(LOOK_SECONDS)

    def told(self) -> dict[str, object]:
        state, cycles, costs = self._process.state, self._cycles, self._cycle_watch.taken()
        self._cycles = []
        return {
            "port": self._process.port,
            "metrics_port": self._process.metrics_port,
            "web_port": self._process.web_port,
            "not_ready": state.why_not_ready(),
            "machines": len(state.parts.machines),
            "needs": len(state.parts.needs),
            "sessions": len(state.parts.sessions),
            "under_way": state.parts.execution.in_flight + state.parts.execution.queue_depth,
            "rollups": state.effects.counts.of("rollups_total", result="accepted"),
            "cycles": cycles,
            "engine": [cost.engine for cost in costs],
            "costs": costs,
            **self._watch.told(),
        }


async def _served(
    settings: ShardSettings,
    make_page: MakePage | None,
    told: Callable[[], Mapping[str, object]],
    hear: Callable[[str], None],
) -> None:
    clock = RealClock()
    log = open_log(sys.stderr, "shard", clock.now, text=True, level="warning")
    process = ShardProcess(settings, real_context(log, None, "", make_page))
    watch = LoopWatch()
    watch.start()
    watched = WatchedShard(process, watch)
    take_quick_turns()
    await process.start()
    beside = [asyncio.create_task(watched.follow()), asyncio.create_task(collect_rarely(clock))]

    def hear_both(line: str) -> None:
        watched.hear(line)
        hear(line)

    await answer_lines(lambda: {**watched.told(), **told()}, hear_both)
    for task in beside:
        task.cancel()


def main(
    make_page: MakePage | None = None,
    told: Callable[[], Mapping[str, object]] = dict,
    hear: Callable[[str], None] = lambda line: None,
) -> None:
    """Arguments: the data dir, the provider's address, seconds between two cycles at rest.

    `told`: what is told beside what the shard has seen; `hear`: is told every line too.
    """
    data_dir, provider, cycle_interval = sys.argv[1:]
    settings = ShardSettings(
        listen="127.0.0.1:0",
        metrics_addr="127.0.0.1:0",
        data_dir=data_dir,
        provider_addr=(f"bench={provider}",),
        cycle_interval=json.loads(cycle_interval),
    )
    asyncio.run(_served(settings, make_page, told, hear))
