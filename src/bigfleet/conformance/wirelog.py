"""What was said on the wire: the last calls of a row for its report, latencies of the whole run."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from bigfleet.conformance.claims import short
from bigfleet.model.provider_calls import Ack, Code, MachineRecord

KEPT = 50
#: Upper bounds in milliseconds; the last bucket is everything slower.
BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 250, 500, 1000, 2000, 5000)


@dataclass(frozen=True, slots=True)
class Exchange:
    #: Seconds since the row began.
    at: float
    method: str
    request: object
    code: Code
    response: object
    seconds: float

    def entry(self) -> dict[str, object]:
        return {
            "at_ms": round(self.at * 1000, 1),
            "method": self.method,
            "request": short(self.request, 400),
            "code": str(self.code),
            "response": short(_response_text(self.response), 600),
            "ms": round(self.seconds * 1000, 2),
        }


def said(response: object) -> object:
    """What of a response is kept: a whole fleet would be too much."""
    match response:
        case (tuple() as records, bytes(revision)):
            few = ", ".join(_record_text(record) for record in records[:3])
            return f"{len(records)} machines, revision {short(revision, 60)}: {few}"
        case _:
            return response


def _response_text(response: object) -> object:
    if isinstance(response, Ack):
        return f"{response.operation_id} {_record_text(response.machine)}"
    if isinstance(response, MachineRecord):
        return _record_text(response)
    return response


def _record_text(record: MachineRecord) -> str:
    shown = [record.id, record.state.name]
    if record.cluster:
        shown.append(f"cluster={record.cluster}")
    if record.shard_metadata:
        shown.append(f"metadata={short(dict(record.shard_metadata), 120)}")
    if record.host is not None:
        shown.append(f"host={record.host.provider}/{record.host.ref}")
    if record.last_error:
        shown.append(f"last_error={short(record.last_error)}")
    return " ".join(shown)


@dataclass(slots=True)
class Latencies:
    """Counts per method and bucket, over the whole run."""

    counts: dict[str, list[int]] = field(default_factory=dict)

    def add(self, method: str, seconds: float) -> None:
        row = self.counts.setdefault(method, [0] * (len(BUCKETS_MS) + 1))
        ms = seconds * 1000
        row[next((i for i, bound in enumerate(BUCKETS_MS) if ms <= bound), len(BUCKETS_MS))] += 1

    def table(self) -> Mapping[str, object]:
        return {
            method: {"le_ms": list(BUCKETS_MS), "counts": row}
            for method, row in self.counts.items()
        }


class WireLog:
    def __init__(self, latencies: Latencies | None = None) -> None:
        self._kept: deque[Exchange] = deque(maxlen=KEPT)
        self._latencies = latencies or Latencies()

    def add(self, exchange: Exchange) -> None:
        self._kept.append(exchange)
        self._latencies.add(exchange.method, exchange.seconds)

    def entries(self) -> list[dict[str, object]]:
        return [exchange.entry() for exchange in self._kept]
