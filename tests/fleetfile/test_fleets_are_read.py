"""What a sound file means: defaults, shorthands, times, buckets, and every format alike."""

import gzip
import json
import math

import pytest

from bigfleet.fleetfile import load_fleet
from bigfleet.model.fleet import Fleet, HeldBy
from bigfleet.model.instants import instant_of, instant_text
from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.memory import ReservationKind
from bigfleet.model.needs import NeedKey
from bigfleet.model.penalties import HALF_DOLLAR, PINNED, UNSPECIFIED, ZERO, bucket_of_dollars
from bigfleet.model.requirements import RACK_KEY

NEW_YEAR_2026 = 1_767_225_600_000_000_000


def fleet_of(body: str) -> Fleet:
    return load_fleet(f"version: 1\nkind: Fleet\n{body}\n".encode(), "fleet.yaml")


def test_a_count_numbers_its_machines_and_rotates_zones_and_racks() -> None:
    fleet = fleet_of(
        'machines: [{id: "bm-{00}", count: 7, state: Idle, capacityType: BareMetal,'
        " zones: [a, b, c], racks: 2}]"
    )
    places = [
        (entry.machine.id, entry.machine.zone, entry.machine.labels[RACK_KEY])
        for entry in fleet.machines
    ]
    assert places == [
        ("bm-00", "a", "a-rack-0"),
        ("bm-01", "b", "b-rack-0"),
        ("bm-02", "c", "c-rack-0"),
        ("bm-03", "a", "a-rack-1"),
        ("bm-04", "b", "b-rack-1"),
        ("bm-05", "c", "c-rack-1"),
        ("bm-06", "a", "a-rack-0"),
    ]
    assert fleet.machines[3].machine.host == Host("sim", "bm-03")


def test_a_number_outgrows_its_zeros_and_braces_without_a_count_are_plain_text() -> None:
    fleet = fleet_of(
        'machines: [{id: "m{0}x", count: 11, state: Speculative, capacityType: Spot},'
        ' {id: "n{00}", state: Speculative, capacityType: Spot}]'
    )
    ids = [entry.machine.id for entry in fleet.machines]
    assert ids[:2] + ids[-2:] == ["m0x", "m1x", "m10x", "n{00}"]


def test_a_host_is_made_up_only_where_the_state_needs_one() -> None:
    fleet = fleet_of(
        """machines:
  - {id: a, state: Idle, capacityType: Spot}
  - {id: b, state: Speculative, capacityType: Spot}
  - {id: c, state: Failed, capacityType: Spot, lastError: gone}
  - {id: d, state: Idle, capacityType: Spot, host: aws/i-1/x}
  - {id: e, state: Idle, capacityType: Spot, host: {provider: gcp, ref: r}}"""
    )
    assert [entry.machine.host for entry in fleet.machines] == [
        Host("sim", "a"),
        Host(),
        Host(),
        Host("aws", "i-1/x"),
        Host("gcp", "r"),
    ]


def test_a_machine_is_read_with_all_its_fields() -> None:
    fleet = fleet_of(
        """machines:
  - {id: m, state: Idle, cluster: c, capacityType: OnDemand, instanceType: t, zone: z,
     pricePerHour: 6, interruptionProbability: 0.25, resources: {cpu: 0.5, memory: 1Gi},
     allocatable: {cpu: 400m}, labels: {b: "2", a: "1"}, idleSince: 2026-01-01T00:00:00Z,
     held: {by: backoff, until: "2026-01-01T00:00:00.5+00:00"}, overdue: true,
     assigned: {priority: -5, interruptionPenalty: 0.5, reclamationPenalty: pinned,
                cluster: k, needFingerprint: f, group: "g\\0h"}}"""
    )
    machine, marks = fleet.machines[0].machine, fleet.machines[0].marks
    assert (machine.state, machine.capacity_type) == (MachineState.IDLE, CapacityType.ON_DEMAND)
    assert (machine.cluster, machine.instance_type, machine.zone) == ("c", "t", "z")
    assert (machine.price_per_hour, machine.interruption_probability) == (6.0, 0.25)
    assert machine.resources.amounts == (("cpu", 500), ("memory", 2**30))
    assert machine.effective_allocatable.amounts == (("cpu", 400),)
    assert machine.labels == {"a": "1", "b": "2"}
    assert machine.assigned.reclamation_penalty == math.inf
    assert (machine.assigned.priority, machine.assigned.group) == (-5, "g\0h")
    assert marks.idle_since == NEW_YEAR_2026
    assert marks.held is not None
    assert (marks.held.by, marks.held.until) == (HeldBy.BACKOFF, NEW_YEAR_2026 + 500_000_000)
    assert marks.overdue
    assert not marks.empty


def test_a_machine_on_which_nothing_runs_is_read_as_empty() -> None:
    fleet = fleet_of(
        "machines: [{id: m, state: Configured, cluster: c, capacityType: Spot, empty: true}]"
    )
    assert fleet.machines[0].marks.empty


def test_yaml_words_and_numbers_stay_what_they_look_like() -> None:
    fleet = fleet_of(
        "machines: [{id: '010', state: Idle, capacityType: Spot, zone: no, instanceType: off,"
        " labels: {a: yes, c: 2026-01-01, d: 0x10, e: 1_000}, assigned: {group: 12:30:45}}]"
    )
    machine = fleet.machines[0].machine
    assert (machine.id, machine.zone, machine.instance_type) == ("010", "no", "off")
    assert dict(machine.labels) == {
        "a": "yes",
        "c": "2026-01-01",
        "d": "0x10",
        "e": "1_000",
    }
    assert machine.assigned.group == "12:30:45"


