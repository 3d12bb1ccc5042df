"""Everything wrong with a file is said at once, each with its path, its value and a remedy."""

import gzip
import json

import pytest

from bigfleet.fleetfile import load_fleet
from bigfleet.model.errors import BadInput

MACHINE = "{id: m, state: Idle, capacityType: Spot, %s}"
NEED = "{cluster: c, priority: 1, aggregateResources: {cpu: 1}, %s}"


def problems_of(text: str, name: str = "fleet.yaml") -> list[str]:
    with pytest.raises(BadInput) as refusal:
        load_fleet(text.encode(), name)
    return [str(problem) for problem in refusal.value.problems]


def problem_of_machine(field: str) -> str:
    problems = problems_of(f"version: 1\nkind: Fleet\nmachines:\n  - {MACHINE % field}\n")
    assert len(problems) == 1, problems
    return problems[0]


def problem_of_need(field: str) -> str:
    problems = problems_of(f"version: 1\nkind: Fleet\nneeds:\n  - {NEED % field}\n")
    assert len(problems) == 1, problems
    return problems[0]


def problem_of_top(line: str) -> str:
    problems = problems_of(f"version: 1\nkind: Fleet\n{line}\n")
    assert len(problems) == 1, problems
    return problems[0]


@pytest.mark.parametrize(
    ("field", "path", "said"),
    [
        ("pricePerHour: .nan", "pricePerHour", "NaN: a price is a finite number"),
        ("pricePerHour: .inf", "pricePerHour", "Infinity: a price is a finite number"),
        ("pricePerHour: -0.01", "pricePerHour", "-0.01: a price is a finite number"),
        ("pricePerHour: cheap", "pricePerHour", '"cheap": not a number'),
        ("pricePerHour: true", "pricePerHour", "true: not a number"),
        ("interruptionProbability: 1.5", "interruptionProbability", "1.5: a probability lies"),
        ("interruptionProbability: .nan", "interruptionProbability", "NaN: a probability lies"),
        ("resources: {cpu: -1}", "resources.cpu", "-1"),
        ("resources: {memory: 3Xi}", "resources.memory", "3Xi"),
        ("resources: {cpu: true}", "resources.cpu", "true: write a quantity"),
        ("resources: {cpu: [1]}", "resources.cpu", "[1]: write a quantity"),
        ("allocatable: 8", "allocatable", "8: write a map of quantities"),
        (
            "resources: {example.com/gpu: x}",
            'resources["example.com/gpu"]',
            "is not a Kubernetes quantity",
        ),
        ("labels: {rack: 7}", "labels.rack", "7: not text; put it in quotes"),
        ("zone: 1", "zone", "1: not text; put it in quotes"),
        ("host: nowhere", "host", '"nowhere": write provider/ref'),
        ('host: ""', "host", "machine must name its host"),
        ("host: {provider: aws, rf: i-1}", "host.rf", "did you mean ref?"),
        ("idleSince: yesterday", "idleSince", '"yesterday": write an RFC 3339 time'),
        ('idleSince: "2026-02-30T00:00:00Z"', "idleSince", "write an RFC 3339 time"),
        ('idleSince: "2026-01-01T00:00:00"', "idleSince", "write an RFC 3339 time"),
        ("held: {by: backof}", "held.by", "did you mean backoff?"),
        ("held: {}", "held.by", "missing; one of backoff"),
        ("overdue: 1", "overdue", "1: write true or false"),
        ("empty: 'yes'", "empty", '"yes": write true or false'),
        (
            "resources: {memory: 1Pi}",
            "resources.memory",
            "1Pi is too much for one machine; write less than 1Pi",
        ),
        ("allocatable: {memory: 64Ei}", "allocatable.memory", "than BigFleet can count"),
        ("assigned: {priority: 2147483648}", "assigned.priority", "2147483648: write a whole"),
        ("assigned: {priority: 1.0}", "assigned.priority", "1.0: write a whole number"),
        ("assigned: {interruptionPenalty: -1}", "assigned.interruptionPenalty", "-1: write doll"),
        ("assigned: {reclamationPenalty: .inf}", "assigned.reclamationPenalty", "or pinned"),
        ("assigned: [1]", "assigned", "[1]: write a mapping"),
        ("pricePerHuor: 1", "pricePerHuor", "unknown key; did you mean pricePerHour?"),
        ("count: 3", "id", "with count the id holds zeros in braces"),
        ("count: -1", "count", "-1: write a whole number"),
        ("zone: a, zones: [b]", "zones", "give zone or zones, not both"),
        (
            "racks: 2, labels: {topology.bigfleet/rack: r}",
            "racks",
            "the labels already name a rack",
        ),
    ],
)
def test_a_bad_machine_field_is_named_with_its_value(field: str, path: str, said: str) -> None:
    problem = problem_of_machine(field)
    assert problem.startswith(f"machines[0].{path}: ")
    assert said in problem
    assert problem.endswith("(line 4)")


