"""How far a cycle is from its lower bound, as a message and back."""

from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb
from bigfleet.model.regret import Regret, TypeRegret, UncoveredDemand
from bigfleet.wire.needs import RESOURCES
from bigfleet.wire.record_codecs import Derived, RecordCodec

TYPE_REGRET = RecordCodec(TypeRegret, pb.TypeRegret, Derived("gap_per_hour"))
UNCOVERED = RecordCodec(UncoveredDemand, pb.UncoveredDemand, greedy=RESOURCES, bound=RESOURCES)
REGRET = RecordCodec(
    Regret,
    pb.Regret,
    Derived("gap_per_hour"),
    Derived("ratio"),
    uncovered=UNCOVERED,
    by_type=TYPE_REGRET,
)


def regret_bytes(regret: Regret) -> bytes:
    return REGRET.message(regret).SerializeToString()


def read_regret(content: bytes) -> Regret:
    return REGRET.record(pb.Regret.FromString(content))
