"""The order in which people read machines: by one value, then by id; a page of it at a time.

In columns: of half a million machines the few hundred of a page are chosen before anything is
sorted. A page begins after the value and the id at which the last one ended, not after so many
rows: machines that come, go or change in between move no others.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bigfleet.engine.kernels.compiled import Int64s
from bigfleet.engine.snapshot import Snapshot
from bigfleet.model.shard_views import SortBy

#: One number per machine: what is smaller comes first.
Values = npt.NDArray[Any]


class BadPlace(Exception):
    """A page cannot begin there; the sentence says why."""


def values_of(snapshot: Snapshot, rows: Int64s, by: SortBy) -> Values:
    """Numbers in the order of prices or texts. State and time are told by the caller: a snapshot
    does not know them as people do."""
    columns = snapshot.columns
    if by is SortBy.PRICE:
        return snapshot.offerings.price[columns.offering[rows]]
    ranks = ranks_of(_texts(snapshot, by))
    if by is SortBy.CLUSTER:
        # The last one is for -1: no cluster.
        return ranks[columns.cluster[rows]]
    return ranks[columns.offering[rows]]


def ranks_of(texts: Sequence[str]) -> Int64s:
    """The place of each among all of them; the same for the same text. They are even: a text that
    is not there has an odd place between two (`place_of`)."""
    place = {text: 2 * number for number, text in enumerate(sorted(set(texts)))}
    return np.array([place[text] for text in texts], np.int64)


def place_of(snapshot: Snapshot, by: SortBy, value: str) -> float | int:
    """The number of a value as it was told. Raises BadPlace."""
    try:
        if by is SortBy.PRICE:
            return float(value)
        if by in (SortBy.STATE, SortBy.SINCE):
            return int(value)
    except ValueError:
        raise BadPlace(f"{value[:40]!r} is not a {by} at which a page ended") from None
    known = sorted(set(_texts(snapshot, by)))
    number = bisect_left(known, value)
    return 2 * number if number < len(known) and known[number] == value else 2 * number - 1


def page_by_id(
    ids: Sequence[str], rows: Int64s, after_id: str, limit: int, *, descending: bool
) -> Int64s:
    """Of ascending rows those after this id; empty: from the beginning; 0: without a limit."""
    if descending:
        end = bisect_left(ids, after_id) if after_id else len(ids)
        rows = rows[: np.searchsorted(rows, end)][::-1]
    elif after_id:
        rows = rows[np.searchsorted(rows, bisect_right(ids, after_id)) :]
    return rows[:limit] if limit > 0 else rows


def page_of(
    ids: Sequence[str],
    rows: Int64s,
    values: Values,
    after: tuple[float | int, str] | None,
    limit: int,
    *,
    descending: bool,
) -> Int64s:
    """Of ascending rows, which is by id, those after this value and id; None: from the beginning;
    0: without a limit. Descending is the same order from its end."""
    if after is not None:
        value, name = after
        if descending:
            rest = (values < value) | ((values == value) & (rows < bisect_left(ids, name)))
        else:
            rest = (values > value) | ((values == value) & (rows >= bisect_right(ids, name)))
        rows, values = rows[rest], values[rest]
    if descending:
        rows, values = rows[::-1], -values[::-1]
    if 0 < limit < len(rows):
        chosen = values <= np.partition(values, limit - 1)[limit - 1]
        rows, values = rows[chosen], values[chosen]
    order = np.argsort(values, kind="stable")
    return rows[order[:limit] if limit > 0 else order]


def _texts(snapshot: Snapshot, by: SortBy) -> list[str]:
    """By number of a cluster, or of an offering."""
    tables = snapshot.tables
    if by is SortBy.CLUSTER:
        return [*tables.clusters.rows[: snapshot.cluster_count], ""]
    offerings = tables.offerings.table.rows[: len(snapshot.offerings.price)]
    return [each.zone if by is SortBy.ZONE else each.instance_type for each in offerings]