@pytest.mark.parametrize(
    ("field", "path", "said"),
    [
        ("name: 3", "name", "3: not text"),
        ("source: pods", "source", "did you mean pod?"),
        ("interruptionPenaltyBucket: -4", "interruptionPenaltyBucket", "-4: write dollars"),
        ("interruptionPenaltyBucket: '3'", "interruptionPenaltyBucket", '"3": write dollars'),
        ("reclamationPenaltyBucket: .nan", "reclamationPenaltyBucket", "NaN: write dollars"),
        ("minUnit: {cpu: 1z}", "minUnit.cpu", "1z"),
        ("arrival: soon", "arrival", "or whole nanoseconds"),
        ("arrival: 1.5", "arrival", "1.5: write an RFC 3339 time"),
        ("requirements: [{key: zone, operator: in}]", "requirements[0].operator", "mean In?"),
        ("requirements: [{operator: Same}]", "requirements[0].key", "missing"),
        (
            "requirements: [{key: a, operator: In, values: [1]}]",
            "requirements[0].values[0]",
            "1: not text",
        ),
        ("requirements: {key: a}", "requirements", "write a list of mappings"),
        ("spread: [{topologyKey: z, maxSkew: 1}]", "spread[0].whenUnsatisfiable", "missing"),
        (
            "spread: [{topologyKey: z, maxSkew: -1, whenUnsatisfiable: DoNotSchedule}]",
            "spread[0].maxSkew",
            "-1: write a whole number",
        ),
        ("acquisitionParked: maybe", "acquisitionParked", '"maybe": write true or false'),
        ("prioritie: 1", "prioritie", "did you mean priority?"),
    ],
)
def test_a_bad_need_field_is_named_with_its_value(field: str, path: str, said: str) -> None:
    problem = problem_of_need(field)
    assert problem.startswith(f"needs[0].{path}: ")
    assert said in problem


@pytest.mark.parametrize(
    ("line", "path", "said"),
    [
        ("options: {now: 5}", "options.now", "5: write an RFC 3339 time"),
        ("options: {clustersReady: some}", "options.clustersReady", "write all or the list"),
        ("options: {releaseHolds: {Spots: 1}}", "options.releaseHolds.Spots", "did you mean Spot"),
        ("options: {releaseHolds: {Spot: -1}}", "options.releaseHolds.Spot", "-1: write a finite"),
        ("options: {victimWeights: {gap: 1}}", "options.victimWeights.gap", "unknown key"),
        ("options: {drainSeconds: .inf}", "options.drainSeconds", "Infinity: write a finite"),
        ("options: {parking: {probe: 0}}", "options.parking.probe", "0: write a whole number"),
        ("options: {reclaimCapFraction: 2}", "options.reclaimCapFraction", "between 0 and 1"),
        ("options: {maxActionsPerCycle: 1.5}", "options.maxActionsPerCycle", "1.5: write a whole"),
        ("options: {cycles: 0}", "options.cycles", "0: write a whole number from 1"),
        ("options: {fold: 0}", "options.fold", "0: write true or false"),
        ("memory: {reservations: [{kind: gift, machine: m}]}", "memory.reservations[0].kind", ""),
        ("memory: {parking: [{cluster: c}]}", "memory.parking[0].age", "missing"),
        ("costs: {imputed: {a3: -2}}", "costs.imputed.a3", "-2: write a finite number"),
        ("costs: {teams: {shop: 1}}", "costs.teams.shop", "1: not text"),
        ("provenance: {redacted: 1}", "provenance.redacted", "1: write true or false"),
        ("machines: {}", "machines", "write a list of mappings"),
        ("machines: [7]", "machines[0]", "7: write a mapping"),
        ("mashines: []", "mashines", "did you mean machines?"),
    ],
)
def test_a_bad_setting_is_named_with_its_value(line: str, path: str, said: str) -> None:
    problem = problem_of_top(line)
    assert problem.startswith(f"{path}: ")
    assert said in problem


