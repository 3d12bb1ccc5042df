"""The journal of the reference provider: one checksummed line per fact, read back at start.

A torn last line is dropped, because its ack was never sent. Anything else that does not read is a
refusal to start: a provider must not come up with a fleet it made up.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from bigfleet.model.machines import CapacityType, Host, MachineState
from bigfleet.model.provider_calls import MachineRecord

Fact = dict[str, object]


class Damaged(Exception):
    """The state file cannot be trusted."""


class StateFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        existed = path.exists()
        self._facts = list(self._read()) if existed else []
        if existed and not self._facts:
            raise Damaged(f"{path} is there and says nothing")
        self._file = path.open("ab")

    @property
    def facts(self) -> list[Fact]:
        return self._facts

    def append(self, *facts: Fact) -> None:
        lines = []
        for fact in facts:
            body = json.dumps(fact, separators=(",", ":")).encode()
            lines.append(b"%08x %s\n" % (crc32(body), body))
        self._file.write(b"".join(lines))
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def _read(self) -> Iterator[Fact]:
        lines = self._path.read_bytes().split(b"\n")
        torn = lines.pop()
        for number, line in enumerate(lines, 1):
            crc, _, body = line.partition(b" ")
            if crc != b"%08x" % crc32(body):
                raise Damaged(f"{self._path}: line {number} is not what was written")
            yield json.loads(body)
        if torn:
            with self._path.open("r+b") as file:
                file.truncate(self._path.stat().st_size - len(torn))


def fact_of(record: MachineRecord) -> Fact:
    host = [record.host.provider, record.host.ref] if record.host else None
    return {
        "id": record.id,
        "state": int(record.state),
        "host": host,
        "instance_type": record.instance_type,
        "zone": record.zone,
        "capacity_type": int(record.capacity_type),
        "price": record.price_per_hour,
        "probability": record.interruption_probability,
        "resources": dict(record.resources),
        "allocatable": dict(record.allocatable),
        "labels": dict(record.labels),
        "last_error": record.last_error,
        "cluster": record.cluster,
        "metadata": dict(record.shard_metadata),
    }


def record_of(fact: dict[str, object]) -> MachineRecord:
    host = fact["host"]
    return MachineRecord(
        id=str(fact["id"]),
        state=MachineState(_number(fact["state"])),
        host=Host(*(str(part) for part in host)) if isinstance(host, list) else None,
        instance_type=str(fact["instance_type"]),
        zone=str(fact["zone"]),
        capacity_type=CapacityType(_number(fact["capacity_type"])),
        price_per_hour=_decimal(fact["price"]),
        interruption_probability=_decimal(fact["probability"]),
        resources=_texts(fact["resources"]),
        allocatable=_texts(fact["allocatable"]),
        labels=_texts(fact["labels"]),
        last_error=str(fact["last_error"]),
        cluster=str(fact["cluster"]),
        shard_metadata=_texts(fact["metadata"]),
    )


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value


def _decimal(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _texts(value: object) -> dict[str, str]:
    assert isinstance(value, dict)
    return {str(key): str(text) for key, text in value.items()}
