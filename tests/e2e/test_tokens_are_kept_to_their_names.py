"""The admission policy of the chart on a real API server: Secrets the operator may touch."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import yaml

from bigfleet.operator.bootstrap.tokens import BootstrapToken, secret_body
from tests.e2e.rig.accounts import OPERATOR
from tests.e2e.rig.charts import rendered
from tests.e2e.rig.cluster import Cluster

GOOD: dict[str, Any] = dict(
    secret_body(BootstrapToken("bf0000", "0123456789abcdef", 0, 10**18), "east")
)
POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


def other(**fields: Any) -> dict[str, Any]:
    return {**GOOD, **fields}


def named(name: str, namespace: str = "kube-system") -> dict[str, Any]:
    return {"name": name, "namespace": namespace}


def group(name: str) -> dict[str, str]:
    return {**GOOD["data"], "auth-extra-groups": b64encode(name.encode()).decode()}


REFUSED = {
    "another name": other(metadata=named("cloud-credentials")),
    "a token of another prefix": other(metadata=named("bootstrap-token-aa0000")),
    "another type": other(type="Opaque"),
    "another group": other(data=group("system:bootstrappers:kubeadm:default-node-token")),
    "no end": other(data={k: v for k, v in GOOD["data"].items() if k != "expiration"}),
}


async def test_the_operators_account_makes_and_deletes_its_own_tokens_only(
    east: Cluster, tmp_path: Path
) -> None:
    values = {"bootstrap.mintToken": True, "bootstrap.template": "join"}
    objects = await rendered(
        OPERATOR, east.namespace, clusterId="east", shardAddr="fleet:1", **values
    )
    policies = [each for each in objects if each["kind"] in POLICIES]
    assert len(policies) == 2
    rights = [each for each in objects if each["metadata"]["name"].startswith(OPERATOR)]
    roles = [each for each in rights if each["kind"] in ("ServiceAccount", "Role", "RoleBinding")]
    await east.apply(*roles, *policies)
    me = f"--as=system:serviceaccount:{east.namespace}:{OPERATOR}"
    there = ("-n", "kube-system")

    async def tried(*words: str) -> str:
        try:
            return await east.kubectl(me, *words, *there)
        except AssertionError as refused:
            return str(refused)

    async def made(secret: dict[str, Any]) -> str:
        file = tmp_path / "secret.yaml"
        file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", **secret}))
        return await tried("create", "-f", str(file), "--dry-run=server")

    try:

        async def is_enforced() -> bool:
            return "denied" in await made(REFUSED["another name"])

        await east.until(is_enforced)
        told = {case: await made(secret) for case, secret in REFUSED.items()}
        assert {case: "denied" in said for case, said in told.items()} == dict.fromkeys(told, True)
        assert "created" in await made(GOOD)
        for name, answer in (("precious", "denied"), ("bootstrap-token-bf0000", "deleted")):
            kind = f"--type={GOOD['type']}" if answer == "deleted" else "--type=Opaque"
            await east.kubectl("create", "secret", "generic", name, kind, *there)
            assert answer in await tried("delete", "secret", name)
    finally:
        await east.kubectl("delete", "secret", "precious", "--ignore-not-found", *there)
        for policy in policies:
            await east.kubectl("delete", policy["kind"], policy["metadata"]["name"])