@pytest.mark.parametrize(
    ("fields", "path", "said"),
    [
        ("state: Speculative, host: a/b", "host", '"a/b": a Speculative machine has no host yet'),
        ("state: Creating, cluster: c", "cluster", '"c": a Creating machine is bound to no'),
        ("state: Configured", "cluster", "missing; a Configured machine must name its cluster"),
        ("state: Draining", "cluster", "missing; a Draining machine must name its cluster"),
        ("state: Failed", "lastError", "missing; a Failed machine must say what failed"),
        ("state: Unspecified", "state", "it is one of Speculative, Creating"),
        ("cluster: c", "state", "missing; one of Speculative"),
        (
            'state: Configured, cluster: c, idleSince: "2026-01-01T00:00:00Z"',
            "idleSince",
            "only an Idle machine has one",
        ),
        ("state: Creating, held: {by: quota}", "held", "only Idle and Speculative machines"),
        ("state: Idle, empty: true", "empty", "true: only a Configured machine is empty"),
        ("state: Draining, cluster: c, empty: true", "empty", "only a Configured machine is empty"),
    ],
)
def test_a_machine_that_breaks_an_invariant_is_refused(fields: str, path: str, said: str) -> None:
    text = f"version: 1\nkind: Fleet\nmachines:\n  - {{id: m, capacityType: Spot, {fields}}}\n"
    problem, *more = problems_of(text)
    assert not more
    assert problem.startswith(f"machines[0].{path}: ")
    assert said in problem


def test_every_problem_of_a_file_is_reported_at_once() -> None:
    problems = problems_of(
        """
version: 2
kind: Flete
machines:
  - {id: a, state: Idel, capacityType: Spt, pricePerHour: -1, interruptionProbability: 2}
  - {id: a, state: Configured, capacityType: Spot, resources: {cpu: x, memory: y}}
needs:
  - {priority: 1, aggregateResources: {cpu: 1}}
options: {cycles: no}
"""
    )
    assert [problem.split(": ")[0] for problem in problems] == [
        "version",
        "kind",
        "options.cycles",
        "machines[0].state",
        "machines[0].capacityType",
        "machines[0].interruptionProbability",
        "machines[0].pricePerHour",
        "machines[1].resources.cpu",
        "machines[1].resources.memory",
        "machines[1].cluster",
        "machines[1].id",
        "needs[0].cluster",
    ]


def test_a_duplicate_id_is_found_also_after_a_count_is_expanded() -> None:
    problems = problems_of(
        """
version: 1
kind: Fleet
machines:
  - {id: m-1, state: Idle, capacityType: Spot}
  - {id: "m-{0}", count: 3, state: Idle, capacityType: Spot}
"""
    )
    assert problems == ['machines[1].id: "m-1": duplicate id, first used by machines[0] (line 6)']


def test_two_needs_of_one_identity_are_refused_however_they_are_written() -> None:
    problems = problems_of(
        """
version: 1
kind: Fleet
needs:
  - {cluster: c, priority: 1, aggregateResources: {cpu: 1}, interruptionPenaltyBucket: 3,
     requirements: [{key: z, operator: In, values: [b, a, a]}, {key: y, operator: Exists}]}
  - {cluster: c, priority: 1, aggregateResources: {cpu: 2}, interruptionPenaltyBucket: "4",
     requirements: [{key: y, operator: Exists}, {key: z, operator: In, values: [a, b]}]}
  - {cluster: c, priority: 1, aggregateResources: {cpu: 2}, interruptionPenaltyBucket: "4",
     requirements: [{key: y, operator: Exists}, {key: z, operator: In, values: [a, b]}], group: g}
"""
    )
    assert len(problems) == 1
    assert problems[0].startswith("needs[1]: ")
    assert "same cluster, profile and group as needs[0]" in problems[0]


