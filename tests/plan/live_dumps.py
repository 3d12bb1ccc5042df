"""The fleet file a shard in virtual time would give out."""

from bigfleet.shard.fleet_dump import FleetDump, pieces
from bigfleet.shard.state import ShardState


def dump_of(state: ShardState) -> bytes:
    """Whole, in pieces of two."""
    deciding = state.decision_loop
    assert deciding.given is not None, "a cycle has ended"
    dump = FleetDump(deciding.given, deciding.plan_options(), state.settings.id, state.epoch)
    lines = [dump.header()]
    for rows in pieces(dump.machine_count, 2):
        lines.append(dump.machine_lines(rows, dump.extras(rows, state.parts.machines)))
    lines += [dump.need_lines(rows) for rows in pieces(dump.need_count, 2)]
    return b"".join(lines)
