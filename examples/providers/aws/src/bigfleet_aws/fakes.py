"""A cloud to try this provider on: moto speaks like AWS, here or wherever `endpoint_url` says.

One of its own ends with the process, and every host with it; to see a restart, give the address of
a moto server that stays.
"""

from collections.abc import Callable

import msgspec
from botocore.exceptions import ClientError

from bigfleet.provider import Permanent, Secret
from bigfleet_aws.clients import Clients
from bigfleet_aws.refusals import code_of
from bigfleet_aws.settings import Ec2Config

BUCKET = "bigfleet-fake-blobs"


def fake_settings(cfg: Ec2Config) -> tuple[Ec2Config, Callable[[], None]]:
    """The settings of a fake cloud, and how to end it."""
    endpoint: str = cfg.endpoint_url
    stop: Callable[[], None] = lambda: None  # noqa: E731 - a server that was given goes on
    if not endpoint:
        endpoint, stop = _own_moto()
    settings = msgspec.structs.replace(
        cfg,
        endpoint_url=endpoint,
        access_key_id="fake",
        secret_access_key=Secret("fake"),
        image=cfg.image or "ami-12345678",
        blob_bucket=BUCKET,
        poll_seconds=0.02,
    )
    return settings, stop


def _own_moto() -> tuple[str, Callable[[], None]]:
    try:
        from moto.server import ThreadedMotoServer
    except ImportError as error:
        raise Permanent(f"the fake cloud is moto: install bigfleet-aws[fake] ({error})") from error
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    return f"http://{host}:{port}", server.stop


def make_bucket(clients: Clients, cfg: Ec2Config) -> None:
    try:
        clients.s3.create_bucket(
            Bucket=cfg.blob_bucket,
            CreateBucketConfiguration={"LocationConstraint": cfg.region},
        )
    except ClientError as error:
        if code_of(error) not in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
            raise


#: Type -> what a Pod can ask for, and what the node offers.
_SHAPES = {
    "m6i.large": ({"cpu": "1500m", "memory": "6Gi"}, {"cpu": "1900m", "memory": "7Gi"}),
    "c7g.xlarge": ({"cpu": "3500m", "memory": "6Gi"}, {"cpu": "3900m", "memory": "7Gi"}),
    "r6i.xlarge": ({"cpu": "3500m", "memory": "28Gi"}, {"cpu": "3900m", "memory": "30Gi"}),
}
_KINDS = (("m6i.large", "on_demand"), ("c7g.xlarge", "on_demand"), ("r6i.xlarge", "spot"))
_ZONES = "abc"


def fake_offerings(region: str, count: int) -> list[dict[str, object]]:
    """`count` slots over three zones, a third of them spot."""
    pools = [(zone, *kind) for zone in _ZONES for kind in _KINDS]
    return [
        {
            "instance_type": instance_type,
            "zone": f"{region}{zone}",
            "region": region,
            "capacity_type": capacity,
            "count": count // len(pools) + (number < count % len(pools)),
            "resources": _SHAPES[instance_type][0],
            "allocatable": _SHAPES[instance_type][1],
            "labels": {},
        }
        for number, (zone, instance_type, capacity) in enumerate(pools)
    ]
