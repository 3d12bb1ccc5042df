"""One cloud for all tests of the AWS example; each gets a provider name of its own in it."""

import json
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import boto3
import botocore.session
import pytest
from botocore.loaders import create_loader

from bigfleet.provider import ManualClock, OpenContext, Secret
from bigfleet_aws import Ec2
from bigfleet_aws.clients import Clients, clients_of
from bigfleet_aws.settings import Ec2Config
from tests.examples.aws.cloud import REGION, moto_cloud

_numbers = count(1)
OFFERING = {
    "instance_type": "m6i.large",
    "zone": f"{REGION}a",
    "capacity_type": "on_demand",
    "count": 6,
    "id_prefix": "m",
}


@pytest.fixture(scope="session", autouse=True)
def _one_loader_of_service_models() -> Iterator[None]:
    """Every boto3 session would read and parse the same megabytes again."""
    loader = create_loader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", lambda _: loader)
        yield


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with moto_cloud() as address:
        yield address


@pytest.fixture
def provider() -> str:
    return f"ec2-{next(_numbers)}"


@pytest.fixture
def cfg(endpoint: str) -> Ec2Config:
    return Ec2Config(
        region=REGION,
        endpoint_url=endpoint,
        image="ami-12345678",
        access_key_id="fake",
        secret_access_key=Secret("fake"),
    )


@pytest.fixture
def clients(cfg: Ec2Config) -> Clients:
    return clients_of(cfg)


class Instantly(ManualClock):
    """A clock on which nothing takes time."""

    async def sleep(self, seconds: float) -> None:
        return None


@pytest.fixture
async def backend(cfg: Ec2Config, provider: str, tmp_path: Path) -> AsyncIterator[Ec2]:
    made = Ec2()
    made.cfg = cfg
    offerings = tmp_path / "offerings.json"
    offerings.write_text(json.dumps([OFFERING]))
    await made.open(OpenContext(provider, Instantly(), offerings, use_fake_backend=True))
    yield made
    await made.close()


@pytest.fixture(autouse=True)
def no_credentials_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
