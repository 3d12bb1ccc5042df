"""A setting that cannot be meant ends the start with 2, naming place, key and reason."""

from pathlib import Path

import pytest

from bigfleet.model.errors import BadInput
from tests.settings.verbs import load, run, written


def problems_of(tmp_path: Path, text: str, name: str = "bigfleet.yaml") -> list[str]:
    path = written(tmp_path, text, name)
    with pytest.raises(BadInput) as refused:
        load(path)
    return [str(p).removeprefix(f"{tmp_path}/") for p in refused.value.problems]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "shard: {cycle_intervall: 1s}",
            "bigfleet.yaml:1: shard.cycle_intervall: no such key; did you mean"
            " shard.cycle_interval?",
        ),
        ("shrad: {}", "bigfleet.yaml:1: shrad: no such section; there are shard,"),
        (
            "shard:\n  reconcile:\n    interval: soon",
            "bigfleet.yaml:3: shard.reconcile.interval: 'soon' is not a duration such as",
        ),
        (
            "shard: {reconcile: 5}",
            "bigfleet.yaml:1: shard.reconcile: 5 stands where a mapping of absent_lists,",
        ),
        ("shard: {workers: 2.5}", "bigfleet.yaml:1: shard.workers: 2.5 is not a whole number"),
        ("shard: {workers: -1}", "shard.workers: -1 is too small; the least is 0"),
        ("shard: {dry_run: maybe}", "shard.dry_run: 'maybe' is not true or false"),
        ("shard: {rails: {reclaim_cap_fraction: 1.5}}", "1.5 is too large; the most is 1"),
        ("shard: {reconcile: {mode: fast}}", "'fast' is not one of auto, full, incremental"),
        ("shard: {session: {outbox_bytes: lots}}", "'lots' is not a size such as 64MiB"),
        ("shard: {execute: {rpc_timeout: 0}}", "0 is too small; the least is 1ms"),
        (
            "shard: {engine: {victim_weight_drain: -1}}",
            "shard.engine.victim_weight_drain: -1 is too small; the least is 0",
        ),
        ("shard: {engine: {victim_weight_priority: .inf}}", "inf is not a number"),
        (
            "shard: {engine: {parking_probe: 0}}",
            "shard.engine.parking_probe: 0 is too small; the least is 1",
        ),
        ("shard: {provider_addr: [1]}", "[1] is not a list of texts"),
        ("shard: {id: [x]}", "['x'] is not text"),
        ("shard: [1", "bigfleet.yaml: is not YAML"),
        ("shard: {id: a, id: b}", "key 'id' appears twice"),
        ("- shard", "bigfleet.yaml: a config file is a mapping of sections"),
    ],
)
def test_a_file_is_refused_with_place_and_reason(tmp_path: Path, text: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, text)
    assert problem in found


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    text = "shard: {workers: x, unknown: 1, dry_run: 7}\nlog: {level: loud}"
    assert len(problems_of(tmp_path, text)) == 4


def test_sections_of_other_verbs_are_theirs_to_check(tmp_path: Path) -> None:
    load(written(tmp_path, "operator: {cluster_id: shop}\ncoordinator:\n"))


@pytest.mark.parametrize(
    ("name", "problem"),
    [("a.toml", "is not TOML"), ("a.ini", "unknown format; a config file ends in .yaml")],
)
def test_other_formats_are_refused(tmp_path: Path, name: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, "x = = 1", name)
    assert problem in found


