"""A roll-up: the complete demand of one cluster, read and found sound, or refused with a reason."""

from dataclasses import dataclass

from bigfleet.model.needs import Need


@dataclass(frozen=True, slots=True)
class Rollup:
    cluster_id: str
    timestamp_unix_nanos: int
    #: One per identity; arrival is the time of the roll-up that first had the row as it is.
    needs: tuple[Need, ...]
    #: Of the content without the timestamp: equal digests say the same.
    digest: bytes


class RollupRefused(ValueError):
    """Refused whole. `reason` is a label of the metric, the text names field and fix."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
