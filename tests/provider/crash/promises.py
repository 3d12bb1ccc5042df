"""What an acknowledgement promises about the record that is found after a kill."""

from dataclasses import dataclass, field

from bigfleet.model.machines import MachineState as S
from bigfleet.model.provider_calls import MachineRecord, Token
from bigfleet.provider.ledger.transitions import Kind

BOUND = (S.CONFIGURING, S.CONFIGURED, S.DRAINING)
HOSTLESS = (S.SPECULATIVE, S.CREATING)


@dataclass(slots=True)
class Promise:
    """A mutation that was sent, and acknowledged if it has an operation id."""

    kind: Kind
    operation_id: str
    token: Token
    cluster: str = ""
    metadata: dict[str, str] = field(default_factory=dict)


def why_broken(
    record: MachineRecord, promise: Promise | None, unanswered: Promise | None
) -> str | None:
    """The last acknowledged mutation shows; one whose answer was lost may show as well."""
    allowed = {S.SPECULATIVE} if promise is None else _after(promise)
    if unanswered is not None:
        allowed |= _after(unanswered)
    if record.state not in allowed:
        names = ", ".join(sorted(state.name for state in allowed))
        return f"is {record.state.name}, promised was one of {names}"
    if record.state not in BOUND:
        return None
    given = [p for p in (promise, unanswered) if p is not None and p.kind is Kind.CONFIGURE]
    bindings = [(p.cluster, p.metadata) for p in given]
    if bindings and (record.cluster, dict(record.shard_metadata)) not in bindings:
        return f"the binding is {record.cluster} {record.shard_metadata}, promised {bindings}"
    return None


def _after(promise: Promise) -> set[S]:
    return {promise.kind.passing, promise.kind.target, S.FAILED}


def why_not_whole(record: MachineRecord) -> str | None:
    """Fields that do not belong to the state: a mutation that happened by half."""
    if bool(record.last_error) != (record.state is S.FAILED):
        return f"{record.state.name} with last_error {record.last_error!r}"
    if record.state is S.FAILED:
        return None
    if (record.host is None) != (record.state in HOSTLESS):
        return f"{record.state.name} with host {record.host}"
    if bool(record.cluster) != (record.state in BOUND) or (
        record.shard_metadata and not record.cluster
    ):
        return f"{record.state.name} with cluster {record.cluster!r}"
    return None
