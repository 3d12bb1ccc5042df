"""A launch is never doubled, also by a cloud that ignores client tokens, and nothing is lost."""

from dataclasses import replace

import pytest

from bigfleet.model.machines import Host as HostRef
from bigfleet.provider import (
    BOUND,
    GONE,
    UNKNOWN,
    Binding,
    CapacityType,
    Condition,
    Kind,
    MachineState,
    Permanent,
)
from bigfleet_aws import Ec2, instances
from bigfleet_aws.clients import Clients
from bigfleet_aws.instances import Instances, client_token
from bigfleet_aws.settings import Ec2Config
from tests.examples.aws.cloud import SLOT, machine, operation


@pytest.fixture
def fleet(clients: Clients, cfg: Ec2Config, provider: str) -> Instances:
    return Instances(clients.ec2, provider, cfg)


async def test_a_create_repeated_after_a_lost_answer_finds_its_instance(
    backend: Ec2, fleet: Instances
) -> None:
    op = operation(Kind.CREATE, machine(SLOT))
    first = await backend.create(op)
    again = await backend.create(op)
    assert again == first
    assert [found.id for found in fleet.all_live()] == [first.host.ref]


async def test_a_machine_that_still_serves_a_cluster_is_not_taken_for_new(
    backend: Ec2, fleet: Instances
) -> None:
    created = await backend.create(operation(Kind.CREATE, machine(SLOT)))
    fleet.bind(created.host.ref, "shop")
    with pytest.raises(Permanent, match="still serves shop"):
        await backend.create(operation(Kind.CREATE, machine(SLOT), "op-2"))


async def test_a_spot_machine_is_asked_for_as_spot(backend: Ec2, clients: Clients) -> None:
    record = machine(SLOT, capacity=CapacityType.SPOT)
    created = await backend.create(operation(Kind.CREATE, record))
    answer = clients.ec2.describe_instances(InstanceIds=[created.host.ref])
    assert answer["Reservations"][0]["Instances"][0]["InstanceLifecycle"] == "spot"


async def test_an_instance_carries_machine_operation_and_provider(
    backend: Ec2, fleet: Instances, provider: str
) -> None:
    await backend.create(operation(Kind.CREATE, machine(SLOT), "op-7"))
    (found,) = fleet.all_live()
    assert found.tags == {
        "Name": SLOT,
        "bigfleet-machine": SLOT,
        "bigfleet-operation": "op-7",
        "bigfleet-provider": provider,
    }


def test_every_page_is_read(fleet: Instances, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "PAGE", 5)
    names = {f"m-{number}" for number in range(12)}
    for name in sorted(names):
        fleet.launch(operation(Kind.CREATE, machine(name)), "")
    assert {found.machine for found in fleet.all_live()} == names


def test_two_instances_of_one_machine_are_one_machine_and_end_together(fleet: Instances) -> None:
    op = operation(Kind.CREATE, machine(SLOT))
    first, second = fleet.launch(op, ""), fleet.launch(op, "")
    fleet.bind(second.id, "shop")
    assert first.id != second.id
    chosen = fleet.of_machine(SLOT)
    assert chosen is not None
    assert chosen.id == second.id
    fleet.terminate(SLOT, second.id)
    assert fleet.all_live() == []


def test_another_provider_in_the_account_is_left_alone(
    fleet: Instances, clients: Clients, cfg: Ec2Config
) -> None:
    fleet.launch(operation(Kind.CREATE, machine(SLOT)), "")
    assert Instances(clients.ec2, "other-fleet", cfg).all_live() == []


def test_terminating_twice_is_terminating(fleet: Instances) -> None:
    launched = fleet.launch(operation(Kind.CREATE, machine(SLOT)), "")
    fleet.terminate(SLOT, launched.id)
    fleet.terminate(SLOT, launched.id)
    fleet.terminate(SLOT, "i-00000000000000000")
    assert fleet.of_machine(SLOT) is None


