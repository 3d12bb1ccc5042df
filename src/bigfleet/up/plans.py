"""What is to be started: sizes, seeds, speeds, and what follows from them for each part.

`speed` makes simulated time pass faster for the provider, the shards, the coordinator and the
clusters alike. What is not simulated keeps its pace: a call over the loopback takes what it takes,
and a shard never decides more than ten times a second.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from bigfleet.coordinator.settings import CoordinatorSettings
from bigfleet.model.settings import Seconds
from bigfleet.provider.sim.config import SimConfig
from bigfleet.shard.settings import ShardSettings
from bigfleet.sim.workloads import CLUSTERS
from bigfleet.up.file_fleets import FileFleet
from bigfleet.up.sizes import SIZES
from bigfleet.up.zone_assignment import shard_names, zones_of

SMALL = SIZES["small"]
PROVIDER = "sim"
SHARD_PORT, PROVIDER_PORT, METRICS_PORT = 7780, 9000, 8780
COORDINATOR_PORT, COORDINATOR_METRICS_PORT = 7790, 8790
WEB_PORT = 8080
#: Short enough to watch, and in the order of real ones: buying takes longest, letting go least. The
#: sim's own defaults are those of real clouds, where a machine of one's own takes minutes.
LATENCY = (
    "create=uniform:4s,8s;configure=uniform:1s,2s;ready=uniform:1s,3s;"
    "drain=uniform:1s,4s;delete=uniform:2s,5s"
)
SLOWEST, FASTEST = 0.1, 60.0
#: Between two reports of a shard, and between two sweeps of the coordinator.
_REPORT_SECONDS = 2.0
#: The clusters live through a day in four minutes, and a surge lasts one. Rests that are made for
#: hours in a real fleet are shortened by this, and what may move within an hour grows by it;
#: deadlines of single steps stay as they are.
_HASTE = 12.0
#: Real seconds.
_SHORTEST_CYCLE, _SHORTEST_GAP, _SHORTEST_LIST, _SHORTEST_REPORT = 0.1, 0.02, 0.2, 0.2
#: Real seconds: looking at every machine is costly.
_LOOK_SECONDS = 2.0
#: Real seconds a busy laptop may take for a report or a step of a transfer.
_LAPTOP_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class FleetPlan:
    machines: int = SMALL
    seed: int = 1
    speed: float = 1.0
    #: None: a temporary one, removed at the end.
    data_dir: Path | None = None
    #: Empty: the simulated provider, in this process.
    provider_addr: str = ""
    #: At most one for each zone of the simulated fleet; one where the provider is another's.
    shards: int = 1
    #: None: the demo fleet, whose clusters live.
    file: FileFleet | None = None
    #: Of the first shard; the others have the next ones. 0: any, for each.
    shard_port: int = SHARD_PORT
    metrics_port: int = METRICS_PORT
    provider_port: int = PROVIDER_PORT
    coordinator_port: int = COORDINATOR_PORT
    coordinator_metrics_port: int = COORDINATOR_METRICS_PORT
    #: Of the page, where one is served.
    web_port: int = WEB_PORT
    #: Whether a port that is taken is an error; else the next free one is used.
    exact_ports: bool = False

    def on_ports_from(self, base: int) -> "FleetPlan":
        """The coordinator, its metrics, the provider, the shards, their metrics, and the page, in
        a row."""
        shards = base + 3
        return replace(
            self,
            coordinator_port=base,
            coordinator_metrics_port=base + 1,
            provider_port=base + 2,
            shard_port=shards,
            metrics_port=shards + self.shards,
            web_port=shards + 2 * self.shards,
            exact_ports=True,
        )

    @property
    def size(self) -> float:
        """As a multiple of the small fleet."""
        return self.machines / SMALL

    @property
    def simulated(self) -> bool:
        return not self.provider_addr

    @property
    def preset(self) -> str:
        return "demo" if self.machines == SMALL else f"demo:{self.machines}"

    @property
    def zones(self) -> tuple[str, ...]:
        """Of the simulated fleet."""
        return self.file.zones if self.file is not None else zones_of(self.preset)

    @property
    def clusters(self) -> tuple[str, ...]:
        return self.file.clusters if self.file is not None else CLUSTERS

    @property
    def shard_names(self) -> tuple[str, ...]:
        return shard_names(self.shards)

    @property
    def shortest_gap_seconds(self) -> float:
        """Between two cycles, in real time."""
        return max(ShardSettings().cycle_min_gap / self.speed, _SHORTEST_GAP)

    @property
    def tick_seconds(self) -> float:
        """Between two looks of the clusters at themselves, in simulated time."""
        return max(1.0, _SHORTEST_CYCLE * self.speed)

    @property
    def list_seconds(self) -> float:
        """Between two Lists of the provider, in simulated time."""
        return max(ShardSettings().reconcile.interval, _SHORTEST_LIST * self.speed)

    @property
    def report_seconds(self) -> float:
        """Between two reports of a shard, in simulated time."""
        return max(_REPORT_SECONDS, _SHORTEST_REPORT * self.speed)

    @property
    def min_stay_seconds(self) -> float:
        """Of a machine that another shard has got, in simulated time."""
        return CoordinatorSettings().rebalance.min_stay / _HASTE

    @property
    def look_seconds(self) -> float:
        """Between two looks at who owns what, in simulated time."""
        return _LOOK_SECONDS * max(1.0, self.speed)

    def sim_config(self) -> SimConfig:
        return SimConfig(
            preset=self.preset, seed=self.seed, clock=f"scaled:{self.speed:g}", latency=LATENCY
        )

    def shard_settings(self, name: str, data_dir: Path, provider: str) -> ShardSettings:
        """The defaults of every shard, but for the pace; the caller sets the addresses."""
        usual = ShardSettings()
        return self.paced(
            replace(
                usual,
                id=name,
                data_dir=str(data_dir),
                provider_addr=(f"{PROVIDER}={provider}",),
                ownership="assigned",
                execute=replace(
                    usual.execute,
                    # All shards share one provider and one CPU: together they ask no more of it.
                    concurrency=usual.execute.concurrency // self.shards,
                ),
                thrash=replace(
                    usual.thrash,
                    window=Seconds(usual.thrash.window / _HASTE),
                    dwell=Seconds(usual.thrash.dwell / _HASTE),
                    hold=Seconds(usual.thrash.hold / _HASTE),
                ),
            )
        )

    def paced(self, settings: ShardSettings) -> ShardSettings:
        """At this speed; nothing else of them changes."""
        usual, speed = ShardSettings(), self.speed
        return replace(
            settings,
            cycle_interval=Seconds(max(usual.cycle_interval, _SHORTEST_CYCLE * speed)),
            cycle_min_gap=Seconds(self.shortest_gap_seconds * speed),
            reconcile=replace(settings.reconcile, interval=Seconds(self.list_seconds)),
            execute=replace(
                settings.execute, bootstrap_timeout=self._real(usual.execute.bootstrap_timeout)
            ),
            session=replace(
                settings.session, stall_timeout=self._real(usual.session.stall_timeout)
            ),
            regret_interval=self._real(usual.regret_interval),
            report=replace(
                settings.report,
                interval=Seconds(self.report_seconds),
                backoff_min=self._real(usual.report.backoff_min),
                backoff_max=self._real(usual.report.backoff_max),
            ),
        )

    def hurried(self, settings: ShardSettings) -> ShardSettings:
        """Until the fleet is ready: zones change hands with reports, machines come with Lists."""
        return replace(
            settings,
            reconcile=replace(settings.reconcile, interval=Seconds(_SHORTEST_LIST * self.speed)),
            report=replace(settings.report, interval=Seconds(_SHORTEST_REPORT * self.speed)),
        )

    def coordinator_settings(self, data_dir: Path) -> CoordinatorSettings:
        """The defaults of every coordinator, but for the pace."""
        return self.coordinator_paced(replace(CoordinatorSettings(), data_dir=str(data_dir)))

    def coordinator_paced(self, settings: CoordinatorSettings) -> CoordinatorSettings:
        """At this speed; nothing else of them changes."""
        moves, patience = CoordinatorSettings().rebalance, self._real(_LAPTOP_SECONDS)
        return replace(
            settings,
            stale_after=Seconds(max(3 * self.report_seconds, patience)),
            rebalance=replace(
                settings.rebalance,
                interval=Seconds(self.report_seconds),
                cooldown=Seconds(moves.cooldown / _HASTE),
                min_stay=Seconds(self.min_stay_seconds),
                direction_lock=Seconds(moves.direction_lock / _HASTE),
                donor_rate=min(1.0, moves.donor_rate * _HASTE),
                decline_rest=Seconds(moves.decline_rest / _HASTE),
                stall_rest=Seconds(moves.stall_rest / _HASTE),
                offer_ttl=Seconds(max(moves.offer_ttl, patience)),
                hold_ttl=Seconds(max(moves.hold_ttl, patience)),
            ),
        )

    def _real(self, seconds: float) -> Seconds:
        """Simulated seconds that last as long as these do for people."""
        return Seconds(max(1.0, self.speed) * seconds)


def why_no_tour(plan: FleetPlan) -> str:
    """Empty: there can be one."""
    if not plan.simulated:
        return "the tour needs the simulated provider; leave --provider-addr out"
    if plan.file is not None:
        return "the tour is about the demo fleet; leave --fleet out"
    if plan.shards > 1:
        return "the tour is about one pool; start it with one shard"
    return ""
