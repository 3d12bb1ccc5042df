"""What is to be started: sizes, seeds, speeds, and what follows from them for each part.

`speed` makes simulated time pass faster for the provider, the shard and the clusters alike. What is
not simulated keeps its pace: a call over the loopback takes what it takes, and the shard never
decides more than ten times a second.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from bigfleet.model.settings import Seconds
from bigfleet.provider.sim.config import SimConfig
from bigfleet.shard.settings import ShardSettings
from bigfleet.up.sizes import SIZES

SMALL = SIZES["small"]
PROVIDER = "sim"
SHARD_PORT, PROVIDER_PORT, METRICS_PORT = 7780, 9000, 8780
#: Short enough to watch, and in the order of real ones: buying takes longest, letting go least. The
#: sim's own defaults are those of real clouds, where a machine of one's own takes minutes.
LATENCY = (
    "create=uniform:4s,8s;configure=uniform:1s,2s;ready=uniform:1s,3s;"
    "drain=uniform:1s,4s;delete=uniform:2s,5s"
)
#: Real seconds.
_SHORTEST_CYCLE, _SHORTEST_GAP, _SHORTEST_LIST = 0.1, 0.02, 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    machines: int = SMALL
    seed: int = 1
    speed: float = 1.0
    #: None: a temporary one, removed at the end.
    data_dir: Path | None = None
    #: Empty: the simulated provider, in this process.
    provider_addr: str = ""
    shard_port: int = SHARD_PORT
    provider_port: int = PROVIDER_PORT
    metrics_port: int = METRICS_PORT

    @property
    def size(self) -> float:
        """As a multiple of the small fleet."""
        return self.machines / SMALL

    @property
    def simulated(self) -> bool:
        return not self.provider_addr

    @property
    def shortest_gap_seconds(self) -> float:
        """Between two cycles, in real time."""
        return max(ShardSettings().cycle_min_gap / self.speed, _SHORTEST_GAP)

    @property
    def tick_seconds(self) -> float:
        """Between two looks of the clusters at themselves, in simulated time."""
        return max(1.0, _SHORTEST_CYCLE * self.speed)

    def sim_config(self) -> SimConfig:
        return SimConfig(
            preset="demo" if self.machines == SMALL else f"demo:{self.machines}",
            seed=self.seed,
            clock=f"scaled:{self.speed:g}",
            latency=LATENCY,
        )

    def shard_settings(self, data_dir: Path, provider: str) -> ShardSettings:
        """The defaults of every shard, but for the pace."""
        usual, speed = ShardSettings(), self.speed
        return replace(
            usual,
            listen=f"127.0.0.1:{self.shard_port}",
            metrics_addr=f"127.0.0.1:{self.metrics_port}",
            data_dir=str(data_dir),
            provider_addr=(f"{PROVIDER}={provider}",),
            cycle_interval=Seconds(max(usual.cycle_interval, _SHORTEST_CYCLE * speed)),
            cycle_min_gap=Seconds(self.shortest_gap_seconds * speed),
            reconcile=replace(
                usual.reconcile,
                interval=Seconds(max(usual.reconcile.interval, _SHORTEST_LIST * speed)),
            ),
            execute=replace(
                usual.execute, bootstrap_timeout=self._real(usual.execute.bootstrap_timeout)
            ),
            session=replace(usual.session, stall_timeout=self._real(usual.session.stall_timeout)),
        )

    def _real(self, seconds: float) -> Seconds:
        """Simulated seconds that last as long as these do for people."""
        return Seconds(max(1.0, self.speed) * seconds)
