"""What in a shard's settings cannot all be meant at once: (key, sentence with a way out)."""

from bigfleet.model.syntax import is_address
from bigfleet.shard.failures.deadline_overrides import why_not_overridden
from bigfleet.shard.label_defaults import why_not_label_defaults
from bigfleet.shard.settings import ShardSettings

Contradictions = list[tuple[str, str]]

#: (lower key, upper key): a range whose ends may not cross.
_RANGES = (
    ("cycle_min_gap", "cycle_interval"),
    ("rails.pause_default_ttl", "rails.pause_max_ttl"),
    ("deadlines.failed_backoff_min", "deadlines.failed_backoff_max"),
    ("offerings.backoff_min", "offerings.backoff_max"),
    ("report.backoff_min", "report.backoff_max"),
)


def contradictions_of(settings: ShardSettings) -> Contradictions:
    found = [
        (low, f"is longer than {high}; raise that one or lower this one")
        for low, high in _RANGES
        if _value(settings, low) > _value(settings, high)
    ]
    found += _names(settings) + _addresses(settings) + _providers(settings)
    found += _of_single_providers(settings) + _of_verifier(settings)
    return found + _of_costs(settings)


def _value(settings: ShardSettings, key: str) -> float:
    value: object = settings
    for word in key.split("."):
        value = getattr(value, word)
    assert isinstance(value, int | float), f"{key} is a number"
    return value


def _names(settings: ShardSettings) -> Contradictions:
    found = []
    if not settings.id:
        found.append(("id", "is empty; providers know a shard by its id"))
    if not settings.data_dir:
        found.append(("data_dir", "is empty; the epoch must outlive the process"))
    if settings.ownership == "assigned" and not settings.coordinator_addr:
        text = "is assigned, but coordinator_addr is empty; name a coordinator, or set it to all"
        found.append(("ownership", text))
    return found


def _addresses(settings: ShardSettings) -> Contradictions:
    found = []
    if not is_address(settings.listen):
        found.append(("listen", f"{settings.listen!r} is not host:port"))
    if settings.metrics_addr not in ("", "0"):
        if not is_address(settings.metrics_addr):
            found.append(("metrics_addr", f"{settings.metrics_addr!r} is not host:port"))
        elif settings.metrics_addr == settings.listen and not settings.listen.endswith(":0"):
            found.append(("metrics_addr", "is the address of listen; they need two ports"))
    return found


def _providers(settings: ShardSettings) -> Contradictions:
    found, seen = [], set()
    for said in settings.provider_addr:
        name, _, address = said.partition("=")
        if not (name and is_address(address)):
            found.append(("provider_addr", f"{said!r} is not name=host:port"))
        elif name in seen:
            found.append(("provider_addr", f"names provider {name} twice; each needs its own name"))
        seen.add(name)
    return found


def _of_costs(settings: ShardSettings) -> Contradictions:
    from bigfleet.costs.named_prices import problems_of  # the help of a process needs none of it

    chosen = settings.costs
    return [(f"costs.{name}", text) for name, text in problems_of(chosen.imputed, chosen.teams)]


def _of_verifier(settings: ShardSettings) -> Contradictions:
    from bigfleet.verifier.policy import problems_of  # the help of a process needs none of it

    chosen = settings.verifier
    problems = problems_of(
        chosen.freeze_windows, chosen.spend_ceiling, chosen.reclaim_zone_fraction
    )
    return [(f"verifier.{name}", problem) for name, problem in problems.items()]


def _of_single_providers(settings: ShardSettings) -> Contradictions:
    """Which providers the coordinator lists is not known before it is asked."""
    named = [said.partition("=")[0] for said in settings.provider_addr]
    providers = None if settings.providers_from_registry else named
    deadlines = why_not_overridden(settings.deadlines.of_provider, providers)
    labels = why_not_label_defaults(settings.label_defaults, providers)
    found = [("deadlines.of_provider", problem) for problem in deadlines]
    return found + [("label_defaults", problem) for problem in labels]