class RemembersTokens:
    """As EC2 does it: an old token gives the old instance, even if it is gone."""

    def __init__(self, ended: int) -> None:
        self._ended = ended
        self.tokens: list[str] = []

    def run_instances(self, ClientToken: str, **_: object) -> dict[str, object]:  # noqa: N803
        self.tokens.append(ClientToken)
        state = "terminated" if len(self.tokens) <= self._ended else "pending"
        made = {
            "InstanceId": f"i-{len(self.tokens)}",
            "InstanceType": "m6i.large",
            "State": {"Name": state},
            "Placement": {"AvailabilityZone": "z"},
            "LaunchTime": None,
        }
        return {"Instances": [made]}


def test_a_token_of_an_earlier_state_file_does_not_bring_back_the_dead(cfg: Ec2Config) -> None:
    cloud = RemembersTokens(ended=1)
    launched = Instances(cloud, "ec2", cfg).launch(operation(Kind.CREATE, machine(SLOT)), "")
    assert launched.id == "i-2"
    assert len(set(cloud.tokens)) == 2


def test_a_client_token_is_one_machines_and_one_operations() -> None:
    op = operation(Kind.CREATE, machine(SLOT))
    others = [
        client_token("other", op, 0),
        client_token("ec2", operation(Kind.CREATE, machine("m-2")), 0),
        client_token("ec2", operation(Kind.CREATE, machine(SLOT), "op-2"), 0),
        client_token("ec2", op, 1),
    ]
    token = client_token("ec2", op, 0)
    assert token == client_token("ec2", op, 0)
    assert token not in others
    assert len(token) == 64


@pytest.mark.parametrize(
    ("state", "status"), [(MachineState.CREATING, UNKNOWN), (MachineState.CONFIGURED, GONE)]
)
async def test_what_is_not_found_is_gone_unless_it_may_still_appear(
    backend: Ec2, state: MachineState, status: object
) -> None:
    assert await backend.inspect(machine(SLOT, state)) == status


async def test_inspect_tells_a_bound_host_from_a_free_one(backend: Ec2, fleet: Instances) -> None:
    record = machine(SLOT)
    created = await backend.create(operation(Kind.CREATE, record))
    assert (await backend.inspect(record)).condition is Condition.RUNNING
    fleet.bind(created.host.ref, "shop")
    assert await backend.inspect(record) == BOUND


async def test_slots_and_hosts_meet_in_the_inventory(backend: Ec2, fleet: Instances) -> None:
    created = await backend.create(operation(Kind.CREATE, machine(SLOT)))
    fleet.bind(created.host.ref, "shop")
    slots = {instance.id: instance for instance in (await backend.describe()).instances}
    assert len(slots) == 6
    assert slots[SLOT].host == created.host
    assert slots[SLOT].bound == Binding("shop")
    assert slots[SLOT].price_per_hour == 0.115
    assert slots["m-0001"].host is None


async def test_a_second_instance_of_a_machine_is_shown_as_an_orphan_and_can_be_ended(
    backend: Ec2, fleet: Instances
) -> None:
    op = operation(Kind.CREATE, machine(SLOT))
    kept, extra = fleet.launch(op, ""), fleet.launch(op, "")
    fleet.bind(kept.id, "shop")
    shown = {instance.id: instance for instance in (await backend.describe()).instances}
    orphan = shown[f"orphan-{extra.id}"]
    assert orphan.labels == {"bigfleet.lucy.sh/orphan": "true"}
    record = machine(orphan.id, MachineState.IDLE)
    await backend.delete(operation(Kind.DELETE, replace(record, host=HostRef("ec2", extra.id))))
    assert [instance.id for instance in fleet.all_live()] == [kept.id]


async def test_nothing_is_launched_for_what_no_offering_has(backend: Ec2) -> None:
    with pytest.raises(Permanent, match="no offering"):
        await backend.create(operation(Kind.CREATE, machine("orphan-i-1")))
