"""Names are a contract: any replica, and any reader, finds an object by what it stands for."""

import pytest

from bigfleet.kube.names import available_capacity_name, is_subdomain, upcoming_node_name

FINGERPRINT = (
    "p=1000000|ipb=16|rpb=27|reqs=node.kubernetes.io/instance-type:1:a2,a3;"
    "topology.bigfleet/rack:5:;|spr=topology.kubernetes.io/zone:1:1;"
)


def test_a_machine_id_with_slashes_becomes_a_slug_with_a_digest() -> None:
    name = upcoming_node_name("aws/spot/m6i.large/eu-1a/007")
    assert name == "un-aws-spot-m6i.large-eu-1a-007-a29d46fe38"


def test_a_plain_machine_id_is_kept_whole() -> None:
    assert upcoming_node_name("rack4-host.17") == "un-rack4-host.17"


def test_an_available_capacity_is_named_by_its_fingerprint() -> None:
    name = available_capacity_name(f"available:{FINGERPRINT}")
    assert name == "ac-e78fbebc6d85d6fdb21026ff508529a4"


@pytest.mark.parametrize(
    "machine_id",
    [
        "",
        ".",
        "..",
        "a.",
        "-a.",
        "a/.b",
        "UPPER",
        "a_b",
        "é",
        "x" * 250,
        "x/" * 300,
        "a.-.b",
        "a..b",
    ],
)
def test_every_name_is_one_a_server_takes(machine_id: str) -> None:
    assert is_subdomain(upcoming_node_name(machine_id))


def test_ids_that_look_alike_have_names_of_their_own() -> None:
    alike = ["a/b", "a_b", "A/b", "a//b", "a b", "a-b", "x" * 250, "x" * 251]
    assert len({upcoming_node_name(machine_id) for machine_id in alike}) == len(alike)
