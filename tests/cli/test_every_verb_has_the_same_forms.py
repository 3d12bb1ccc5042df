"""Every -o takes the same forms: all six for a list, three for an answer that is not one."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from click.testing import Result as Answer

from bigfleet.bench.engine.runner import Result
from bigfleet.bench.measures import Measure
from bigfleet.cli import load_tests
from bigfleet.cli.main import VERBS, cli
from bigfleet.cli.measures import print_measures
from bigfleet.cli.output import DOCUMENT_FORMATS, FORMATS, Output, set_output
from bigfleet.cli.provider_bench import bench as bench_provider

FLEET = """
version: 1
kind: Fleet
machines:
  - {id: "od-{00}", count: 4, state: Speculative, capacityType: OnDemand, instanceType: std-8,
     zone: a, pricePerHour: 0.38, resources: {cpu: 8, memory: 32Gi}}
needs:
  - {cluster: shop, priority: 100, aggregateResources: {cpu: 12}, minUnit: {cpu: 2}}
"""


def commands(
    group: click.Command, context: click.Context, name: str
) -> Iterator[tuple[str, click.Command]]:
    yield name, group
    if isinstance(group, click.Group):
        for word in group.list_commands(context):
            found = group.get_command(context, word)
            assert found is not None
            yield from commands(found, context, f"{name} {word}".strip())


BENCHES = {
    "bench coordinator": load_tests.coordinator,
    "bench journal": load_tests.journal,
    "bench operator": load_tests.operator,
    "bench up": load_tests.up,
    "bench provider": bench_provider,
    "bench shard": load_tests.shard,
}
OUTPUTS = {
    name: param
    for name, command in [*commands(cli, click.Context(cli), ""), *BENCHES.items()]
    for param in command.params
    if "-o" in param.opts
}


def forms(param: click.Parameter) -> tuple[str, ...]:
    return tuple(map(str, getattr(param.type, "choices", ())))


@pytest.mark.parametrize("verb", OUTPUTS)
def test_a_verb_takes_all_forms_or_those_of_one_document(verb: str) -> None:
    assert forms(OUTPUTS[verb]) in (FORMATS, DOCUMENT_FORMATS)


LISTS = (
    *("plan", "context list", "bench", "conformance", "conformance diff", "provider machines"),
    *("shard", "coordinator", "operator run", "podwatch", *BENCHES),
)


@pytest.mark.parametrize("verb", LISTS)
def test_a_list_takes_all_forms(verb: str) -> None:
    assert forms(OUTPUTS[verb]) == FORMATS


@pytest.mark.parametrize("verb", [v for v, p in OUTPUTS.items() if forms(p) != FORMATS])
@pytest.mark.parametrize("form", ["wide", "csv", "name"])
def test_an_answer_that_is_not_a_list_refuses_the_forms_of_lists(verb: str, form: str) -> None:
    param = OUTPUTS[verb]
    with pytest.raises(click.BadParameter, match="this answer is not a list") as refused:
        param.type.convert(form, param, click.Context(cli))
    assert str(refused.value) == (
        f"{form} is a form of lists, and this answer is not a list; write table, json or yaml"
    )


# -- answers -----------------------------------------------------------------------------------


def asked(words: str, *more: str) -> Answer:
    return CliRunner().invoke(cli, [*words.split(), *more])


def told(words: str, *more: str) -> str:
    result = asked(words, *more)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "fleet.yaml"
    path.write_text(FLEET)
    return str(path)


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGFLEET_CONTEXTS", str(tmp_path / "contexts.yaml"))
    told("context set prod --coordinator coord-1:7790 --use")
    told("context set dev --coordinator coord-2:7790")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_a_plan_is_a_list_of_actions(file: str) -> None:
    assert told("plan -o name", file) == "machine/od-00\nmachine/od-01\n"
    rows = rows_of(told("plan -o csv", file))
    assert [(row["ACTION"], row["MACHINE"], row["CLUSTER"]) for row in rows] == [
        ("Provision", "od-00", "shop"),
        ("Provision", "od-01", "shop"),
    ]
    assert [(row["TYPE"], row["ZONE"], row["$/H"]) for row in rows] == [("std-8", "a", "0.38")] * 2
    assert "WHY" in rows[0]
    assert "TYPE" not in told("plan", file)
    assert "TYPE" in told("plan -o wide", file)


def test_for_programs_no_action_is_cut_off(file: str) -> None:
    assert told("plan -o name --limit 1", file) == "machine/od-00\nmachine/od-01\n"
    assert len(rows_of(told("plan -o csv --limit 1", file))) == 2


def test_actions_are_sorted_before_they_are_cut(file: str) -> None:
    assert told("plan -o name --sort-by=-MACHINE", file) == "machine/od-01\nmachine/od-00\n"
    shown = told("plan --limit 1 --sort-by=-MACHINE", file)
    assert "od-01" in shown
    assert "od-00" not in shown
    refused = asked("plan --sort-by MACHIN", file)
    assert (refused.exit_code, "did you mean MACHINE?" in refused.stderr) == (2, True)


def test_a_plan_without_actions_is_headings_for_programs(tmp_path: Path) -> None:
    path = tmp_path / "quiet.yaml"
    path.write_text("version: 1\nkind: Fleet\n")
    assert told("plan -o name", str(path)) == ""
    assert told("plan -o csv", str(path)).startswith("ACTION,MACHINE,CLUSTER,")


@pytest.mark.parametrize("verb", ["plan {file}", "version"])
def test_yaml_says_what_json_says(file: str, verb: str) -> None:
    words = verb.format(file=file)
    as_json, as_yaml = (json.loads(told(f"{words} -o json")), yaml.safe_load(told(words, "-oyaml")))
    assert as_yaml.keys() == as_json.keys()
    assert as_yaml.get("actions") == as_json.get("actions")


@pytest.mark.usefixtures("contexts")
def test_contexts_are_a_list() -> None:
    assert told("context list -o name") == "context/dev\ncontext/prod\n"
    assert told("context list -o name --sort-by=-NAME") == "context/prod\ncontext/dev\n"
    assert rows_of(told("context list -o csv"))[1]["COORDINATOR"] == "coord-1:7790"
    assert [item["name"] for item in yaml.safe_load(told("context list -o yaml"))["items"]] == [
        "dev",
        "prod",
    ]
    assert yaml.safe_load(told("context show -o yaml"))["name"] == "prod"
    assert asked("context show -o csv").exit_code == 2


def test_certificates_are_told_as_yaml(tmp_path: Path) -> None:
    made = yaml.safe_load(told("certs ca -o yaml --dir", str(tmp_path)))
    assert made["files"] == {"ca": str(tmp_path / "ca.crt"), "key": str(tmp_path / "ca.key")}
    assert asked("certs ca -o name --dir", str(tmp_path)).exit_code == 2


def test_shapes_of_the_bench_are_a_list() -> None:
    assert "shape/uber-5k\n" in told("bench --list -o name")
    assert rows_of(told("bench --list -o csv"))[0]["SHAPE"] == "uber-5k"
    assert json.loads(told("bench --list -o json"))["items"][0]["shape"] == "uber-5k"


def test_results_of_the_bench_are_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    result = Result(
        *("uber-5k", "full", 1, 2, 50, 5, 1, 1.5, 2.5, 2.5, {"phase 1": 1.0}, 7),
        *(0.0, 100.0, 500.0, 0.1, 60.0),
    )
    monkeypatch.setattr("bigfleet.bench.engine.runner.run", lambda *_: result)
    (row,) = rows_of(told("bench uber-5k -o csv"))
    assert (row["SHAPE"], row["P50_MS"], row["RSS_MB"]) == ("uber-5k", "1.50", "100")
    assert told("bench uber-5k -o name") == "shape/uber-5k\n"
    (document,) = yaml.safe_load_all(told("bench uber-5k -o yaml"))
    assert document == json.loads(told("bench uber-5k -o json"))
    assert "p50 ms by part" in told("bench uber-5k")


def test_measures_are_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    measures = [Measure("cycle, p99", 2.5, "ms", at_most=3), Measure("cores", 1.0, "")]

    def said(output: Output) -> str:
        with click.Context(click.Command("bench")):
            set_output(output)
            print_measures(measures, "a note", machines=7)
        return capsys.readouterr().out

    assert said(Output("name")) == "measure/cycle, p99\nmeasure/cores\n"
    assert rows_of(said(Output("csv")))[0] == {
        "MEASURE": "cycle, p99",
        "MEASURED": "2.5",
        "UNIT": "ms",
        "RANGE": "",
        "BUDGET": "<= 3",
        "VERDICT": "met",
    }
    assert yaml.safe_load(said(Output("yaml"))) == json.loads(said(Output("json")))
    assert json.loads(said(Output("json")))["machines"] == 7
    assert said(Output()).endswith("\n\na note\n")


def test_rows_of_the_conformance_suite_are_a_list(tmp_path: Path) -> None:
    assert told("conformance --list --only B302 -o name") == "row/B302\n"
    (row,) = rows_of(told("conformance --list --only B302 -o csv"))
    assert (row["ROW"], row["PROFILES"] != "") == ("B302", True)
    listed = yaml.safe_load(told("conformance --list --only B302 -o yaml"))
    assert listed == json.loads(told("conformance --list --only B302 -o json"))


def test_two_reports_compared_are_a_list(tmp_path: Path) -> None:
    for name, status in (("before", "passed"), ("after", "failed")):
        (tmp_path / f"{name}.json").write_text(json.dumps(report(status)))
    words = f"conformance diff {tmp_path}/before.json {tmp_path}/after.json"
    result = asked(f"{words} -o name")
    assert (result.exit_code, result.stdout) == (1, "row/B302\n")
    (row,) = rows_of(asked(f"{words} -o csv").stdout)
    assert (row["ROW"], row["BEFORE"], row["AFTER"]) == ("B302", "passed", "failed")


def report(status: str) -> dict[str, Any]:
    return {"behaviors": [{"id": "B302", "title": "t", "status": status, "reason": "r"}]}


def test_settings_are_a_list() -> None:
    assert "setting/podwatch.buffers\n" in told("podwatch --print-config -o name")
    settings = rows_of(told("podwatch --print-config -o csv"))
    assert {"KEY": "podwatch.buffers", "VALUE": "auto", "ORIGIN": "default", "SIGHUP": ""} in (
        settings
    )
    as_yaml = yaml.safe_load(told("podwatch --print-config -o yaml"))
    assert as_yaml == json.loads(told("podwatch --print-config -o json"))
    assert yaml.safe_load(told("status --print-config -o yaml"))["cli.output"]["value"] == "yaml"


def test_every_verb_of_the_frame_was_looked_at() -> None:
    assert {name.split()[0] for name in OUTPUTS} >= VERBS.keys() - {"completion", "help", "warm"}
