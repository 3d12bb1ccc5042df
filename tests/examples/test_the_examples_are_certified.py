"""Both examples keep the whole contract in the profiles they claim."""

from pathlib import Path

import pytest

from tests.examples.aws.cloud import moto_cloud
from tests.examples.certification import LANES, example_certificate

pytestmark = pytest.mark.certification


def test_the_bare_metal_example_is_certified(tmp_path: Path) -> None:
    worlds = {lane: {"world": str(tmp_path / "worlds" / lane)} for lane in LANES}
    found = example_certificate(
        "bare-metal",
        "bigfleet_bare_metal:BareMetal",
        worlds,
        "bare-metal,fault,durable",
        tmp_path,
    )
    assert found.verdict == "CERTIFIED", found.output
    assert set(found.skipped) <= {"TestConformance_DeleteIdempotent"}


def test_a_pool_of_racked_hosts_that_are_never_created_is_certified(tmp_path: Path) -> None:
    nothing: dict[str, dict[str, str]] = {lane: {} for lane in LANES}
    found = example_certificate(
        "bare-metal",
        "bigfleet_bare_metal:BareMetal",
        nothing,
        "bare-metal,fault,durable",
        tmp_path,
    )
    assert found.verdict == "CERTIFIED", found.output
    assert all("SPECULATIVE" in why or "UNIMPLEMENTED" in why for why in found.skipped.values())


def test_the_aws_example_is_certified(tmp_path: Path) -> None:
    regions = dict(zip(LANES, ("eu-central-1", "eu-west-1", "eu-north-1"), strict=True))
    with moto_cloud() as endpoint:
        clouds = {
            lane: {"endpoint_url": endpoint, "region": region} for lane, region in regions.items()
        }
        found = example_certificate(
            "aws", "bigfleet_aws:Ec2", clouds, "core,cloud,spot,fault,durable", tmp_path
        )
    assert found.verdict == "CERTIFIED", found.output
    assert found.skipped == {}
