"""One run of a scenario with one seed: the processes, what happens to them, and what is watched."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from random import Random

from bigfleet.journal.history import History
from bigfleet.journal.journal_file import JournalFile, JournalLimits
from bigfleet.journal.recorder import FinishedCycle
from bigfleet.journal.replay import replayed
from bigfleet.journal.segments import records_in_order, segments_in
from bigfleet.model.actions import ActionKind
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.model.provider_calls import Mutation
from bigfleet.model.session_frames import ShardFrame
from bigfleet.model.shard_views import Disposition
from bigfleet.provider.ledger.entries import Entry
from bigfleet.shard.instructions import CallProvider, GetCall
from bigfleet.sim.cluster import Cluster
from bigfleet.sim.workloads import Workload
from bigfleet.simulation.clusters import OperatorLine
from bigfleet.simulation.coordinator import END as COORDINATOR
from bigfleet.simulation.coordinator import SimulatedCoordinator
from bigfleet.simulation.curves import Level, levels
from bigfleet.simulation.disk import Disk
from bigfleet.simulation.figures import Figures
from bigfleet.simulation.happenings import Happenings, drawn
from bigfleet.simulation.judging import Judge, Result
from bigfleet.simulation.laws import SETTLES_WITHIN_SECONDS, Laws, Violation
from bigfleet.simulation.network import Network
from bigfleet.simulation.provider import SimulatedProvider
from bigfleet.simulation.scenario import PROVIDER, Happening, Scenario, WorkloadPlan
from bigfleet.simulation.schedule import Schedule
from bigfleet.simulation.shard import DecidedAction, ShardContext, SimulatedShard
from bigfleet.simulation.world import substrate_of

#: Decisions that are told with a violation.
_DECISIONS_BEFORE = 10
#: Violations of one law that are kept.
_MOST_VIOLATIONS = 20
_PLOT_POINTS = 400
#: What a wrong List has led to is put right by one or two that are true.
_LIE_FELT = 20 * SECOND
#: A pause file is read once a second, and a decision may be under way.
_PAUSE_NOTICED = 2 * SECOND
_DIGEST_BYTES = 16
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    scenario: str
    seed: int
    seconds: float
    steps: int
    cycles: int
    #: Of everything that happened: equal for equal seeds.
    digest: str
    results: tuple[Result, ...]
    violations: tuple[Violation, ...]
    figures: Figures = field(repr=False)
    happenings: tuple[tuple[float, str], ...] = ()

    @property
    def ok(self) -> bool:
        return not self.violations and all(result.holds for result in self.results)


class Simulator:
    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        journal: Path | None = None,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        """`trace` hears every line of what happens."""
        self.scenario, self.seed = scenario, seed
        self.schedule = Schedule(Random(f"{seed}/schedule"))
        self.network = Network(self.schedule, Random(f"{seed}/network"))
        self._digest = blake2b(digest_size=_DIGEST_BYTES)
        self._trace = trace
        self._journal = journal
        self._decisions: deque[str] = deque(maxlen=_DECISIONS_BEFORE)
        self.violations: list[Violation] = []
        self._is_broken = False
        self.figures = Figures(self)
        self.laws = Laws(self, self.broken)
        self.judge = Judge(scenario.assertions, self.figures, self._decisions)
        self._settings = replace(scenario.settings, provider_addr=(f"{PROVIDER}={PROVIDER}:9000",))
        substrate = substrate_of(scenario.supply, seed, self.schedule.start)
        self._provider = SimulatedProvider(PROVIDER, substrate, self.schedule, self._carried_out)
        self.coordinator: SimulatedCoordinator | None = None
        if scenario.shards > 1:
            self.coordinator = SimulatedCoordinator(self.schedule, scenario.owner_of_zone)
            self._settings = replace(
                self._settings, coordinator_addr=(COORDINATOR,), ownership="assigned"
            )
        self._disks = {f"shard-{n}": Disk(self.schedule) for n in range(scenario.shards)}
        self._shards: dict[str, SimulatedShard] = {}
        self._cycles = 0
        #: By shard, how many machines it last had while Lists were true.
        self._machines_of: dict[str, int] = {}
        for name in self._disks:
            self.start_shard(name)
        self._clusters = {
            name: OperatorLine(
                Cluster(name), shard, self._finder(shard), self.network,
                Random(f"{seed}/operator/{name}"),
            )
            for name, shard in scenario.shard_of_cluster.items()
        }  # fmt: skip
        #: Times the usual units, by workload.
        self._scale: dict[str, float] = {}
        self._levels: dict[str, Level] = {}
        self._applied: dict[tuple[str, str], int] = {}
        self._acted_at: Instant = self.schedule.start
        self.happenings = Happenings(self)
        self._plan()

    # -- what others look at ---------------------------------------------------------------------

    @property
    def provider(self) -> SimulatedProvider:
        return self._provider

    @property
    def shards(self) -> Mapping[str, SimulatedShard]:
        """Those that run."""
        return self._shards

    @property
    def clusters(self) -> Mapping[str, OperatorLine]:
        return self._clusters

    @property
    def disks(self) -> Mapping[str, Disk]:
        return self._disks

    @property
    def now(self) -> Instant:
        return self.schedule.now()

    def is_paused(self, shard: str) -> bool:
        """For longer than it takes to notice."""
        since = self._disks[shard].paused_at
        return since is not None and self.now - since > _PAUSE_NOTICED

    def is_provider_wrong(self, shard: str) -> bool:
        provider, ends = self._provider, (f"shard/{shard}", f"provider/{PROVIDER}")
        quiet = provider.is_up and provider.substrate.answers.untouched
        return not quiet or self.network.is_troubled(*ends)

    def is_wrong_list_believed(self) -> bool:
        """A List without machines is held for a while where a shard has enough to tell."""
        provider, rails = self._provider, self._settings.rails
        lies = provider.substrate.answers.wrong
        if not lies:
            return provider.lied_until > 0 and self.now - provider.lied_until < _LIE_FELT
        fewest = min(self._machines_of.values(), default=0)
        held = rails.list_guard and fewest >= rails.list_guard_min
        recent = self.now - provider.lying_since < rails.list_guard_min_hold * SECOND
        return not (held and recent and all(lie.how == "empty" for lie in lies))

    # -- the run ---------------------------------------------------------------------------------

    def run(self, progress: Progress = lambda seconds: None) -> Outcome:
        scenario, schedule = self.scenario, self.schedule
        every = max(1, round(scenario.duration / _PLOT_POINTS))
        for second in range(1, int(scenario.duration) + 1):
            schedule.run_until(schedule.start + second * SECOND, _nothing)
            self._count_machines()
            self.figures.sample(second, kept=second % every == 0)
            self.laws.look()
            self.judge.look(float(second))
            progress(float(second))
        self._end()
        results = self.judge.results(scenario.duration)
        return Outcome(
            scenario.name,
            self.seed,
            scenario.duration,
            schedule.steps,
            self._cycles,
            self._digest.hexdigest(),
            results,
            tuple(self.violations),
            self.figures,
            tuple(self.happenings.told),
        )

    def _count_machines(self) -> None:
        """What each shard's rails compare the next List with."""
        if not self._provider.substrate.answers.wrong:
            for name, shard in self._shards.items():
                self._machines_of[name] = len(set(shard.state.parts.machines.ids()))

    def _end(self) -> None:
        if self.scenario.settles_at is not None:
            self._check_settled(self.scenario.settles_at)
        for shard in self._shards.values():
            if shard.journal is not None:
                shard.journal.close()
        if self._journal is not None:
            self._replay(self._journal)

    def _check_settled(self, settled_at: float) -> None:
        since = self.scenario.duration - settled_at
        if since > SETTLES_WITHIN_SECONDS:
            self.laws.look_at_rest()
        acted = (self._acted_at - self.schedule.start) / SECOND
        if since > SETTLES_WITHIN_SECONDS and acted > settled_at + SETTLES_WITHIN_SECONDS:
            late = f"{acted - settled_at:.0f} s after the last fault"
            self.broken("settles", f"something was still begun {late}: {self._decisions[-1]}")

    def _replay(self, directory: Path) -> None:
        identical = True
        for folder in self._journal_folders(directory):
            history = History()
            cycles = history.cycles(records_in_order(segments_in(folder), (0, 0)))
            identical &= all(each.identical for each in replayed(cycles))
            self.figures.gaps += len(history.gaps)
        self.figures.replay_identical = float(identical)

    def _journal_folders(self, directory: Path) -> Iterator[Path]:
        if len(self._disks) == 1:
            yield directory
        else:
            yield from (directory / name for name in self._disks)

    # -- shards ----------------------------------------------------------------------------------

    def start_shard(self, name: str) -> None:
        disk = self._disks[name]
        disk.epoch += 1
        settings = replace(self._settings, id=name)
        context = ShardContext(
            self.schedule,
            self.network,
            {PROVIDER: self._provider},
            self,
            Random(f"{self.seed}/{name}/{disk.epoch}"),
            self.coordinator,
        )
        self.note(f"{name} starts its life {disk.epoch}")
        self._shards[name] = SimulatedShard(settings, disk, context, self._journal_of(name))

    def crash_shard(self, name: str) -> None:
        found = self._shards.pop(name, None)
        if found is not None:
            self.note(f"{name} is gone")
            found.crash()
            self._disks[name].crash()

    def _journal_of(self, name: str) -> JournalFile | None:
        if self._journal is None:
            return None
        folder = self._journal if len(self._disks) == 1 else self._journal / name
        file = JournalFile(folder, name, self._disks[name].epoch, "simulated", JournalLimits())
        file.prepare()
        return file

    def _finder(self, shard: str) -> Callable[[], SimulatedShard | None]:
        return lambda: self._shards.get(shard)

    # -- demand ----------------------------------------------------------------------------------

    def _plan(self) -> None:
        scenario, later = self.scenario, self.schedule.call_later
        until = scenario.duration if scenario.settles_at is None else scenario.settles_at
        for plan in scenario.workloads:
            chance = Random(f"{self.seed}/workload/{plan.workload.name}")
            for level in levels(plan.curve, chance, until):
                later(level.seconds, self._leveller(plan, level))
        for event in scenario.events:
            later(event.at, self._doer(event))
        for fault in scenario.faults:
            later(fault.at, self._doer(fault))
        if scenario.chaos is not None:
            chance = Random(f"{self.seed}/chaos")
            for fault in drawn(scenario.chaos, scenario, chance):
                later(fault.at, self._doer(fault))

    def _doer(self, happening: Happening) -> Callable[[], None]:
        return lambda: self.happenings.do(happening)

    def _leveller(self, plan: WorkloadPlan, level: Level) -> Callable[[], None]:
        def apply() -> None:
            self._levels[plan.workload.name] = level
            self._apply(plan)

        return apply

    def scale(self, workload: str, cluster: str, factor: float) -> None:
        """Of a workload, of a cluster's, or of all."""
        for plan in self.scenario.workloads:
            name = plan.workload.name
            if workload in ("", name) and cluster in ("", plan.cluster):
                self._scale[name] = factor
                self._apply(plan)

    def _apply(self, plan: WorkloadPlan) -> None:
        name = plan.workload.name
        level, factor = self._levels.get(name), self._scale.get(name, 1.0)
        if level is None:
            return
        wanted = dict(_units(plan, level, factor))
        before = {each for cluster, each in self._applied if cluster == name}
        cluster = self._clusters[plan.cluster].cluster
        for unit in sorted(before - wanted.keys()):
            cluster.scale(_unit_of(plan, unit), 0, self.now)
            del self._applied[name, unit]
        for unit, pods in wanted.items():
            if self._applied.get((name, unit)) != pods:
                self._applied[name, unit] = pods
                cluster.scale(_unit_of(plan, unit), pods, self.now)
                self.note(f"{plan.cluster} wants {pods} pods of {unit}")

    # -- what is watched -------------------------------------------------------------------------

    def note(self, line: str) -> None:
        text = f"{self.schedule.seconds:.6f} {line}"
        self._digest.update(text.encode() + b"\n")
        if self._trace is not None:
            self._trace(text)

    def broken(self, law: str, text: str) -> None:
        self.note(f"LAW {law}: {text}")
        if sum(each.law == law for each in self.violations) < _MOST_VIOLATIONS:
            seconds = round(self.schedule.seconds, 3)
            self.violations.append(Violation(law, seconds, text, tuple(self._decisions)))

    def cycle_ended(
        self, shard: SimulatedShard, finished: FinishedCycle, actions: list[DecidedAction]
    ) -> None:
        self._cycles += 1
        for each in actions:
            view = each.view
            disposition = view.disposition.name.lower() if view.disposition else ""
            line = f"{shard.name} cycle {view.cycle}: {view.kind.label} {view.machine}"
            line += f" for {view.cluster or '-'} ({each.priority}) {disposition}"
            self.note(line)
            if view.disposition is Disposition.ENQUEUED:
                self._decisions.append(f"{self.schedule.seconds:.1f} s {line}: {view.reason}")
                if view.kind is not ActionKind.DELETE:
                    self._acted_at = self.now
        self.figures.on_cycle(shard, actions)
        self.laws.on_cycle(shard, actions)

    def engine_failed(self, shard: SimulatedShard, why: str) -> None:
        self.broken("engine", f"{shard.name}: {why}")

    def provider_called(self, shard: SimulatedShard, asked: CallProvider) -> None:
        call = asked.call
        what = "Get" if isinstance(call, GetCall) else type(call).__name__.removesuffix("Call")
        self.note(f"{shard.name} asks {what} of {call.machine_id}")
        self.laws.on_asked(call)

    def frame_sent(self, shard: SimulatedShard, cluster: str, frame: ShardFrame) -> None:
        self.laws.on_frame(shard, cluster, frame)

    def rollup_taken(self, shard: SimulatedShard, cluster: str) -> None:
        """Told with what it changes."""

    def _carried_out(self, provider: str, call: Mutation, before: Entry | None) -> None:
        what = type(call).__name__.removesuffix("Call")
        token = call.token
        self.note(f"{provider} does {what} of {call.machine_id} ({token.epoch}.{token.sequence})")
        self.laws.on_carried_out(call, before)


def _units(plan: WorkloadPlan, level: Level, factor: float) -> Iterator[tuple[str, int]]:
    """Names of workloads as clusters know them, and their pods."""
    name = plan.workload.name
    if not plan.named_units:
        if pods := round(level.units * factor) * plan.pods:
            yield name, pods
        return
    numbers = level.names if level.names is not None else tuple(range(level.units))
    for number in numbers[: round(len(numbers) * min(factor, 1.0))]:
        yield f"{name}-{number}", plan.pods
    for copy in range(round(len(numbers) * max(0.0, factor - 1.0))):
        yield f"{name}-x{copy}", plan.pods


def _unit_of(plan: WorkloadPlan, unit: str) -> Workload:
    workload = plan.workload
    if unit == workload.name:
        return workload
    same = workload.profile.same
    group = f"{same.key}\0job={unit},;" if same is not None else ""
    return replace(workload, name=unit, group=group)


def _nothing() -> None:
    """Laws look once a second; what happens in between is checked where it happens."""
