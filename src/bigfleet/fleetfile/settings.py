"""What of a fleet file is neither machine nor Need: options, memory, costs, provenance."""

from collections.abc import Mapping

from bigfleet.fleetfile.limits import MOST_SECONDS, MOST_WEIGHT
from bigfleet.fleetfile.records import Record
from bigfleet.fleetfile.shapes import CAPACITY_TYPES
from bigfleet.model.fleet import Costs, PlanOptions, Provenance
from bigfleet.model.machines import CapacityType, Instant
from bigfleet.model.memory import EngineMemory, Reservation, ReservationKind, Shortfall
from bigfleet.model.needs import NeedKey
from bigfleet.model.options import EngineOptions, Parking, VictimWeights
from bigfleet.model.resources import Resources

#: Counts that no real file exceeds; they keep a slip from running for ever.
MOST_CYCLES = 100_000
_INT64 = 2**63 - 1

RESERVATION_KINDS = {kind.value: kind for kind in ReservationKind}

_OPTION_KEYS = frozenset(
    "now clustersReady releaseHolds victimWeights drainSeconds reservationMargin parking"
    " reclaimCapFraction maxActionsPerCycle cycles fold".split()
)
_WEIGHT_KEYS = frozenset({"priority", "drain", "interruption", "reclamation"})
_PARKING_KEYS = frozenset({"after", "probe"})
_MEMORY_KEYS = frozenset({"reservations", "parking", "shortfalls"})
_RESERVATION_KEYS = frozenset("machine kind cluster needFingerprint group expiresAt".split())
_AGE_KEYS = frozenset("cluster needFingerprint group age".split())
_PROVENANCE_KEYS = frozenset("shard cycle engineVersion capturedAt redacted".split())
_COST_KEYS = frozenset({"imputed", "teams"})


def options_of(record: Record) -> tuple[Instant | None, EngineOptions, PlanOptions]:
    record.check_keys(_OPTION_KEYS)
    engine = EngineOptions()
    weights, parking = record.record("victimWeights"), record.record("parking")
    weights.check_keys(_WEIGHT_KEYS)
    parking.check_keys(_PARKING_KEYS)
    default = engine.victim_weights
    return (
        record.instant("now"),
        EngineOptions(
            clusters_ready=_clusters_ready_of(record),
            release_holds=_holds_of(record, engine.release_holds),
            victim_weights=VictimWeights(
                weights.amount("priority", default.priority, MOST_WEIGHT),
                weights.amount("drain", default.drain, MOST_WEIGHT),
                weights.amount("interruption", default.interruption, MOST_WEIGHT),
                weights.amount("reclamation", default.reclamation, MOST_WEIGHT),
            ),
            drain_seconds=record.amount("drainSeconds", engine.drain_seconds, MOST_SECONDS),
            reservation_margin_seconds=record.amount(
                "reservationMargin", engine.reservation_margin_seconds, MOST_SECONDS
            ),
            parking=Parking(
                parking.whole("after", engine.parking.after, 0, _INT64),
                parking.whole("probe", engine.parking.probe, 1, _INT64),
            ),
            fold=record.flag("fold", engine.fold),
        ),
        PlanOptions(
            reclaim_cap_fraction=record.amount("reclaimCapFraction", 0.0, at_most=1.0),
            max_actions_per_cycle=record.whole("maxActionsPerCycle", 0, 0, _INT64),
            cycles=record.whole("cycles", 1, 1, MOST_CYCLES),
        ),
    )


def _clusters_ready_of(record: Record) -> frozenset[str] | None:
    value = record.raw.get("clustersReady")
    if value is None or value == "all":
        return None
    if type(value) is not list:
        record.refuse("clustersReady", "write all or the list of clusters that have reported")
        return None
    return frozenset(record.texts("clustersReady"))


def _holds_of(
    record: Record, default: Mapping[CapacityType, float]
) -> Mapping[CapacityType, float]:
    if record.raw.get("releaseHolds") is None:
        return default
    holds = record.record("releaseHolds")
    holds.check_keys(frozenset(CAPACITY_TYPES))
    found: dict[CapacityType, float] = {}
    for name, kind in CAPACITY_TYPES.items():
        if holds.raw.get(name) is None:
            continue
        found[kind] = holds.amount(name, 0.0, MOST_SECONDS)
        if found[kind] > 0 and kind not in default:
            holds.refuse(name, f"{name} machines are never released; leave it out, or write 0")
    return found


def memory_of(record: Record) -> EngineMemory:
    record.check_keys(_MEMORY_KEYS)
    reservations: dict[str, Reservation] = {}
    for entry in record.records("reservations"):
        reservation = _reservation_of(entry)
        if reservation.machine in reservations:
            entry.refuse("machine", "reserved twice; a machine has at most one reservation")
        reservations[reservation.machine] = reservation
    return EngineMemory(
        reservations=reservations,
        parking=_ages_of(record, "parking"),
        shortfalls={
            key: Shortfall(Resources(), age) for key, age in _ages_of(record, "shortfalls").items()
        },
    )


def _reservation_of(record: Record) -> Reservation:
    record.check_keys(_RESERVATION_KEYS)
    return Reservation(
        machine=record.text("machine", required="the id of the reserved machine"),
        kind=record.choice(
            "kind",
            RESERVATION_KINDS,
            ReservationKind.PREEMPTION,
            required=f"one of {', '.join(RESERVATION_KINDS)}",
        ),
        holder=_key_of(record),
        expires_at=record.instant("expiresAt"),
    )


def _ages_of(record: Record, key: str) -> dict[NeedKey, int]:
    ages: dict[NeedKey, int] = {}
    for entry in record.records(key):
        entry.check_keys(_AGE_KEYS)
        need = _key_of(entry)
        if need in ages:
            entry.complaints.add(entry.path, f"{need.need_id}: listed twice; keep one age")
        ages[need] = entry.whole("age", 0, 0, _INT64, required="the age in cycles")
    return ages


def _key_of(record: Record) -> NeedKey:
    return NeedKey(record.text("cluster"), record.text("needFingerprint"), record.text("group"))


def provenance_of(record: Record) -> Provenance:
    record.check_keys(_PROVENANCE_KEYS)
    cycle = record.raw.get("cycle")
    return Provenance(
        shard=record.text("shard"),
        cycle=str(cycle) if type(cycle) is int else record.text("cycle"),
        engine_version=record.text("engineVersion"),
        captured_at=record.instant("capturedAt"),
        redacted=record.flag("redacted", False),
    )


def costs_of(record: Record) -> Costs:
    record.check_keys(_COST_KEYS)
    prices = record.record("imputed")
    imputed = {
        str(name): prices.amount(name, 0.0) for name in prices.raw if prices.raw[name] is not None
    }
    return Costs(imputed, record.text_map("teams"))
