"""What CapacityRequests ask for as rows of a roll-up: the same bytes are read once."""

from dataclasses import replace

from bigfleet.kube import request_demand
from bigfleet.kube.request_demand import LARGEST_SPEC as LARGEST_SPEC
from bigfleet.kube.request_demand import LIMITS
from bigfleet.kube.request_demand import TranslatedDemand as TranslatedDemand
from bigfleet.kube.request_demand import Untranslatable as Untranslatable
from bigfleet.kube.request_demand import canonical_selector as canonical_selector
from bigfleet.model.needs import Need
from bigfleet.wire.rollups import need_row

#: Bytes of a request as a row of its own. Its sums grow, and others of its profile may name other
#: resources: so much is left for them.
LARGEST_ROW = LIMITS.max_row_bytes * 3 // 4
#: Specs remembered; a full memory starts anew.
_MEMORY = 100_000


class Translator:
    """Remembers what it has read, so pods of one template are read once."""

    def __init__(self) -> None:
        self._known: dict[bytes, TranslatedDemand | Untranslatable] = {}

    def translate(self, spec: bytes) -> TranslatedDemand | Untranslatable:
        known = self._known.get(spec)
        if known is None:
            if len(self._known) >= _MEMORY:
                self._known.clear()
            known = self._known[spec] = translate(spec)
        return known


def translate(spec: bytes) -> TranslatedDemand | Untranslatable:
    """`spec`: JSON as the API server has it."""
    demand = request_demand.translate(spec)
    if isinstance(demand, Untranslatable):
        return demand
    unit = demand.unit
    size = len(need_row(Need("", demand.profile, unit, unit, group=demand.group)))
    if size > LARGEST_ROW:
        # A shard refuses roll-ups with such a row whole: one request would cost all others theirs.
        text = f"{size} bytes as a row, {LARGEST_ROW} fit; ask for less"
        return Untranslatable("too_large", "spec", text)
    return replace(demand, size=size)
