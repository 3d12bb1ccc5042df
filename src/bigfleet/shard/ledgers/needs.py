"""The needs ledger: what the last cycle did for each Need. Immutable, swapped whole each cycle.

Making one costs nothing; what it shows is made when it is asked for, from the decision it keeps
and the states judged with it. It may be read in a thread of its own: a page of everything takes
some seconds in a large fleet.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, starmap

import numpy as np

from bigfleet.engine.decision import Decision
from bigfleet.engine.kernels.compiled import Bools, Int8s, Int64s
from bigfleet.engine.need_views import NeedViews
from bigfleet.explain.column_facts import ColumnFacts
from bigfleet.explain.need_reasons import NeedReasons
from bigfleet.explain.need_states import TIMED, Cause, NeedStates
from bigfleet.model.cluster_reports import (
    MOST_STANDINGS,
    ClusterReportReply,
    DemandSource,
    NeedStanding,
)
from bigfleet.model.forecasts import Forecast
from bigfleet.model.machines import Instant
from bigfleet.model.need_states import NeedState
from bigfleet.model.needs import Need, NeedKey, is_margin
from bigfleet.model.reasons import Reason
from bigfleet.model.shard_views import (
    NeedCounts,
    NeedListing,
    NeedPage,
    NeedQuery,
    NeedRow,
    ReasonCount,
)
from bigfleet.model.watch_events import NeedChanges


@dataclass(frozen=True, slots=True)
class NeedSourcesTold:
    """What clusters say asks for their Needs."""

    #: By cluster and by (fingerprint, group); a Need that is not there is the pods'.
    of_cluster: Mapping[str, Mapping[tuple[str, str], tuple[str, ...]]] = field(
        default_factory=dict
    )
    #: Only what one of these asks for; empty: all.
    only: tuple[str, ...] = ()

    def of(self, key: NeedKey) -> tuple[str, ...]:
        """Empty: its cluster does not tell."""
        told = self.of_cluster.get(key.cluster)
        if told is None:
            return ()
        return told.get((key.fingerprint, key.group), (DemandSource.POD,))

    def is_wanted(self, key: NeedKey) -> bool:
        return not set(self.only).isdisjoint(self.of(key))


#: Short Needs of one answer that are explained with counts over the whole fleet.
MOST_IN_FULL = 500


class NeedsLedger:
    def __init__(
        self,
        decision: Decision | None = None,
        cycle: int = 0,
        at: Instant = 0,
        states: NeedStates | None = None,
        facts: ColumnFacts | None = None,
        *,
        is_past: bool = False,
    ) -> None:
        """Without a decision it says that nothing was computed yet; without states it lists Needs
        as the engine has them only. `is_past`: the states are judged by a journal, in which no
        pods are: no Need is called met, and no margin short (ruling C70)."""
        self._is_past = is_past
        self.cycle = cycle if decision is not None else 0
        self.computed_at = at if decision is not None else 0
        self._views = NeedViews(decision) if decision is not None else None
        self._states = states
        self._reasons: NeedReasons | None = None
        if decision is not None and self._views is not None and states is not None:
            self._reasons = NeedReasons(decision, self._views, states, facts)

    def __len__(self) -> int:
        return len(self._views) if self._views is not None else 0

    @property
    def unsatisfied(self) -> int:
        return self._views.unsatisfied if self._views is not None else 0

    def page(self, cluster: str = "", limit: int = 0) -> NeedPage:
        """Needs by priority descending, arrival, cluster; no cluster: all, no limit: all."""
        if self._views is None:
            return NeedPage(0, 0, 0, ())
        rows = self._views.rows(cluster).tolist()
        shown = rows[:limit] if limit > 0 else rows
        views = tuple(self._views.view(row) for row in shown)
        return NeedPage(self.cycle, self.computed_at, len(rows), views)

    def counts(self, cluster: str = "") -> NeedCounts:
        """How many Needs are in which state."""
        if self._views is None or self._states is None:
            return NeedCounts()
        return _counted(self._states.state[self._views.of_cluster(cluster)])

    def changes_since(
        self,
        before: "NeedsLedger",
        sources: NeedSourcesTold,
        most: int,
        forecasts: Mapping[int, Forecast],
    ) -> NeedChanges:
        """Needs whose state, cause or deficit is another than in an earlier cycle; a reset where
        they are more than `most`."""
        if self._views is None or self._states is None:
            return NeedChanges()
        if before._views is None or before._states is None:
            return NeedChanges(reset=True)
        known, place = self._states.places_in(before._states)
        rows, places = np.flatnonzero(known), place[known]
        now, then = self._states, before._states
        differ = (now.state[rows] != then.state[places]) | (now.cause[rows] != then.cause[places])
        differ |= self._views.deficits_differ(rows, before._views, places)
        changed = np.sort(np.concatenate((rows[differ], np.flatnonzero(~known))))
        gone = np.setdiff1d(np.arange(len(then)), places)
        if len(changed) + len(gone) > most:
            return NeedChanges(reset=True)
        return NeedChanges(
            tuple(
                replace(self.told(row, sources), forecast=self._brief_forecast(row, forecasts))
                for row in changed.tolist()
            ),
            tuple(map(before._views.key, gone.tolist())),
        )

    def stands(self) -> Iterator[tuple[Need, NeedState]]:
        """Every Need with its state; nothing is explained."""
        if self._views is not None and self._states is not None:
            for row, state in enumerate(self._states.state.tolist()):
                yield self._views.need(row), NeedState(state)

    def stuck_pods(self, cluster: str = "") -> int:
        """Pods that wait although the machines of their Needs are there."""
        if self._views is None or self._states is None:
            return 0
        return int(self._states.stuck[self._views.of_cluster(cluster)].sum())

    def listing(
        self,
        cluster: str = "",
        limit: int = 0,
        states: Collection[NeedState] = (),
        id_prefix: str = "",
        sources: NeedSourcesTold | None = None,
    ) -> NeedListing:
        """Like `page`, with states; `states`: only these, `id_prefix`: only ids that begin so,
        `sources`: only what these ask for.

        Of the first short Needs it is told in full why they are, of the others briefly.
        """
        told = sources or NeedSourcesTold()
        query = NeedQuery(cluster, limit, tuple(states), id_prefix)
        return self.answer(query, told)

    def answer(self, query: NeedQuery, sources: NeedSourcesTold | None = None) -> NeedListing:
        told = sources or NeedSourcesTold()
        head, rows, in_full = self.chosen(query, told)
        listed = (self.told(row, told, in_full=row in in_full) for row in rows.tolist())
        return replace(head, rows=tuple(listed))

    def chosen(
        self, query: NeedQuery, sources: NeedSourcesTold
    ) -> tuple[NeedListing, Int64s, set[int]]:
        """A listing without its rows, which rows they are, and which are told in full."""
        if self._views is None or self._states is None:
            return NeedListing(0, 0, NeedCounts(), 0, ()), np.zeros(0, np.int64), set()
        states, id_prefix, limit = query.states, query.id_prefix, query.limit
        rows = self._views.rows(query.cluster)
        unjudged = self._unjudged(rows)
        counts = _counted(self._states.state[rows[~unjudged]])
        if states:
            rows = rows[np.isin(self._states.state[rows], list(states)) & ~unjudged]
        if id_prefix:
            begins = (self._views.need_id(row).startswith(id_prefix) for row in rows.tolist())
            rows = rows[np.fromiter(begins, np.bool_, len(rows))]
        if sources.only:
            wanted = (sources.is_wanted(self._views.key(row)) for row in rows.tolist())
            rows = rows[np.fromiter(wanted, np.bool_, len(rows))]
        reasons: tuple[ReasonCount, ...] = ()
        in_full: set[int] | None = None
        if query.reason or query.count_reasons:
            # Before the filter: else other rows would be told in full, with another first reason.
            in_full = self._told_in_full(rows)
            codes = self._first_codes(rows, in_full)
            if query.count_reasons:
                counted = sorted(Counter(codes).items(), key=lambda each: (-each[1], each[0]))
                reasons = tuple(starmap(ReasonCount, counted))
            if query.reason:
                rows = rows[np.array([code == query.reason for code in codes], np.bool_)]
        shown = rows[:limit] if limit > 0 else rows
        head = NeedListing(
            self.cycle, self.computed_at, counts, len(rows), (), int(unjudged.sum()), reasons
        )
        return head, shown, self._told_in_full(shown) if in_full is None else in_full

    def told(self, row: int, sources: NeedSourcesTold, *, in_full: bool = False) -> NeedRow:
        """One of the chosen rows; `in_full`: everything that stands in its way."""
        assert self._views is not None, "it was chosen"
        return self._row(row, in_full, sources.of(self._views.key(row)))

    def marks(self, rows: Int64s) -> list[bytes | None]:
        """Of each chosen row: while this is the same, over the same tables, so is what is told of
        it but for its sources. None: it is told anew each time, as it counts cycles, or machines
        of the fleet.
        """
        views, states = self._views, self._states
        if views is None or states is None:
            return []
        steady, columns = views.steady(rows)
        steady &= states.cause[rows] == Cause.NONE
        told = (states.state, states.since, states.arriving, states.stuck)
        more = np.column_stack([each[rows].astype(np.int64) for each in told])
        whole = np.ascontiguousarray(np.concatenate((columns, more), axis=1))
        width, content = whole.shape[1] * whole.itemsize, whole.tobytes()
        found: list[bytes | None] = [
            content[place * width : (place + 1) * width] if is_steady else None
            for place, is_steady in enumerate(steady.tolist())
        ]
        for place in np.flatnonzero(steady & views.gangs(rows)).tolist():
            found[place] = (found[place] or b"") + views.domain(int(rows[place])).encode()
        return found

    def keys(self, rows: Int64s) -> list[int]:
        """The same in every cycle."""
        return [] if self._states is None else self._states.progress.key[rows].tolist()

    def forecast_of(self, row: int, forecasts: Mapping[int, Forecast]) -> Forecast | None:
        """None: it is met, or not forecast since it came into its state."""
        if self._states is None or self._states.state[row] == NeedState.MET:
            return None
        forecast = forecasts.get(int(self._states.progress.key[row]))
        if forecast is None or not forecast.is_timed:
            return forecast
        # It may have been made before something held the Need back.
        return forecast if Cause(int(self._states.cause[row])) in TIMED else None

    def sources(self, rows: Int64s, told: NeedSourcesTold) -> list[tuple[str, ...]]:
        views = self._views
        if views is None or not told.of_cluster:
            return [()] * len(rows)
        return [told.of(views.key(row)) for row in rows.tolist()]

    @property
    def tables(self) -> object:
        """What marks are numbers of."""
        return None if self._views is None else self._views.tables

    def row(self, row: int) -> NeedRow | None:
        """One row of the demand as the engine normalised it; None: its state is not known."""
        return None if self._states is None else self._row(row, in_full=False)

    def _unjudged(self, rows: Int64s) -> Bools:
        """Which of them are in none of the states, as far as is recorded."""
        assert self._states is not None, "asked by those who looked"
        unknown = np.zeros(len(rows), np.bool_)
        if not self._is_past or self._views is None:
            return unknown
        cause = self._states.cause[rows]
        unknown |= cause == Cause.NONE
        for place in np.flatnonzero(cause == Cause.NO_SUPPLY).tolist():
            unknown[place] = is_margin(self._views.key(int(rows[place])).group)
        return unknown

    def standings(
        self,
        cluster: str,
        limit: int = MOST_STANDINGS,
        ask: Iterable[tuple[str, str]] = (),
        forecasts: Mapping[int, Forecast] | None = None,
    ) -> ClusterReportReply:
        """How the Needs of one cluster stand, as it asked for them; no supply is counted.

        Those in `ask` (fingerprint, group) come first, however many; then the others by
        priority until there are `limit`. `forecasts`: by key number.
        """
        if self._views is None:
            return ClusterReportReply()
        views, rows = self._views, self._views.rows(cluster)
        first = list(views.rows_of(cluster, ask))
        told = set(first)
        known = forecasts or {}
        shown = [each for row in first for each in self._standings(row, known)]
        others = (row for row in rows.tolist() if row not in told)
        rest = (each for row in others for each in self._standings(row, known))
        shown += islice(rest, max(0, limit - len(shown)))
        return ClusterReportReply(tuple(shown), self.cycle, self.computed_at, views.asked_for(rows))

    # -- within ----------------------------------------------------------------------------------

    def _told_in_full(self, rows: Int64s) -> set[int]:
        """Those of the rows that are explained with counts over the whole fleet."""
        assert self._states is not None, "asked by those who looked"
        short: Int64s = rows[self._states.state[rows] == NeedState.SHORT]
        return set(short[:MOST_IN_FULL].tolist())

    def _first_codes(self, rows: Int64s, in_full: Collection[int]) -> list[str]:
        """Of each row's first reason, as `_row` tells it."""
        assert self._reasons is not None, "made with the states"
        found = self._reasons.codes(rows)
        if in_full:
            for place, row in enumerate(rows.tolist()):
                if row in in_full and (told := self._reasons.in_full(row)):
                    found[place] = told[0].code
        return found

    def _row(self, row: int, in_full: bool, sources: tuple[str, ...] = ()) -> NeedRow:
        views, states, reasons = self._views, self._states, self._reasons
        assert views is not None, "asked by those who looked"
        assert states is not None, "asked by those who looked"
        assert reasons is not None, "made with the states"
        reason, remedy = reasons.of(row)
        further: tuple[Reason, ...] = ()
        if in_full and (told := reasons.in_full(row)):
            reason, *rest = told
            further = tuple(rest)
        unjudged = self._is_past and bool(self._unjudged(np.array([row]))[0])
        return NeedRow(
            views.view(row),
            None if unjudged else NeedState(int(states.state[row])),
            reason.told,
            0 if self._is_past else int(states.since[row]),
            remedy,
            int(states.arriving[row]),
            int(states.stuck[row]),
            tuple(each.told for each in further),
            sources,
        )

    def _brief_forecast(self, row: int, forecasts: Mapping[int, Forecast]) -> Forecast | None:
        forecast = self.forecast_of(row, forecasts)
        return None if forecast is None else forecast.brief

    def _standings(self, row: int, forecasts: Mapping[int, Forecast]) -> Iterator[NeedStanding]:
        assert self._views is not None, "asked by those who looked"
        states, reasons = self._states, self._reasons
        if states is None or reasons is None:
            yield from self._views.standings(row)
            return
        state, since = NeedState(int(states.state[row])), int(states.since[row])
        sentence = reasons.of(row)[0].text if state is NeedState.BLOCKED else ""
        brief = self._brief_forecast(row, forecasts)
        for each in self._views.standings(row):
            said = sentence or each.sentence
            yield replace(each, state=state, since=since, sentence=said, forecast=brief)


def _counted(states: Int8s) -> NeedCounts:
    found = np.bincount(states, minlength=len(NeedState) + 1).tolist()
    return NeedCounts.of({state: found[state] for state in NeedState})
