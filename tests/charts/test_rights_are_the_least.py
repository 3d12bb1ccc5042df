"""The roles of a chart hold exactly what the specification grants, verb by verb."""

import re
from typing import Any

import yaml

from bigfleet.kube.buffers import SCALABLE_KINDS
from bigfleet.operator.bootstrap.tokens import GROUP, SECRET_TYPE
from bigfleet.operator.settings import OperatorSettings
from tests.charts.charts import BIGFLEET, OPERATOR, PODWATCH, Chart
from tests.charts.rights import (
    FOR_BUFFERS,
    FOR_PROVISIONING_REQUESTS,
    LEASE,
    OPERATOR_IN_THE_CLUSTER,
    PODWATCH_IN_THE_CLUSTER,
    Rights,
)


def documents(chart: Chart) -> list[str]:
    return (chart.folder / "templates" / "rbac.yaml").read_text().split("\n---\n")


def rules_in(text: str) -> list[dict[str, Any]]:
    """The rules of a role in a template, with all conditions around them met."""
    plain = "\n".join(line for line in text.splitlines() if "{{" not in line)
    found = re.search(r"^rules:\n(?:[ #].*\n?)+", plain, re.MULTILINE)
    return yaml.safe_load(found[0])["rules"] if found else []


def rights_in(text: str) -> Rights:
    rights: Rights = {}
    for rule in rules_in(text):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                rights.setdefault((group, resource), set()).update(rule["verbs"])
    return rights


def the_one_of(chart: Chart, *words: str) -> str:
    (found,) = [each for each in documents(chart) if all(word in each for word in words)]
    return found


def test_the_operator_may_in_its_cluster_what_is_specified_and_no_more() -> None:
    assert rights_in(the_one_of(OPERATOR, "kind: ClusterRole\n")) == OPERATOR_IN_THE_CLUSTER


def test_the_operator_deletes_nodes_only_where_the_chart_says_so() -> None:
    role = the_one_of(OPERATOR, "kind: ClusterRole\n")
    before, rest = role.split("{{- if .Values.deleteNodes }}")
    guarded, after = rest.split("{{- end }}", 1)
    assert rights_in(f"rules:{guarded}") == {("", "nodes"): {"delete"}}
    outside = rights_in(before + after)
    assert "delete" not in outside["", "nodes"]
    assert OPERATOR.values["deleteNodes"] is True


def test_the_operator_touches_secrets_only_to_mint_tokens_and_reads_none() -> None:
    role = the_one_of(OPERATOR, "kind: Role\n", "namespace: kube-system")
    assert rights_in(role) == {("", "secrets"): {"create", "delete"}}
    text = (OPERATOR.folder / "templates" / "rbac.yaml").read_text()
    before, guarded = text.split("{{- if .Values.bootstrap.mintToken }}")
    assert "secrets" not in before
    assert re.findall(r"namespace: (\S+)", guarded) == ["kube-system"] * 2
    assert OPERATOR.values["bootstrap"]["mintToken"] is False


def test_a_policy_keeps_the_operator_to_the_secrets_of_its_tokens() -> None:
    text = (OPERATOR.folder / "templates" / "token-policy.yaml").read_text()
    assert text.startswith(
        "{{- if and .Values.bootstrap.mintToken .Values.bootstrap.tokenPolicy }}"
    )
    lines = [line for line in text.splitlines() if not line.startswith(("{{", "#"))]
    plain = re.sub(r"\{\{.*?\}\}", "x", "\n".join(lines))
    policy, binding = yaml.safe_load_all(plain)
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["resources"], rule["operations"]) == (["secrets"], ["CREATE", "UPDATE", "DELETE"])
    assert policy["spec"]["failurePolicy"] == "Fail"
    said = " ".join(each["expression"] for each in policy["spec"]["validations"])
    for word in ("'kube-system'", ".startsWith(", SECRET_TYPE, GROUP):
        assert word in said
    assert binding["spec"]["validationActions"] == ["Deny"]
    assert OPERATOR.values["bootstrap"]["tokenPolicy"] is True
    assert OPERATOR.values["bootstrap"]["tokenPrefix"] == OperatorSettings().token_prefix


def test_podwatch_may_in_its_cluster_what_is_specified_and_no_more() -> None:
    role = the_one_of(PODWATCH, "kind: ClusterRole\n")
    others, guarded = role.split("{{- if .Values.capacityBuffers.enabled }}")
    before, asking = others.split('{{- if include "podwatch.asksShard" . }}')
    assert rights_in(before) == PODWATCH_IN_THE_CLUSTER
    assert rights_in(f"rules:{asking}") == FOR_PROVISIONING_REQUESTS
    assert rights_in(f"rules:{guarded}") == FOR_BUFFERS


def test_podwatch_may_read_everything_a_buffer_may_scale_with() -> None:
    kinds = {(kind.group, kind.plural) for kind in SCALABLE_KINDS.values()}
    assert kinds <= FOR_BUFFERS.keys()


def test_leases_are_held_by_name_in_the_own_namespace() -> None:
    for chart in (OPERATOR, PODWATCH):
        role = the_one_of(chart, "kind: Role\n", "leases")
        assert rights_in(role) == LEASE
        named = [
            rule.get("resourceNames") for rule in rules_in(role) if rule["verbs"] != ["create"]
        ]
        assert named == [[chart.name]]
        assert "namespace: {{ .Release.Namespace }}" in role


def test_no_rule_says_everything() -> None:
    for chart in (OPERATOR, PODWATCH):
        for rule in (rule for text in documents(chart) for rule in rules_in(text)):
            assert not {"*", "escalate", "bind", "impersonate"} & {
                *rule["verbs"],
                *rule["resources"],
                *rule["apiGroups"],
            }


def test_coordinator_and_shard_have_no_rights_at_all() -> None:
    texts = [path.read_text() for path in (BIGFLEET.folder / "templates").glob("*.yaml")]
    assert not any("rbac.authorization.k8s.io" in text for text in texts)
    pods = [text for text in texts if "    spec:\n      serviceAccountName" in text]
    assert len(pods) == 3
    assert all("automountServiceAccountToken: false" in text for text in pods)
