"""The boto3 clients of one region, or of a fake of it."""

from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config as BotoConfig

from bigfleet.provider import Permanent
from bigfleet_aws.settings import Ec2Config

#: As many calls at once as the server runs operations of all kinds.
THREADS = 128

_BOTO = BotoConfig(
    # The server retries, with the whole deadline in view; twice is once too often.
    retries={"total_max_attempts": 1, "mode": "standard"},
    connect_timeout=5,
    read_timeout=30,
    max_pool_connections=THREADS,
)


@dataclass(frozen=True, slots=True)
class Clients:
    ec2: Any
    ssm: Any
    s3: Any
    sqs: Any


def clients_of(cfg: Ec2Config) -> Clients:
    session = boto3.Session(
        region_name=cfg.region,
        aws_access_key_id=cfg.access_key_id or None,
        aws_secret_access_key=cfg.secret_access_key.reveal() or None,
    )
    if session.get_credentials() is None:
        raise Permanent("no AWS credentials found; --use-fake-backend needs none")
    endpoint = cfg.endpoint_url or None

    def client(service: str) -> Any:
        return session.client(service, endpoint_url=endpoint, config=_BOTO)

    return Clients(client("ec2"), client("ssm"), client("s3"), client("sqs"))
