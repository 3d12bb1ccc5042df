"""Names that a shard refuses are refused by the SDK first, with the field and what to write."""

from dataclasses import replace
from typing import Any

import pytest

from bigfleet.model.errors import BadInput
from bigfleet.model.machines import CapacityType
from bigfleet.provider import Backend, Host, Instance, Inventory, ProviderOptions, ProviderServer
from bigfleet.provider.backend import Binding
from bigfleet.provider.reconciling.record_checks import why_bad_host, why_unsound

SOUND = Instance(
    "m-1",
    "std-8",
    "a",
    CapacityType.ON_DEMAND,
    host=Host("aws:///eu-1a/i-0123", "ip-10-0-0-7.ec2.internal"),
    resources={"cpu": "8", "nvidia.com/gpu": "1"},
    labels={"example.com/Rack": "R_1.x", "empty": ""},
    region="eu-1",
    bound=Binding("shop"),
)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "instance type": ({"instance_type": "std 8"}, "instance_type: 'std 8' is not a label value"),
    "zone": ({"zone": "a\nb"}, r"zone: 'a\nb' is not a label value"),
    "region": ({"region": "é"}, r"region: '\xe9' is not a label value"),
    "label key": ({"labels": {"a b": "c"}}, "labels: 'a b' is not a label key"),
    "label value": ({"labels": {"rack": "r 1"}}, "labels: rack: 'r 1' is not a label value"),
    "resource": ({"resources": {"g p u": "1"}}, "resources: 'g p u' is not a resource name"),
    "allocatable": ({"allocatable": {"a\x1b": "1"}}, r"allocatable: 'a\x1b' is not a resource"),
    "host": ({"host": Host("i 1")}, "host.ref: 'i 1' is not plain text"),
    "node name": ({"host": Host("i-1", "a b")}, "host.node_name: 'a b' is not a label value"),
    "cluster": ({"bound": Binding("shop 1")}, "bound.cluster: 'shop 1' is not plain text"),
}


def test_names_that_a_shard_takes_are_taken() -> None:
    assert why_unsound(SOUND) is None


@pytest.mark.parametrize(("fields", "said"), BAD.values(), ids=BAD)
def test_a_text_that_is_not_a_name_is_told_with_its_field(
    fields: dict[str, Any], said: str
) -> None:
    told = why_unsound(replace(SOUND, **fields)) or ""
    assert told.startswith(said)
    assert "; write " in told


@pytest.mark.parametrize("machine_id", ["a b", "../../x", "i-1\x1b[31m", "x" * 254])
def test_any_id_is_still_one_that_a_shard_takes(machine_id: str) -> None:
    told = why_unsound(replace(SOUND, id=machine_id), allow_any_id=True) or ""
    assert told.startswith("id: ")
    assert why_unsound(replace(SOUND, id="I_1/x"), allow_any_id=True) is None


def test_what_create_returns_is_checked_too() -> None:
    assert why_bad_host(Host("i-1", "node-1")) is None
    assert (why_bad_host(Host("i 1")) or "").startswith("host.ref: ")


class Backwards(Backend):
    configure_implies_ready = True

    async def describe(self) -> Inventory:
        return Inventory([replace(SOUND, labels={"rack": "r 1"}, bound=None)])

    async def create(self, op: Any) -> Any: ...

    async def configure(self, op: Any) -> None: ...

    async def drain(self, op: Any) -> None: ...


async def test_a_provider_with_such_a_record_does_not_start_and_says_which() -> None:
    server = ProviderServer(Backwards(), options=ProviderOptions(address="127.0.0.1:0"))
    with pytest.raises(BadInput, match=r"m-1: labels: rack: 'r 1' is not a label value"):
        await server.start()


async def test_the_name_of_a_provider_is_a_label_value() -> None:
    options = ProviderOptions(provider="my cloud", address="127.0.0.1:0")
    with pytest.raises(BadInput, match="provider: 'my cloud' is not a label value"):
        ProviderServer(Backwards(), options=options)
