"""Rows of Needs as messages: a Need that did not change keeps its bytes from cycle to cycle.

A page asks for thousands of rows once a second, and of most of them nothing is new. What a row
depends on is compared as columns; only what differs, or counts cycles and machines of the fleet, is
made anew. May be asked in several threads at a time.
"""

from collections.abc import Mapping

from bigfleet.model.forecasts import Forecast
from bigfleet.model.shard_views import NeedQuery
from bigfleet.shard.ledgers.needs import NeedsLedger, NeedSourcesTold
from bigfleet.wire.need_listings import (
    EncodedNeeds,
    NeedRowWriter,
    forecast_bytes,
    need_sources_bytes,
)

#: About 15 MB of them.
MOST_KEPT = 32_768


#: Mark of a Need, and its row without its sources, by key.
_Rows = dict[int, tuple[bytes, bytes]]


class NeedRowBytes:
    def __init__(self) -> None:
        self._writer = NeedRowWriter()
        #: What the marks are numbers of, and the rows; replaced together.
        self._kept: tuple[object, _Rows] = None, {}

    def listing(
        self,
        ledger: NeedsLedger,
        query: NeedQuery,
        sources: NeedSourcesTold,
        forecasts: Mapping[int, Forecast] | None = None,
    ) -> EncodedNeeds:
        """`forecasts`: by key number."""
        known_forecasts = forecasts or {}
        head, rows, in_full = ledger.chosen(query, sources)
        kept = self._kept_for(ledger)
        nothing = NeedSourcesTold()
        found: list[bytes] = []
        for row, key, mark, named in zip(
            rows.tolist(),
            ledger.keys(rows),
            ledger.marks(rows),
            ledger.sources(rows, sources),
            strict=True,
        ):
            known = kept.get(key)
            if known is not None and known[0] == mark:
                content = known[1]
            else:
                content = self._writer.row(ledger.told(row, nothing, in_full=row in in_full))
                if mark is not None:
                    kept[key] = mark, content
            content += need_sources_bytes(named) if named else b""
            # One that is met has bytes that are kept, and no forecast.
            if mark is None and (forecast := ledger.forecast_of(row, known_forecasts)) is not None:
                content += forecast_bytes(forecast.brief)
            found.append(content)
        return EncodedNeeds(head, found)

    def _kept_for(self, ledger: NeedsLedger) -> _Rows:
        """Those of Needs that are gone go with all others when there are too many."""
        tables, kept = self._kept
        if tables is not ledger.tables or len(kept) > MOST_KEPT:
            # Another thread goes on with the old ones.
            kept = {}
            self._kept = ledger.tables, kept
        return kept
