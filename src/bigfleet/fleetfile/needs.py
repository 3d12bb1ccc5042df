"""The needs of a fleet file. Their order in the file is each cluster's own order, nothing more."""

from collections.abc import Iterator

from bigfleet.fleetfile.complaints import path_text
from bigfleet.fleetfile.records import INT32, Record
from bigfleet.model.fleet import FleetNeed
from bigfleet.model.needs import Need, NeedKey
from bigfleet.model.profiles import Profile, Spread, WhenUnsatisfiable
from bigfleet.model.quantities import LARGEST_OF_NEED
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.syntax import why_not_cluster_id, why_not_label_key, why_not_label_value

OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Same": Operator.SAME,
}
#: `Unspecified`: what a dump writes for a requirement that says none; no machine meets it.
OPERATORS_OF_DUMPS = {**OPERATORS, "Unspecified": Operator.UNSPECIFIED}
#: `Unspecified`: what a dump writes for a spread whose sender left it open; the engine ignores it.
WHEN_UNSATISFIABLE = {
    "DoNotSchedule": WhenUnsatisfiable.DO_NOT_SCHEDULE,
    "ScheduleAnyway": WhenUnsatisfiable.SCHEDULE_ANYWAY,
    "Unspecified": WhenUnsatisfiable.UNSPECIFIED,
}
SOURCES = {name: name for name in ("pod", "buffer", "provisioning-request")}

_KEYS = frozenset(
    "cluster priority requirements spread interruptionPenaltyBucket reclamationPenaltyBucket"
    " aggregateResources minUnit group acquisitionParked arrival name source".split()
)
_REQUIREMENT_KEYS = frozenset({"key", "operator", "values"})
_SPREAD_KEYS = frozenset({"topologyKey", "maxSkew", "whenUnsatisfiable"})


def needs_of(records: Iterator[Record]) -> tuple[FleetNeed, ...]:
    needs: list[FleetNeed] = []
    profiles: dict[Profile, Profile] = {}
    path_of_key: dict[NeedKey, str] = {}
    for record in records:
        before = len(record.complaints)
        need = _need_of(record, profiles)
        needs.append(need)
        if len(record.complaints) > before:
            continue
        other = path_of_key.setdefault(need.need.key, path_text(record.path))
        if other != path_text(record.path):
            record.complaints.add(
                record.path,
                f"{need.need.key.need_id}: same cluster, profile and group as {other}; "
                "add the two up, or give one a group of its own",
            )
    return tuple(needs)


def _need_of(record: Record, profiles: dict[Profile, Profile]) -> FleetNeed:
    record.check_keys(_KEYS)
    cluster = record.text("cluster", required="whose demand is it?", why_not=why_not_cluster_id)
    profile = Profile.of(
        tuple(requirements_of(record)),
        tuple(_spread_of(record)),
        record.whole("priority", 0, *INT32, required="higher wins"),
        record.bucket("interruptionPenaltyBucket"),
        record.bucket("reclamationPenaltyBucket"),
    )
    need = Need(
        cluster=cluster,
        profile=profiles.setdefault(profile, profile),
        aggregate=record.resources(
            "aggregateResources", most=LARGEST_OF_NEED, required="what is demanded in total?"
        ),
        min_unit=record.resources("minUnit", most=LARGEST_OF_NEED),
        arrival_unix_nanos=record.instant("arrival", nanoseconds=True) or 0,
        group=record.text("group"),
        parked=record.flag("acquisitionParked", False),
    )
    source = record.choice("source", SOURCES, "")
    return FleetNeed(need, record.text("name"), source)


def requirements_of(record: Record) -> Iterator[Requirement]:
    for requirement in record.records("requirements"):
        requirement.check_keys(_REQUIREMENT_KEYS)
        yield Requirement.of(
            requirement.text(
                "key", required="the attribute that is compared", why_not=why_not_label_key
            ),
            requirement.choice(
                "operator",
                OPERATORS_OF_DUMPS,
                Operator.EXISTS,
                required=f"one of {', '.join(OPERATORS)}",
            ),
            requirement.texts("values", why_not=why_not_label_value),
        )


def _spread_of(record: Record) -> Iterator[Spread]:
    for spread in record.records("spread"):
        spread.check_keys(_SPREAD_KEYS)
        yield Spread(
            spread.text(
                "topologyKey",
                required="the attribute whose values are counted",
                why_not=why_not_label_key,
            ),
            spread.whole("maxSkew", 1, 0, INT32[1], required="1 or more"),
            spread.choice(
                "whenUnsatisfiable",
                WHEN_UNSATISFIABLE,
                WhenUnsatisfiable.UNSPECIFIED,
                required="DoNotSchedule or ScheduleAnyway",
            ),
        )
