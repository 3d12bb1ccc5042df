"""Edits of one overlay that cannot both be meant: refused, with both named."""

from itertools import combinations

from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.what_if import (
    AddDemand,
    AddMachines,
    Edit,
    EngineOption,
    NumberEdit,
    Overlay,
    RemoveMachines,
    ReplaceDemand,
    ScaleDemand,
    SetAttributes,
    SetPenalty,
    SetPriority,
    StockOut,
)
from bigfleet.whatif.overlay_text import text_of


def refuse_contradictions(overlay: Overlay) -> None:
    problems = [
        Problem(f"{text_of(first)} and {text_of(second)}", why)
        for first, second in combinations(overlay, 2)
        if (why := _why_not_both(first, second))
    ]
    if problems:
        raise BadInput(problems)


def _why_not_both(first: Edit, second: Edit) -> str | None:
    for one, other in ((first, second), (second, first)):
        if isinstance(one, ReplaceDemand) and _demand_of(other) == one.cluster:
            if isinstance(other, ReplaceDemand):
                return f"both replace the demand of {one.cluster}; leave one out"
            if not one.needs:
                return f"{one.cluster} has no demand once it has left; leave one out"
    if isinstance(first, RemoveMachines) and _is_within(first, second):
        return "the machines of the second are gone by then; leave one out, or turn them round"
    match first, second:
        case EngineOption(name, value), EngineOption(again, other_value):
            if name == again and value != other_value:
                return f"{name} has two values; leave one out"
        case SetAttributes(), SetAttributes() if first.selector == second.selector:
            if _written_over(first.price, second.price) or _written_over(
                first.probability, second.probability
            ):
                return "the second writes over the first; leave one out"
        case SetPriority(), SetPriority() if first.selector == second.selector:
            return "the second writes over the first; leave one out"
    return None


def _written_over(first: NumberEdit | None, second: NumberEdit | None) -> bool:
    return first is not None and second is not None and second.value is not None


def _demand_of(edit: Edit) -> str | None:
    """The one cluster whose demand an edit is about."""
    match edit:
        case ReplaceDemand(cluster):
            return cluster
        case ScaleDemand(selector) | SetPenalty(selector) | SetPriority(selector):
            return selector.cluster or None
        case AddDemand(need):
            return need.cluster
        case _:
            return None


def _is_within(removed: RemoveMachines, edit: Edit) -> bool:
    """Whether an edit is about machines only that are removed before it."""
    if isinstance(edit, AddMachines):
        return False
    if isinstance(edit, RemoveMachines | SetAttributes | StockOut):
        gone, wanted = removed.selector, edit.selector
        if gone == wanted:
            return True
        zones_only = type(gone)(zones=gone.zones) == gone
        return zones_only and bool(wanted.zones) and wanted.zones <= gone.zones
    return False
