"""How a row ends when it does not pass: broken, skipped for want of a capability, or not run."""

from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import MachineRecord


class Broken(AssertionError):
    """The provider broke the row; the message says what was expected and what was seen."""


class WentFailed(Broken):
    """A machine ended FAILED on a way that should have worked."""


class Skipped(Exception):
    """A capability is honestly absent; the message is the evidence."""


class NotServed(Exception):
    """The row could not be run here; the message is the reason."""


def must(holds: bool, sentence: str) -> None:
    if not holds:
        raise Broken(sentence)


def must_equal(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise Broken(f"{what}: expected {short(expected)}, saw {short(found)}")


def must_be_clean(record: MachineRecord) -> None:
    """An Idle machine carries nothing of its last assignment."""
    must_equal(record.state, MachineState.IDLE, f"state of {record.id}")
    must_equal(record.cluster, "", f"cluster of idle {record.id}")
    must_equal(dict(record.shard_metadata), {}, f"metadata of idle {record.id}")
    must_equal(record.last_error, "", f"last_error of idle {record.id}")


def must_be_bound(record: MachineRecord, cluster: str, metadata: dict[str, str]) -> None:
    must_equal(record.state, MachineState.CONFIGURED, f"state of {record.id}")
    must_equal(record.cluster, cluster, f"cluster of {record.id}")
    must_carry(record, metadata)


def must_carry(record: MachineRecord, metadata: dict[str, str]) -> None:
    found = dict(record.shard_metadata)
    if found == metadata:
        return
    lost = [key for key in metadata if key not in found]
    foreign = [key for key in found if key not in metadata]
    altered = [key for key in metadata if key in found and found[key] != metadata[key]]
    raise Broken(
        f"metadata of {record.id} ({record.state.name}) must be what Configure sent; "
        f"lost {short(lost)}, foreign {short(foreign)}, altered {short(altered)}"
    )


def has_host(record: MachineRecord) -> bool:
    return record.host is not None and not record.host.empty


def fields_match(record: MachineRecord) -> str | None:
    """What is wrong with host, binding and error for the state the record is in, if anything."""
    state, bound = record.state, bool(record.cluster)
    if state is MachineState.SPECULATIVE and (has_host(record) or bound):
        return f"{record.id} is SPECULATIVE with host {record.host} and cluster {record.cluster!r}"
    if state is MachineState.IDLE and (not has_host(record) or bound or record.shard_metadata):
        return f"{record.id} is IDLE with host {record.host} and cluster {record.cluster!r}"
    if state is MachineState.CONFIGURED and not (has_host(record) and bound):
        return f"{record.id} is CONFIGURED with host {record.host}, cluster {record.cluster!r}"
    if (state is MachineState.FAILED) != bool(record.last_error):
        return f"{record.id} is {state.name} with last_error {record.last_error!r}"
    return None


def short(value: object, longest: int = 160) -> str:
    text = getattr(value, "name", None) or repr(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
