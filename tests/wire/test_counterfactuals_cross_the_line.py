"""Counterfactuals over the wire: a cluster asks about its own Needs and hears of them only."""

from pathlib import Path

import pytest

from bigfleet.model.counterfactuals import CounterfactualCall
from bigfleet.model.needs import NeedKey
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.shard_admin import SHARD_ADMIN, ShardAdminClient
from tests.wire.admin import ScriptedAdmin
from tests.wire.certificates import Authority
from tests.wire.sessions import ScriptedShard, line_to

OWN = CounterfactualCall(NeedKey("shop", "", ""), id_prefix="n3")
FOREIGN = {
    "another's Need": CounterfactualCall(NeedKey("bank", "", ""), id_prefix="n3"),
    "a Need of no cluster": CounterfactualCall(NeedKey("", "", ""), id_prefix="n3"),
    "a past cycle": CounterfactualCall(NeedKey("shop", "", ""), 7, id_prefix="n3"),
}


async def test_a_cluster_asks_about_its_own_need_and_hears_of_its_own_changes(
    tmp_path: Path,
) -> None:
    authority, people = Authority(tmp_path), ScriptedAdmin()
    tls = authority.leaf("client", "bigfleet://cluster/shop")
    async with (
        line_to(
            ScriptedShard(),
            server_tls=authority.leaf("server"),
            extra_services=[RpcService(SHARD_ADMIN, people)],
        ) as line,
        ShardAdminClient(line.client.address, tls) as client,
    ):
        told = await client.counterfactual(OWN)
        for call in FOREIGN.values():
            with pytest.raises(Rejected) as rejected:
                await client.counterfactual(call)
            assert rejected.value.code is Code.PERMISSION_DENIED
    assert people.asked == [("counterfactual", OWN)]
    (own,) = told.changes
    assert own.kinds == ("priority", "smaller")
    assert [loser.need.cluster for loser in own.losers] == ["shop"]
    assert own.loser_count == 1
