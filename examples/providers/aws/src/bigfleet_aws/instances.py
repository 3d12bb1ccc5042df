"""EC2 instances: launched with a token and tags, and always found again by their tags.

The tags are the memory of this provider. A launch whose answer was lost is found by the machine's
tag, also where the substrate ignores client tokens; a fresh state file finds every host and the
cluster it serves.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bigfleet.provider import CapacityType, HostGone, Operation
from bigfleet_aws.refusals import aws_words
from bigfleet_aws.settings import Ec2Config

MACHINE = "bigfleet-machine"
PROVIDER = "bigfleet-provider"
OPERATION = "bigfleet-operation"
CLUSTER = "bigfleet-cluster"

#: Exists or is about to; this provider never causes `stopping` or `stopped`.
LIVE = ("pending", "running", "stopping", "stopped")
#: As many as EC2 gives at once.
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Ec2Instance:
    id: str
    state: str
    instance_type: str
    zone: str
    spot: bool
    node_name: str
    launched: datetime
    tags: dict[str, str] = field(default_factory=dict)
    end_code: str = ""
    end_text: str = ""

    @property
    def machine(self) -> str:
        return self.tags.get(MACHINE, "")

    @property
    def cluster(self) -> str:
        return self.tags.get(CLUSTER, "")

    @property
    def starting(self) -> bool:
        return self.state == "pending"

    @property
    def running(self) -> bool:
        return self.state in ("pending", "running")

    @property
    def live(self) -> bool:
        return self.state in LIVE


def instance_of(answer: dict[str, Any]) -> Ec2Instance:
    end = answer.get("StateReason", {})
    return Ec2Instance(
        id=answer["InstanceId"],
        state=answer["State"]["Name"],
        instance_type=answer["InstanceType"],
        spot=answer.get("InstanceLifecycle") == "spot",
        zone=answer["Placement"]["AvailabilityZone"],
        node_name=answer.get("PrivateDnsName", ""),
        launched=answer["LaunchTime"],
        tags={tag["Key"]: tag["Value"] for tag in answer.get("Tags", ())},
        end_code=end.get("Code", ""),
        end_text=end.get("Message", ""),
    )


def by_claim(instances: Iterable[Ec2Instance]) -> list[Ec2Instance]:
    """Where a lost answer left two of one machine: first who works, then who came first."""
    return sorted(instances, key=lambda i: (not i.cluster, not i.running, i.launched, i.id))


class Instances:
    """Blocking calls; each one ends in an answer or in an exception of the SDK."""

    def __init__(self, client: Any, provider: str, cfg: Ec2Config) -> None:
        self._client = client
        self._provider = provider
        self._cfg = cfg

    def all_live(self) -> list[Ec2Instance]:
        """Every page, or an exception: a part of the truth is never taken for all of it."""
        return by_claim(self._found(_tagged(PROVIDER, self._provider)))

    def of_machine(self, machine_id: str) -> Ec2Instance | None:
        own = (_tagged(PROVIDER, self._provider), _tagged(MACHINE, machine_id))
        return next(iter(by_claim(self._found(*own))), None)

    def _found(self, *filters: dict[str, Any]) -> Iterator[Ec2Instance]:
        live = {"Name": "instance-state-name", "Values": list(LIVE)}
        with aws_words():
            pages = self._client.get_paginator("describe_instances").paginate(
                Filters=[*filters, live], PaginationConfig={"PageSize": PAGE}
            )
            for page in pages:
                yield from _instances_in(page)

    def get(self, instance_id: str) -> Ec2Instance | None:
        """None: EC2 does not know it, which right after a launch may mean: not yet."""
        try:
            with aws_words():
                page = self._client.describe_instances(InstanceIds=[instance_id])
        except HostGone:
            return None
        return next(_instances_in(page), None)

    def launch(self, op: Operation, user_data: str) -> Ec2Instance:
        """A new instance, or the one this very operation launched before."""
        ended = ""
        for replay in range(3):
            request = self._request(op, client_token(self._provider, op, replay), user_data)
            with aws_words():
                answer = self._client.run_instances(**request)
            instance = instance_of(answer["Instances"][0])
            if instance.live:
                return instance
            # The token of an earlier life of the state file: that instance has long ended.
            ended = instance.id
        raise HostGone(f"{ended} was launched before and has ended")

    def _request(self, op: Operation, token: str, user_data: str) -> dict[str, Any]:
        machine, cfg = op.machine, self._cfg
        tags = {
            **cfg.tags,
            "Name": machine.id,
            MACHINE: machine.id,
            PROVIDER: self._provider,
            OPERATION: op.operation_id,
        }
        request: dict[str, Any] = {
            "ImageId": cfg.image,
            "InstanceType": machine.instance_type,
            "MinCount": 1,
            "MaxCount": 1,
            "ClientToken": token,
            "Placement": {"AvailabilityZone": machine.zone},
            "MetadataOptions": {"HttpTokens": "required"},
            "TagSpecifications": [
                {"ResourceType": kind, "Tags": _tag_list(tags)} for kind in ("instance", "volume")
            ],
        }
        if subnet := cfg.subnets.get(machine.zone):
            request["SubnetId"] = subnet
        if cfg.security_groups:
            request["SecurityGroupIds"] = list(cfg.security_groups)
        if cfg.instance_profile:
            request["IamInstanceProfile"] = {"Name": cfg.instance_profile}
        if user_data:
            request["UserData"] = user_data
        if machine.capacity_type is CapacityType.SPOT:
            request["InstanceMarketOptions"] = {
                "MarketType": "spot",
                "SpotOptions": {
                    "SpotInstanceType": "one-time",
                    "InstanceInterruptionBehavior": "terminate",
                },
            }
        return request

    def bind(self, instance_id: str, cluster: str) -> None:
        with aws_words():
            self._client.create_tags(Resources=[instance_id], Tags=_tag_list({CLUSTER: cluster}))

    def unbind(self, instance_id: str) -> None:
        with aws_words():
            self._client.delete_tags(Resources=[instance_id], Tags=[{"Key": CLUSTER}])

    def terminate(self, machine_id: str, host_ref: str) -> None:
        """Ends every instance of the machine; one that is gone already has ended."""
        found = self._found(_tagged(PROVIDER, self._provider), _tagged(MACHINE, machine_id))
        for instance_id in {host_ref, *(instance.id for instance in found)} - {""}:
            try:
                with aws_words():
                    self._client.terminate_instances(InstanceIds=[instance_id])
            except HostGone:
                continue


def client_token(provider: str, op: Operation, replay: int) -> str:
    """EC2 takes 64 characters, and an operation id is only unique for one provider and machine."""
    parts = (provider, op.machine.id, op.operation_id, str(replay))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _instances_in(page: dict[str, Any]) -> Iterator[Ec2Instance]:
    for reservation in page["Reservations"]:
        for answer in reservation["Instances"]:
            yield instance_of(answer)


def _tagged(key: str, value: str) -> dict[str, Any]:
    return {"Name": f"tag:{key}", "Values": [value]}


def _tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
