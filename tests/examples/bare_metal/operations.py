"""Operations and machines as the server would hand them to the bare-metal example."""

from dataclasses import replace

from bigfleet.provider import Kind, MachineRecord, MachineState, Operation


def machine(name: str, state: MachineState = MachineState.IDLE, cluster: str = "") -> MachineRecord:
    return MachineRecord(name, state, cluster=cluster)


def operation(kind: Kind, name: str, cluster: str = "", blob: bytes = b"") -> Operation:
    op = Operation(kind, machine(name, cluster=cluster), f"op-{kind}", attempt=1, deadline=2**62)
    return replace(op, cluster_id=cluster, bootstrap_blob=blob)
