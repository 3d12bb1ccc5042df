"""What a machine without pods would offer to them, if it became a Node."""

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.model.requirements import INSTANCE_TYPE_KEY, ZONE_KEY
from bigfleet.model.resources import Resources
from bigfleet.placement.packing import NodeRoom
from bigfleet.sim.nodes import SimNode
from bigfleet.sim.workloads import DAEMON_SETS


def room_of(record: MachineRecord) -> NodeRoom:
    """With the DaemonSets of a simulated cluster on it."""
    labels = {
        **record.labels,
        INSTANCE_TYPE_KEY: record.instance_type,
        ZONE_KEY: record.zone,
    }
    declared = Resources.parse(record.allocatable or record.resources)
    node = SimNode(record.id, record.id, MachineState.CONFIGURED, labels, declared, 0)
    room = NodeRoom.of(node.view())
    for each in DAEMON_SETS:
        room.take(each.pod(record.id))
    return room
