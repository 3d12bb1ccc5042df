"""Which Needs of a shard a CapacityRequest is part of, and what is asked for beside them."""

from collections.abc import Iterable

from bigfleet.model.needs import NeedKey
from bigfleet.model.resources import Resources
from bigfleet.model.shard_views import NeedRow
from bigfleet.placement.margin_rows import Form, margin_key_of
from bigfleet.placement.overhead import LARGE_CPU, LARGE_MEMORY, NO_KNOWN_KIND

#: Groups in which an operator asks for pods of one profile by their sizes.
_BY_SIZE = (LARGE_CPU, LARGE_MEMORY, NO_KNOWN_KIND)


def needs_of_request(
    rows: Iterable[NeedRow], key: NeedKey, unit: Resources
) -> tuple[tuple[NeedRow, ...], tuple[NeedRow, ...]]:
    """The Need of this key and those its size may have put it into, the likeliest first; and their
    margins.

    Which group a size belongs to is the operator's to say: here it is known only that the largest
    unit of its Need covers it.
    """
    by_key = {row.view.need.key: row for row in rows}
    keys = [key, *(key._replace(group=group) for group in _BY_SIZE if not key.group)]
    found = [by_key[each] for each in keys if each in by_key]
    fitting = [row for row in found if row.view.need.min_unit.covers(unit)]
    needs = fitting or found
    asked = dict.fromkeys(each for row in needs for each in _margin_keys(row))
    return tuple(needs), tuple(by_key[each] for each in asked if each in by_key)


def _margin_keys(row: NeedRow) -> list[NeedKey]:
    need = row.view.need
    forms = (Form.ROW, Form.GANG_ROW) if need.profile.same is not None else (Form.ROW,)
    return [margin_key_of(need, form) for form in forms]
