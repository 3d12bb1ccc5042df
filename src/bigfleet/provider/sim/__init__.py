"""The sim: a simulated substrate behind the SDK, for tests, simulations, scenarios and demos."""

from bigfleet.provider.sim.backend import SimBackend
from bigfleet.provider.sim.clocks import clock_of
from bigfleet.provider.sim.config import SimConfig

__all__ = ["SimBackend", "SimConfig", "clock_of"]
