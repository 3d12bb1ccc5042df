"""What clusters ask for on the rig: pods that fill one machine of type std-8 each."""

from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need
from bigfleet.model.profiles import Profile
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, Operator, Requirement
from bigfleet.model.resources import Resources
from bigfleet.model.session_frames import RollupFrame
from bigfleet.wire.rollups import rollup_bytes

#: What a std-8 of the sim offers to pods.
WHOLE_NODE = Resources.parse({"cpu": "7500m", "memory": "28Gi"})
LOW, HIGH = 100, 100_000


def whole_nodes(cluster: str, count: int, priority: int = LOW) -> Need:
    """One Need that takes `count` machines."""
    any_node = Requirement.of(INSTANCE_TYPE_KEY, Operator.EXISTS)
    profile = Profile.of([any_node], priority=priority)
    return Need(cluster, profile, WHOLE_NODE.times(count), WHOLE_NODE)


def rollup(cluster: str, at: Instant, *needs: Need) -> RollupFrame:
    return RollupFrame(rollup_bytes(cluster, at, needs))