def test_keys_that_start_with_x_are_ignored_everywhere() -> None:
    fleet = load_fleet(
        b"""
version: 1
kind: Fleet
x-note: {any: thing}
machines:
  - {id: m, state: Idle, capacityType: Spot, x-owner: ops, assigned: {x-a: 1}}
needs:
  - {cluster: c, priority: 1, aggregateResources: {}, x-b: [1]}
options: {x-c: 1}
""",
        "fleet.yaml",
    )
    assert len(fleet.machines) == len(fleet.needs) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "not valid YAML"),
        ("version: 1\nkind: Fleet\nname: a\nname: b\n", "key 'name' appears twice"),
        ("version: 1\nkind: Fleet\nname: !!python/object:os.system x\n", "not valid YAML"),
        ("version: 1\nkind: Fleet\n---\nversion: 1\n", "not valid YAML"),
        ("[1, 2]", "a fleet file is a mapping"),
        ("", "a fleet file is a mapping"),
        ("[" * 5000, "not valid YAML"),
    ],
    ids=["unclosed", "repeated key", "python tag", "two documents", "a list", "empty", "deep"],
)
def test_yaml_that_is_not_a_fleet_is_refused(text: str, said: str) -> None:
    problem, *more = problems_of(text)
    assert not more
    assert said in problem


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"version":1,', "not valid JSON"),
        ('{"version":1,"kind":"Fleet","name":"a","name":"b"}', '"name" appears twice'),
        ('{"version":1,"kind":"Fleet","name" : "a", "name" :"b"}', '"name" appears twice'),
        ('{"version":1,"kind":"Fleet","name":"\\ud800"}', "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
    ],
    ids=["cut off", "repeated key", "repeated key with spaces", "half a character", "deep"],
)
def test_json_that_is_not_a_fleet_is_refused(text: str, said: str) -> None:
    problem, *more = problems_of(text, "fleet.json")
    assert not more
    assert said in problem


def test_nan_in_json_is_refused_where_it_stands() -> None:
    text = (
        '{"version":1,"kind":"Fleet","machines":[{"id":"m","state":"Idle","capacityType":"Spot",'
        '"pricePerHour":NaN,"interruptionProbability":-Infinity}]}'
    )
    assert [problem.split(" (")[0] for problem in problems_of(text, "fleet.json")] == [
        "machines[0].interruptionProbability: -Infinity: a probability lies between 0 and 1",
        "machines[0].pricePerHour: NaN: a price is a finite number of dollars, zero or more",
    ]


def test_lines_name_the_record_and_the_line() -> None:
    lines = [
        json.dumps({"version": 1, "kind": "Fleet", "machines": []}),
        json.dumps({"machine": {"id": "a", "state": "Idle", "capacityType": "Spot"}}),
        "",
        json.dumps({"machine": {"id": "b", "state": "Idle", "capacityType": "Spot", "zone": 1}}),
        json.dumps({"needs": {}}),
        "{",
        "7",
        json.dumps({"need": {"cluster": "c", "priority": 1.5, "aggregateResources": {}}}),
    ]
    problems = problems_of("\n".join(lines), "fleet.jsonl")
    assert [problem.split(": ")[0] for problem in problems] == [
        "line 5",
        "line 6",
        "line 7",
        "machines",
        "machines[1].zone",
        "needs[0].priority",
    ]
    assert problems[4].endswith("(line 4)")
    assert problems[5].endswith("(line 8)")


def test_a_broken_archive_and_foreign_bytes_are_refused() -> None:
    packed = gzip.compress(b"version: 1\nkind: Fleet\n")
    with pytest.raises(BadInput, match="not a gzip file"):
        load_fleet(packed[:-9], "fleet.yaml.gz")
    with pytest.raises(BadInput, match="not UTF-8 text"):
        load_fleet(b"name: \xff\xfe", "fleet.yaml")
