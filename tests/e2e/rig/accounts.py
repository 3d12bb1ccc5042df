"""Who operator and pod controller are in a cluster: accounts with the rights of their charts.

Neither gets more than its chart gives it: what works here works where it is installed. Both are at
home in the test's namespace, where their leases lie.
"""

from pathlib import Path

from tests.e2e.rig.charts import rendered, rights_in
from tests.e2e.rig.cluster import Cluster

OPERATOR, PODWATCH = "bigfleet-operator", "bigfleet-podwatch"


async def operator_account(
    cluster: Cluster, *, mints_tokens: bool = False, through: str = ""
) -> Path:
    """Its kubeconfig; `through` is the address of a link or a FaultyApi on the way."""
    template = {"bootstrap.mintToken": True, "bootstrap.template": "join"} if mints_tokens else {}
    objects = await rendered(
        OPERATOR, cluster.namespace, clusterId=cluster.name, shardAddr="fleet:1", **template
    )
    return await cluster.service_account_kubeconfig(OPERATOR, rights_in(objects), through=through)


async def podwatch_account(cluster: Cluster, *, through: str = "") -> Path:
    objects = await rendered(
        PODWATCH, cluster.namespace, clusterId=cluster.name, shardAddr="fleet:1"
    )
    return await cluster.service_account_kubeconfig(PODWATCH, rights_in(objects), through=through)
