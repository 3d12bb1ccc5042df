"""The HTTP pages of a shard: whether it lives, whether it is ready, what it counts."""

from collections.abc import Callable, Mapping

from bigfleet.edge.loop_lag import LoopLag
from bigfleet.edge.pages import HttpAnswer, Page, probe
from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.shard.driving.kernel_warmup import KernelWarmup
from bigfleet.shard.metrics import ShardMetrics
from bigfleet.shard.state import ShardState

LONGEST_LAG_SECONDS = 5.0
#: A shard whose last cycle began longer ago than this, or ten intervals, is not alive.
LONGEST_SILENCE_SECONDS = 60.0


def pages_of(
    state: ShardState,
    metrics: ShardMetrics,
    lag: LoopLag,
    warmup: KernelWarmup,
    now: Callable[[], Instant],
) -> Mapping[str, Page]:
    def live() -> HttpAnswer:
        if not warmup.is_done:
            return probe(True, "alive, and " + warmup.why_not_ready())
        why = why_not_alive(state, lag.seconds, now())
        return probe(not why, why or "alive")

    def ready() -> HttpAnswer:
        why = warmup.why_not_ready() or state.why_not_ready()
        return probe(not why, why or "ready")

    return {"/healthz": live, "/readyz": ready, "/metrics": metrics.page}


def why_not_alive(state: ShardState, lag_seconds: float, at: Instant) -> str:
    """Empty: it lives."""
    if lag_seconds >= LONGEST_LAG_SECONDS:
        return f"the event loop is {lag_seconds:.1f} s behind"
    patience = max(LONGEST_SILENCE_SECONDS, 10 * state.settings.cycle_interval)
    silence = (at - state.last_cycle_began) / SECOND
    if silence > patience:
        return f"the last cycle began {silence:.0f} s ago"
    return ""
