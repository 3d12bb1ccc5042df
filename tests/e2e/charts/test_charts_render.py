"""helm alone: charts lint, render what was asked for, and refuse what cannot work."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.pages import blocks_of
from tests.architecture.tree import ROOT
from tests.charts.charts import BIGFLEET, CHARTS, OPERATOR, PODWATCH, Chart
from tests.e2e.charts.rendering import TRIALS, Trial, helm, of_kind, rendered, workloads

PAGE = ROOT / "docs" / "charts.md"


def objects_of(chart: Chart, trial: str) -> list[dict[str, Any]]:
    return Trial(chart, chart.folder / "ci" / f"{trial}.yaml").objects()


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_a_chart_passes_the_strictest_lint(trial: Trial) -> None:
    done = helm("lint", "--strict", str(trial.chart.folder), "--values", str(trial.values))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_every_object_is_in_the_namespace_of_the_release_or_says_why_not(trial: Trial) -> None:
    elsewhere = {
        (each["kind"], each["metadata"].get("namespace"))
        for each in trial.objects()
        if each["metadata"].get("namespace") != "fleet"
    }
    assert elsewhere <= {
        ("ClusterRole", None),
        ("ClusterRoleBinding", None),
        ("CustomResourceDefinition", None),
        ("Role", "kube-system"),
        ("RoleBinding", "kube-system"),
        ("ValidatingAdmissionPolicy", None),
        ("ValidatingAdmissionPolicyBinding", None),
    }


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_every_container_can_be_probed_and_scraped_on_its_metrics_port(trial: Trial) -> None:
    for workload in workloads(trial.objects()):
        (container,) = workload.containers
        assert "metrics" in {port["name"] for port in container["ports"]}
        probes = {
            probe: container[probe]["httpGet"]
            for probe in ("startupProbe", "livenessProbe", "readinessProbe")
        }
        assert {each["port"] for each in probes.values()} == {"metrics"}
        assert probes["livenessProbe"]["path"] == "/healthz"
        assert probes["readinessProbe"]["path"] == "/readyz"
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert set(container["resources"]["limits"]) == {"memory"}


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_every_selector_finds_pods_of_this_release(trial: Trial) -> None:
    objects = trial.objects()
    pods = [each.template["metadata"]["labels"] for each in workloads(objects)]
    own = {"statefulset.kubernetes.io/pod-name"}
    wanted = [each["spec"]["selector"] for each in of_kind(objects, "Service")]
    wanted += [
        e["spec"]["selector"]["matchLabels"] for e in of_kind(objects, "PodDisruptionBudget")
    ]
    wanted += [e["spec"]["podSelector"]["matchLabels"] for e in of_kind(objects, "NetworkPolicy")]
    for selector in wanted:
        labels = {name: value for name, value in selector.items() if name not in own}
        assert [pod for pod in pods if labels.items() <= pod.items()], selector


@pytest.mark.parametrize("trial", TRIALS, ids=str)
def test_monitors_select_a_service_that_has_the_port_they_scrape(trial: Trial) -> None:
    objects = trial.objects()
    services = of_kind(objects, "Service")
    for monitor in of_kind(objects, "ServiceMonitor"):
        labels = monitor["spec"]["selector"]["matchLabels"].items()
        (service,) = [each for each in services if labels <= each["metadata"]["labels"].items()]
        ports = {port["name"] for port in service["spec"]["ports"]}
        assert {each["port"] for each in monitor["spec"]["endpoints"]} <= ports


def test_each_shard_reads_the_certificate_with_its_own_name() -> None:
    objects = objects_of(BIGFLEET, "everything")
    uris = {
        each["spec"]["secretName"]: each["spec"].get("uris", [])
        for each in of_kind(objects, "Certificate")
    }
    assert uris == {
        "fleet-bigfleet-shard-0-tls": ["bigfleet://shard/fleet-bigfleet-shard-0"],
        "fleet-bigfleet-shard-1-tls": ["bigfleet://shard/fleet-bigfleet-shard-1"],
        "fleet-bigfleet-shard-2-tls": ["bigfleet://shard/fleet-bigfleet-shard-2"],
        "fleet-bigfleet-coordinator-tls": [],
        "fleet-bigfleet-sim-tls": [],
    }
    (shard,) = [each for each in workloads(objects) if each.pod_name.endswith("shard-0")]
    (volume,) = [v for v in shard.template["spec"]["volumes"] if v["name"] == "tls"]
    paths = {
        source["secret"]["name"]: [item["path"] for item in source["secret"]["items"]]
        for source in volume["projected"]["sources"]
    }
    own = paths[f"{shard.pod_name}-tls"]
    assert own == [f"{shard.pod_name}/{name}" for name in ("tls.crt", "tls.key", "ca.crt")]
    assert f"--tls-cert=/etc/bigfleet/tls/{own[0]}" in shard.words


def test_a_certificate_holds_every_name_its_shard_is_dialled_by() -> None:
    objects = objects_of(BIGFLEET, "everything")
    certificates = {e["metadata"]["name"]: e for e in of_kind(objects, "Certificate")}
    hosts = certificates["fleet-bigfleet-shard-1-tls"]["spec"]["dnsNames"]
    assert {
        "fleet-bigfleet-shard-1.fleet-bigfleet-shard.fleet.svc",
        "fleet-bigfleet-shard-1.fleet.svc",
        "fleet-bigfleet-shard-1.fleet.example.com",
    } <= set(hosts)


def test_a_cluster_proves_who_it_is() -> None:
    (certificate,) = of_kind(objects_of(OPERATOR, "everything"), "Certificate")
    assert certificate["spec"]["uris"] == ["bigfleet://cluster/shop"]


def test_the_csi_driver_names_each_pod_alone() -> None:
    objects = objects_of(BIGFLEET, "etcd")
    (shard,) = [each for each in workloads(objects) if each.pod_name.endswith("shard-0")]
    (volume,) = [v for v in shard.template["spec"]["volumes"] if v["name"] == "tls"]
    said = volume["csi"]["volumeAttributes"]
    assert said["csi.cert-manager.io/uri-sans"] == "bigfleet://shard/${POD_NAME}"
    assert "${POD_NAME}.fleet.example.com" in said["csi.cert-manager.io/dns-names"].split(",")


@pytest.mark.parametrize(
    ("trial", "kind", "replicas"),
    [("defaults", "Deployment", 1), ("etcd", "StatefulSet", 3)],
    ids=["sqlite: one, with a volume", "etcd: three"],
)
def test_the_store_decides_how_many_coordinators_there_are(
    trial: str, kind: str, replicas: int
) -> None:
    owners = [each.owner for each in workloads(objects_of(BIGFLEET, trial))]
    (coordinator,) = [o for o in owners if o["metadata"]["name"].endswith("-coordinator")]
    assert (coordinator["kind"], coordinator["spec"]["replicas"]) == (kind, replicas)


def test_definitions_are_kept_when_a_release_goes() -> None:
    definitions = of_kind(objects_of(OPERATOR, "defaults"), "CustomResourceDefinition")
    assert len(definitions) == 3
    for each in definitions:
        assert each["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert of_kind(objects_of(OPERATOR, "minimal"), "CustomResourceDefinition") == []


def test_secrets_are_touched_only_where_tokens_are_minted() -> None:
    def mentions(trial: str) -> bool:
        roles = of_kind(objects_of(OPERATOR, trial), "Role", "ClusterRole")
        return any("secrets" in rule["resources"] for role in roles for rule in role["rules"])

    assert mentions("everything")
    assert not mentions("defaults")


def test_a_template_keeps_its_own_braces() -> None:
    maps = of_kind(objects_of(OPERATOR, "everything"), "ConfigMap")
    (template,) = [
        each["data"]["bootstrap.tmpl"] for each in maps if "bootstrap.tmpl" in each["data"]
    ]
    assert "{{ .Token }}" in template


def test_dashboards_and_alerts_arrive_whole() -> None:
    for chart in (BIGFLEET, OPERATOR):
        objects = objects_of(chart, "everything")
        (boards,) = [
            e for e in of_kind(objects, "ConfigMap") if e["metadata"]["name"].endswith("dashboards")
        ]
        assert boards["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert {name: yaml.safe_load(text) for name, text in boards["data"].items()} == {
            f"{name}.json": board for name, board in chart.dashboards.items()
        }
        (rules,) = of_kind(objects, "PrometheusRule")
        arrived = [rule for group in rules["spec"]["groups"] for rule in group["rules"]]
        assert sorted(arrived, key=str) == sorted(chart.alerts, key=str)


def test_alerts_about_a_coordinator_come_only_with_one() -> None:
    words = ("--set", "coordinator.enabled=false,sim.enabled=true,metrics.rules.enabled=true")
    assert "BigFleetNoLeader" not in rendered(BIGFLEET.folder, *words)


@pytest.mark.parametrize(
    ("chart", "said", "answer"),
    [
        pytest.param(BIGFLEET, "shard.replica=2", "replica", id="an unknown key"),
        pytest.param(
            BIGFLEET, "shard.config.cycle_interval=soon", "cycle_interval", id="no duration"
        ),
        pytest.param(BIGFLEET, "coordinator.store=etcd", "endpoints is empty", id="etcd nowhere"),
        pytest.param(BIGFLEET, "tls.mode=certManager", "tls.issuer.name", id="no issuer"),
        pytest.param(
            BIGFLEET, "coordinator.enabled=false", "no shard would have", id="no provider"
        ),
        pytest.param(
            BIGFLEET,
            "coordinator.enabled=false,sim.enabled=true,shard.replicas=2",
            "without a coordinator",
            id="two owners of everything",
        ),
        pytest.param(OPERATOR, "shardAddr=a:1", "clusterId is empty", id="no cluster joins"),
        pytest.param(OPERATOR, "clusterId=shop", "shardAddr is empty", id="joins nowhere"),
        pytest.param(
            OPERATOR,
            "clusterId=shop,shardAddr=a:1,bootstrap.mintToken=true",
            "needs a template",
            id="tokens without a cluster",
        ),
        pytest.param(
            PODWATCH,
            "tls.mode=secret,tls.secret=x",
            "no shard to ask",
            id="podwatch dials no server",
        ),
        pytest.param(PODWATCH, "shardAddr=a:1", "clusterId is empty", id="a shard and no name"),
        pytest.param(PODWATCH, "clusterId=shop", "shardAddr is empty", id="a name and no shard"),
        pytest.param(
            PODWATCH,
            "clusterId=shop,shardAddr=a:1,tls.mode=secret",
            "tls.secret is empty",
            id="no certificate",
        ),
    ],
)
def test_values_that_cannot_work_are_refused_with_a_sentence(
    chart: Chart, said: str, answer: str
) -> None:
    done = helm("template", "fleet", str(chart.folder), "--set", said)
    assert done.returncode != 0
    assert answer in done.stderr


JOINED = "clusterId=shop,shardAddr=fleet:1,bootstrap.template=join"


@pytest.mark.parametrize(
    ("chart", "before", "after", "restarts"),
    [
        pytest.param(OPERATOR, JOINED, f"{JOINED},config.qps=9", True, id="a setting"),
        pytest.param(OPERATOR, JOINED, f"{JOINED},bootstrap.mintToken=true", True, id="tokens"),
        pytest.param(OPERATOR, JOINED, f"{JOINED}ed", False, id="a template, read again by itself"),
        pytest.param(
            OPERATOR, JOINED, f"{JOINED},networkPolicy.enabled=false", False, id="network"
        ),
        pytest.param(
            PODWATCH,
            "priorityClassDefaults.a.interruptionPenalty=1",
            "priorityClassDefaults.a.interruptionPenalty=2",
            False,
            id="penalties, read again by themselves",
        ),
    ],
)
def test_pods_restart_for_what_they_read_once_and_for_nothing_else(
    chart: Chart, before: str, after: str, restarts: bool
) -> None:
    def pod(values: str) -> dict[str, Any]:
        objects = yaml.safe_load_all(rendered(chart.folder, "--set", values))
        (workload,) = workloads([each for each in objects if each])
        return workload.template

    assert (pod(before) != pod(after)) is restarts


@pytest.mark.parametrize("chart", CHARTS, ids=str)
def test_an_older_kubernetes_is_refused(chart: Chart) -> None:
    words = ("--values", str(chart.trials[0]), "--kube-version", "1.30.9")
    done = helm("template", "fleet", str(chart.folder), *words)
    assert "chart requires kubeVersion" in done.stderr


def test_every_helm_command_of_the_page_renders(tmp_path: Path) -> None:
    commands = []
    for block in blocks_of(PAGE):
        if block.file:
            (tmp_path / block.file).write_text(block.text)
        elif block.language == "sh":
            commands += re.findall(r"^helm (.*)$", block.text.replace("\\\n", ""), re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        words = re.sub(r"^(install|upgrade --install)", "template", command).split()
        words = [str(ROOT / word) if word.startswith("deploy/") else word for word in words]
        done = helm(*[word for word in words if word != "--create-namespace"], folder=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
