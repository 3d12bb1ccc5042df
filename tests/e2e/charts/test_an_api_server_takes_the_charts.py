"""A real API server on what the charts render: every field known, pods restricted, rights least."""

import json
from pathlib import Path

import pytest
import yaml

from tests.charts.charts import BIGFLEET, OPERATOR, PODWATCH, Chart
from tests.charts.rights import (
    FOR_BUFFERS,
    FOR_PROVISIONING_REQUESTS,
    OPERATOR_IN_THE_CLUSTER,
    PODWATCH_IN_THE_CLUSTER,
    READ,
    Rights,
)
from tests.e2e.assets import require
from tests.e2e.charts.rendering import TRIALS, Object, Trial, helm, of_kind, workloads
from tests.e2e.rig.api import Refused
from tests.e2e.rig.cluster import Cluster
from tests.e2e.rig.workloads import pod

#: Stands in for cert-manager's own, of which only the kind is needed here.
CERTIFICATES = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: Certificate, plural: certificates}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
#: What an attacker who takes over an operator must not be able to do with it.
FORBIDDEN = (
    "get secrets",
    "list secrets",
    "create secrets",
    "delete nodes",
    "delete pods",
    "create pods",
    "create pods/exec",
    "patch pods",
    "impersonate users",
    "create clusterrolebindings",
    "delete customresourcedefinitions",
)


async def third_parties(cluster: Cluster) -> None:
    names = ("servicemonitors.yaml", "prometheusrules.yaml")
    await cluster.apply_crds(CERTIFICATES, *(require(name).read_text() for name in names))


async def taken(cluster: Cluster, folder: Path, objects: list[Object]) -> list[str]:
    """Names of what the API server would make of them; raises where it would not."""
    names: list[str] = []
    for home in sorted({each["metadata"].get("namespace", cluster.namespace) for each in objects}):
        there = [o for o in objects if o["metadata"].get("namespace", cluster.namespace) == home]
        path = folder / f"{home}.yaml"
        path.write_text(yaml.safe_dump_all(there))
        words = ("-n", home, "--dry-run=server", "--validate=strict", "-o", "name", "-f", str(path))
        names += (await cluster.kubectl("apply", *words)).split()
    return names