def test_a_file_that_is_not_there_is_refused() -> None:
    result = run("--config", "nowhere.yaml")
    assert result.exit_code == 2
    assert "nowhere.yaml: cannot be read: No such file or directory" in result.stderr


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("shard: {cycle_interval: 50ms}", "shard.cycle_min_gap: is longer than cycle_interval"),
        (
            "shard: {rails: {pause_max_ttl: 1h}}",
            "shard.rails.pause_default_ttl: is longer than rails.pause_max_ttl",
        ),
        ("shard: {id: ''}", "is empty; providers know a shard by its id"),
        ("shard: {data_dir: ''}", "is empty; the epoch must outlive the process"),
        ("shard: {ownership: assigned}", "coordinator_addr is empty"),
        ("shard: {listen: nowhere}", "'nowhere' is not host:port"),
        ("shard: {metrics_addr: '127.0.0.1:7780'}", "they need two ports"),
        ("shard: {provider_addr: ['localhost:9000']}", "'localhost:9000' is not name=host:port"),
        ("shard: {provider_addr: ['a=h:1', 'a=h:2']}", "names provider a twice"),
        (
            "shard: {deadlines: {of_provider: [aws.creating]}}",
            "shard.deadlines.of_provider (file",
        ),
        (
            "shard: {deadlines: {of_provider: [creating=5m]}}",
            "'creating=5m' is not NAME.STATE=DURATION such as aws.creating=30m",
        ),
        (
            "shard: {provider_addr: ['aws=h:1'], deadlines: {of_provider: [aws.create=5m]}}",
            "'aws.create=5m' names no deadline; there are creating, configuring, draining_extra,"
            " deleting",
        ),
        (
            "shard: {provider_addr: ['aws=h:1'], deadlines: {of_provider: [aws.creating=soon]}}",
            "'aws.creating=soon' has no duration such as 500ms, 30s or 1h30m",
        ),
        (
            "shard: {provider_addr: ['aws=h:1'], deadlines: {of_provider: [asw.creating=5m]}}",
            "'asw.creating=5m' is about a provider that provider_addr does not name; there are aws",
        ),
        (
            "shard: {provider_addr: ['a.b=h:1'],"
            " deadlines: {of_provider: [a.b.creating=5m, a.b.deleting=1m, a.b.creating=6m]}}",
            "says a.b.creating twice; keep one",
        ),
        (
            "shard: {label_defaults: [kubernetes.io/os]}",
            "'kubernetes.io/os' has no value; write [PROVIDER:]KEY=VALUE, such as"
            " kubernetes.io/arch=arm64, or [PROVIDER:]KEY- for none",
        ),
        (
            "shard: {label_defaults: ['kubernetes.io/os=']}",
            "'kubernetes.io/os=' has no value; write kubernetes.io/os- for no default",
        ),
        ("shard: {label_defaults: ['my_os.io/a b=c']}", "'my_os.io' is not a DNS name"),
        ("shard: {label_defaults: ['kubernetes.io/a b=c']}", "is not a label key; use at most 63"),
        ("shard: {label_defaults: ['os=a b']}", "'a b' is not a label value; use at most 63"),
        (
            "shard: {label_defaults: ['kubernetes.io/hostname=a']}",
            "kubernetes.io/hostname is the name of one Node",
        ),
        ("shard: {label_defaults: [':a=b']}", "':a=b' has no provider before its colon"),
        (
            "shard: {provider_addr: ['aws=h:1'], label_defaults: ['asw:a=b']}",
            "'asw:a=b' is about a provider that provider_addr does not name; there are aws",
        ),
        ("shard: {label_defaults: [a=b, a-]}", "says a twice; keep one"),
        ("tls: {cert: a.crt}", "goes together with key and ca: all three, or none"),
        ("tls: {cert: a.crt, ca: ca.crt}", "goes together with key: all three"),
        ("tls: {required: true}", "is set, but cert, key and ca are not"),
    ],
)
def test_a_contradiction_is_refused(tmp_path: Path, settings: str, problem: str) -> None:
    (found,) = problems_of(tmp_path, settings)
    assert problem in found


@pytest.mark.parametrize(
    "settings",
    [
        "shard: {metrics_addr: 0}",
        "shard: {metrics_addr: ''}",
        "shard: {listen: '127.0.0.1:0', metrics_addr: '127.0.0.1:0'}",
        "shard: {ownership: assigned, coordinator_addr: ['h:1']}",
        "shard: {provider_addr: ['a.b=h:1'], deadlines: {of_provider: [a.b.creating=1h30m]}}",
        "shard: {providers_from_registry: true, deadlines: {of_provider: [aws.deleting=90]}}",
        "shard: {provider_addr: ['aws=h:1'], label_defaults: ['aws:a/b=c', 'a/b=d', 'e-']}",
        "shard: {providers_from_registry: true, label_defaults: ['later:a=b']}",
        "tls: {cert: a, key: b, ca: c, required: true}",
        "tls:",
    ],
)
def test_what_goes_together_is_accepted(tmp_path: Path, settings: str) -> None:
    load(written(tmp_path, settings))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cycle-interval", "soon"], "Invalid value for '--cycle-interval': 'soon' is not"),
        (["--no-such-flag"], "No such option '--no-such-flag'"),
        (["--phase1-workers", "many"], "flag --phase1-workers: 'many' is not a whole number"),
        (["--tls-cert", "a.crt"], "tls.cert (flag --tls-cert): goes together with key and ca"),
    ],
)
def test_a_bad_flag_ends_with_two(words: list[str], said: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_bad_variable_ends_with_two_and_is_named() -> None:
    result = run(env={"BIGFLEET_SHARD_WORKERS": "many"})
    assert result.exit_code == 2
    assert "environment BIGFLEET_SHARD_WORKERS: 'many' is not a whole number" in result.stderr