def test_yaml_anchors_and_merges_may_be_used() -> None:
    fleet = fleet_of(
        "x-base: &base {state: Idle, capacityType: Spot, zone: a}\n"
        "machines: [{<<: *base, id: a}, {<<: *base, id: b, zone: b}]"
    )
    assert [(e.machine.id, e.machine.zone) for e in fleet.machines] == [("a", "a"), ("b", "b")]


@pytest.mark.parametrize(
    ("written", "bucket"),
    [
        ("4", bucket_of_dollars(4)),
        ("'4'", bucket_of_dollars(4)),
        ("3.2", bucket_of_dollars(4)),
        ("0", ZERO),
        ("0.5", HALF_DOLLAR),
        ("'0.5'", HALF_DOLLAR),
        ("pinned", PINNED),
        ("99999999", PINNED),
        ("unspecified", UNSPECIFIED),
        ("PENALTY_BUCKET_HALF_DOLLAR", HALF_DOLLAR),
        ("PENALTY_BUCKET_8192", bucket_of_dollars(8192)),
        ("~", UNSPECIFIED),
    ],
)
def test_a_bucket_is_a_label_an_enum_name_or_dollars(written: str, bucket: int) -> None:
    fleet = fleet_of(
        "needs: [{cluster: c, priority: 1, aggregateResources: {},"
        f" interruptionPenaltyBucket: {written}}}]"
    )
    assert fleet.needs[0].need.profile.interruption_bucket == bucket


def test_an_arrival_is_a_time_or_nanoseconds() -> None:
    fleet = fleet_of(
        """needs:
  - {cluster: a, priority: 1, aggregateResources: {}, arrival: 300}
  - {cluster: b, priority: 1, aggregateResources: {}, arrival: "2026-01-01T01:00:00+01:00"}
  - {cluster: c, priority: 1, aggregateResources: {}}"""
    )
    assert [n.need.arrival_unix_nanos for n in fleet.needs] == [300, NEW_YEAR_2026, 0]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01t00:00:00.120z", "2026-01-01T00:00:00.12Z"),
        ("2026-01-01 05:30:00.000000001+05:30", "2026-01-01T00:00:00.000000001Z"),
        ("1969-12-31T23:59:59.9Z", "1969-12-31T23:59:59.9Z"),
        ("1900-01-01T00:00:00-01:00", "1900-01-01T01:00:00Z"),
    ],
)
def test_times_keep_their_nanoseconds(text: str, canonical: str) -> None:
    instant = instant_of(text)
    assert instant is not None
    assert instant_text(instant) == canonical
    assert instant_of(canonical) == instant


def test_options_and_memory_are_read() -> None:
    fleet = fleet_of(
        """
options: {now: "2026-01-01T00:00:00Z", clustersReady: [a], releaseHolds: {Spot: 5},
  victimWeights: {drain: 2}, drainSeconds: 1, reservationMargin: 2, parking: {after: 3},
  reclaimCapFraction: 0.05, maxActionsPerCycle: 7, cycles: 9, fold: false}
memory:
  reservations: [{machine: m, kind: transfer-in, cluster: c, needFingerprint: f, group: g,
                  expiresAt: "2026-01-01T00:00:01Z"}]
  parking: [{cluster: c, needFingerprint: f, age: 9}]
  shortfalls: [{cluster: c, needFingerprint: f, group: g, age: 2}]
costs: {imputed: {a3: 6.5}, teams: {shop: retail}}
provenance: {shard: s, cycle: 18231}
"""
    )
    options = fleet.options
    assert fleet.now == NEW_YEAR_2026
    assert options.clusters_ready == frozenset({"a"})
    assert options.release_holds == {CapacityType.SPOT: 5.0}
    assert (options.victim_weights.priority, options.victim_weights.drain) == (1.0, 2.0)
    assert (options.parking.after, options.parking.probe, options.fold) == (3, 32, False)
    assert fleet.plan.cycles == 9
    reservation = fleet.memory.reservations["m"]
    assert reservation.kind is ReservationKind.TRANSFER_IN
    assert reservation.holder == NeedKey("c", "f", "g")
    assert fleet.memory.parking == {NeedKey("c", "f", ""): 9}
    assert fleet.memory.shortfalls[NeedKey("c", "f", "g")].age == 2
    assert (fleet.costs.imputed, fleet.costs.team_of_cluster) == ({"a3": 6.5}, {"shop": "retail"})
    assert fleet.provenance.cycle == "18231"


def test_one_fleet_in_every_format_and_without_a_suffix_is_the_same_fleet() -> None:
    machine = {"id": "m", "state": "Idle", "capacityType": "Spot", "resources": {"cpu": 8}}
    need = {"cluster": "c", "priority": 1, "aggregateResources": {"cpu": "4"}}
    head = {"version": 1, "kind": "Fleet"}
    as_json = json.dumps({**head, "machines": [machine], "needs": [need]}, indent=1).encode()
    lines = [json.dumps(part) for part in (head, {"machine": machine}, {"need": need})]
    as_lines = "\n".join(lines).encode()
    expected = load_fleet(as_json, "fleet.json")
    assert expected.machines[0].machine.resources["cpu"] == 8000
    for content, name in [
        (as_json, "fleet.yaml"),
        (as_lines, "fleet.jsonl"),
        (gzip.compress(as_lines), "fleet.jsonl.gz"),
        (as_json, "-"),
        (as_lines, "-"),
        (gzip.compress(as_json), "-"),
        (b"\xef\xbb\xbf" + as_json, "fleet.json"),
    ]:
        assert load_fleet(content, name) == expected
