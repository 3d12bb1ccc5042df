"""The sim's settings: `--set key=value`, or the flags of `bigfleet provider run sim`."""

from pathlib import Path

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.machines import Instant
from bigfleet.provider.config import Config
from bigfleet.provider.sim.world.distributions import (
    BadDistribution,
    BadDuration,
    Distribution,
    distribution_of,
    nanos_of,
)
from bigfleet.provider.sim.world.offerings import STEPS
from bigfleet.provider.sim.world.presets import Preset
from bigfleet.provider.sim.world.state import Rules


class SimConfig(Config):
    preset: str = "small"
    seed: int = 1
    #: `real`, `scaled:X` or `stepped`.
    clock: str = "real"
    #: Divides every latency.
    speed: float = 1.0
    #: The spot price drives the risk.
    couple: bool = False
    #: From a spot notice to the end of the host.
    notice: str = "120s"
    #: `create=fixed:3s;drain=0`: over the defaults and the preset.
    latency: str = ""
    #: Verbs from outside: gRPC, HTTP.
    control: bool = True
    #: A script to run from the start.
    script: Path | None = None
    #: Where the event log is written; none: it is only kept in memory.
    events: Path | None = None


def rules_of(config: SimConfig, preset: Preset, provider: str, start: Instant) -> Rules:
    problems: list[Problem] = []
    if config.speed <= 0:
        problems.append(Problem("config.speed", "is more than zero"))
    try:
        notice = nanos_of(config.notice)
    except BadDuration as bad:
        problems.append(Problem("config.notice", str(bad)))
        notice = 0
    latency = latency_of(config.latency, problems)
    if problems:
        raise BadInput(problems)
    return Rules(
        seed=config.seed,
        provider=provider,
        start=start,
        latency={**preset.latency, **latency},
        speed=config.speed,
        couple=config.couple,
        walk=preset.walk,
        interruptions=preset.interruptions,
        notice_nanos=notice,
        fault_selectors=preset.fault_selectors,
    )


def latency_of(text: str, problems: list[Problem]) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        step, _, written = part.partition("=")
        if step not in STEPS:
            problems.append(Problem("config.latency", f"{step!r} is none of {', '.join(STEPS)}"))
            continue
        try:
            found[step] = distribution_of(written, read_lines)
        except BadDistribution as bad:
            problems.append(Problem("config.latency", str(bad)))
    return found


def read_lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError as error:
        raise BadDistribution(f"the trace cannot be read: {error}") from error