async def may(cluster: Cluster, account: str, verb: str, resource: str, where: str = "") -> bool:
    """What the API server's own authoriser says."""
    plain, _, sub = resource.partition("/")
    spec = {
        "user": f"system:serviceaccount:{cluster.namespace}:{account}",
        "resourceAttributes": {
            "verb": verb,
            "resource": plain.partition(".")[0],
            "group": plain.partition(".")[2],
            "subresource": sub,
            **({"namespace": where} if where else {}),
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    return bool((await cluster.api.create(path, body))["status"]["allowed"])


async def restrict(cluster: Cluster, namespace: str) -> None:
    """Returns once the strictest pod security holds there: its admission hears of a label late."""
    labels = {"metadata": {"labels": RESTRICTED}}
    await cluster.api.patch(f"/api/v1/namespaces/{namespace}", labels)

    async def is_restricted() -> bool:
        try:
            path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All"
            await cluster.api.create(path, pod("unrestricted"))
        except Refused as refusal:
            return "violates PodSecurity" in refusal.text
        return False

    await cluster.until(is_restricted)


async def refused(cluster: Cluster, account: str, rights: Rights) -> list[str]:
    asked = [
        (
            verb,
            ".".join(part for part in (resource.partition("/")[0], group) if part)
            + (f"/{resource.partition('/')[2]}" if "/" in resource else ""),
        )
        for (group, resource), verbs in rights.items()
        for verb in sorted(verbs)
    ]
    return [f"{verb} {what}" for verb, what in asked if not await may(cluster, account, verb, what)]


@pytest.mark.parametrize("trial", TRIALS, ids=str)
async def test_every_object_of_a_chart_is_one_the_api_server_would_take(
    trial: Trial, east: Cluster, tmp_path: Path
) -> None:
    await third_parties(east)
    objects = trial.objects(east.namespace)
    assert len(await taken(east, tmp_path, objects)) == len(objects)


async def test_a_field_that_the_api_server_does_not_know_would_be_noticed(
    east: Cluster, tmp_path: Path
) -> None:
    trial = Trial(PODWATCH, PODWATCH.folder / "ci" / "defaults.yaml")
    (deployment,) = of_kind(trial.objects(east.namespace), "Deployment")
    deployment["spec"]["replica"] = 2
    with pytest.raises(AssertionError, match=r'unknown field "spec\.replica"'):
        await taken(east, tmp_path, [deployment])


@pytest.mark.parametrize("trial", TRIALS, ids=str)
async def test_every_pod_runs_under_the_strictest_pod_security(trial: Trial, east: Cluster) -> None:
    """Pods, for a Deployment that breaks the standard is only warned about."""
    home = await east.make_namespace(f"{east.namespace}-restricted")
    await restrict(east, home)
    found = list(workloads(trial.objects(home)))
    assert found
    for workload in found:
        body = workload.pod()
        body["spec"]["serviceAccountName"] = "default"
        made = await east.api.create(f"/api/v1/namespaces/{home}/pods?dryRun=All", body)
        (container,) = made["spec"]["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.parametrize(
    ("chart", "values", "rights"),
    [
        pytest.param(OPERATOR, "defaults", OPERATOR_IN_THE_CLUSTER, id="operator"),
        pytest.param(PODWATCH, "defaults", PODWATCH_IN_THE_CLUSTER | FOR_BUFFERS, id="podwatch"),
        pytest.param(
            PODWATCH,
            "everything",
            PODWATCH_IN_THE_CLUSTER | FOR_BUFFERS | FOR_PROVISIONING_REQUESTS,
            id="podwatch with a shard to ask",
        ),
        pytest.param(PODWATCH, "minimal", PODWATCH_IN_THE_CLUSTER, id="podwatch without buffers"),
    ],
)
async def test_an_account_may_what_it_needs_and_nothing_that_hurts(
    chart: Chart, values: str, rights: Rights, east: Cluster
) -> None:
    trial = Trial(chart, chart.folder / "ci" / f"{values}.yaml")
    objects = trial.objects(east.namespace)
    kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    await east.apply(*of_kind(objects, *kinds))
    (account,) = [each["metadata"]["name"] for each in of_kind(objects, "ServiceAccount")]
    assert await refused(east, account, rights) == []
    wanted = {(verb, resource) for (_, resource), verbs in rights.items() for verb in verbs}
    # A Node whose machine has left is deleted where the chart's value says so: it is a right then.
    assert wanted & {("delete", "pods"), ("get", "secrets")} == set()
    harmful = [each for each in FORBIDDEN if tuple(each.split()) not in wanted]
    assert [each for each in harmful if await may(east, account, *each.split())] == []
    leases = "leases.coordination.k8s.io"
    assert await may(east, account, "create", leases, east.namespace)
    assert not await may(east, account, "create", leases, "default")


async def test_tokens_are_minted_in_kube_system_and_read_nowhere(east: Cluster) -> None:
    trial = Trial(OPERATOR, OPERATOR.folder / "ci" / "everything.yaml")
    objects = trial.objects(east.namespace)
    await east.apply(*of_kind(objects, "ServiceAccount", "Role", "RoleBinding"))
    (account,) = [each["metadata"]["name"] for each in of_kind(objects, "ServiceAccount")]
    granted = {
        (verb, where)
        for verb in (*READ, "create", "delete")
        for where in ("kube-system", east.namespace)
        if await may(east, account, verb, "secrets", where)
    }
    assert granted == {("create", "kube-system"), ("delete", "kube-system")}


#: Another test, or another release, may have left definitions behind: those of a real cluster too.
TAKE_OVER = "--take-ownership"


def release(cluster: Cluster, *words: str) -> None:
    own = ("--namespace", cluster.namespace, "--kubeconfig", str(cluster.kubeconfig))
    done = helm(*words, *own)
    assert done.returncode == 0, done.stderr


async def test_a_release_comes_goes_and_leaves_the_definitions(east: Cluster) -> None:
    """With helm itself: what it owns it takes along, but for what must stay."""
    chart, values = str(OPERATOR.folder), str(OPERATOR.folder / "ci" / "defaults.yaml")
    release(east, "install", OPERATOR.name, chart, "--values", values, TAKE_OVER)
    release(east, "upgrade", OPERATOR.name, chart, "--values", values)
    release(east, "uninstall", OPERATOR.name)
    answer = await east.kubectl("get", "crd", "capacityrequests.bigfleet.lucy.sh", "-o", "json")
    assert json.loads(answer)["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert await east.kubectl("get", "deployments", "-o", "name") == ""


@pytest.mark.parametrize(
    ("chart", "words", "pods"),
    [
        pytest.param(BIGFLEET, ("--set", "sim.enabled=true,shard.replicas=2"), 4, id="a fleet"),
        pytest.param(OPERATOR, ("--set", "clusterId=shop,shardAddr=fleet:1"), 2, id="an operator"),
        pytest.param(PODWATCH, (), 2, id="a podwatch"),
    ],
)
async def test_controllers_make_the_pods_of_a_release_where_security_is_strictest(
    chart: Chart, words: tuple[str, ...], pods: int, east: Cluster
) -> None:
    await restrict(east, east.namespace)
    release(east, "install", "bigfleet", str(chart.folder), *words, TAKE_OVER)

    async def are_there() -> bool:
        return len(await east.pods()) == pods

    await east.until(are_there)
    names = {each["metadata"]["name"] for each in await east.pods()}
    shards = {f"bigfleet-shard-{ordinal}" for ordinal in range(2)}
    assert names & shards == (shards if chart is BIGFLEET else set())
