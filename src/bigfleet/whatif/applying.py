"""An overlay applied to the input of a cycle: a new input, the old one untouched.

Works on columns. Tables of interned values are shared as long as an edit needs no new value, and
copied once before the first that does: others may be reading them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import compress

import numpy as np

from bigfleet.engine.columns import MachineColumns
from bigfleet.engine.demand import Demand, NeedColumns, NeedTables
from bigfleet.engine.encoding import HELD_BY, columns_of, encoded, renumbered
from bigfleet.engine.engine_input import EngineInput
from bigfleet.engine.identities import pair_of
from bigfleet.engine.kernels.compiled import Bools, Int32s
from bigfleet.engine.needs_table import FrozenNeeds, block_of, frozen_of, keep_arrivals
from bigfleet.engine.snapshot import Snapshot, Tables, keep_bucket_of_row, sorted_keep_rows
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.fleet import HeldBy, Marks
from bigfleet.model.machines import MachineState, why_invalid
from bigfleet.model.needs import Need, aggregate
from bigfleet.model.options import EngineOptions
from bigfleet.model.profiles import Profile
from bigfleet.model.quantities import scaled_amounts
from bigfleet.model.resources import Resources
from bigfleet.model.what_if import (
    AddDemand,
    AddMachines,
    Edit,
    EngineOption,
    NeedSelector,
    Overlay,
    RemoveMachines,
    ReplaceDemand,
    ScaleDemand,
    SetAttributes,
    SetPenalty,
    SetPriority,
    StockOut,
)
from bigfleet.whatif.contradictions import refuse_contradictions
from bigfleet.whatif.engine_options import with_option
from bigfleet.whatif.ids import ids_of
from bigfleet.whatif.overlay_text import text_of
from bigfleet.whatif.selecting import machine_rows, need_rows

_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Applied:
    given: EngineInput
    #: Machines that were removed.
    removed: int
    #: Of them, those that were bound, by cluster.
    lost_of_cluster: dict[str, int]
    warnings: tuple[str, ...]


def apply(given: EngineInput, overlay: Overlay) -> EngineInput:
    return applied(given, overlay).given


def applied(given: EngineInput, overlay: Overlay) -> Applied:
    """Raises BadInput with every edit that contradicts another or names what is not there."""
    refuse_contradictions(overlay)
    machines, demand = _EditedMachines(given.snapshot), _EditedDemand(given)
    options, problems = given.options, list[Problem]()
    for edit in overlay:
        try:
            options = _edited(edit, machines, demand, options)
        except BadInput as problem:
            problems += problem.problems
    if problems:
        raise BadInput(problems)
    edited = replace(given, snapshot=machines.snapshot(), needs=demand.frozen(), options=options)
    return Applied(edited, machines.removed, machines.lost, (*machines.warnings, *demand.warnings))


def _edited(
    edit: Edit, machines: "_EditedMachines", demand: "_EditedDemand", options: EngineOptions
) -> EngineOptions:
    match edit:
        case RemoveMachines():
            machines.remove(edit)
        case AddMachines():
            machines.add(edit)
        case SetAttributes():
            machines.set_attributes(edit)
        case StockOut():
            machines.sell_out(edit)
        case ScaleDemand() | SetPenalty() | SetPriority():
            demand.change(edit)
        case ReplaceDemand(cluster):
            demand.replace(edit)
            if options.clusters_ready is not None:
                # Its roll-up is in: what it has too much of may be taken back.
                return replace(options, clusters_ready=options.clusters_ready | {cluster})
        case AddDemand():
            demand.add(edit)
        case EngineOption():
            return with_option(options, edit)
    return options


# -- machines ------------------------------------------------------------------------------------


class _EditedMachines:
    def __init__(self, before: Snapshot) -> None:
        self._now = before
        self._owns_tables = False
        self.removed = 0
        self.lost: dict[str, int] = {}
        self.warnings: list[str] = []

    def snapshot(self) -> Snapshot:
        return self._now

    def remove(self, edit: RemoveMachines) -> None:
        before, gone = self._now, self._chosen(edit, machine_rows(self._now, edit.selector))
        if not gone.any():
            return
        keep = ~gone
        self.removed += int(np.count_nonzero(gone))
        self._count_lost(before.columns.cluster[gone])
        row_after = np.cumsum(keep) - 1
        order = before.keep_order[keep[before.keep_order]]
        self._now = Snapshot(
            before.columns.taken(np.flatnonzero(keep)),
            list(compress(before.ids, keep.tolist())),
            row_after[order].astype(np.int32),
            before.tables,
        )

    def add(self, edit: AddMachines) -> None:
        ids = ids_of(edit)
        if known := [machine_id for machine_id in ids if self._now.row_of(machine_id) >= 0]:
            raise _refused(edit, f"machine {known[0]} is there already; choose another id")
        if (problem := why_invalid(replace(edit.template, id=ids[0]))) is not None:
            raise _refused(edit, f"{problem[0]}: {problem[1]}")
        columns, tables = self._own()
        new = columns_of([encoded(tables, edit.template, Marks(), -1)])
        new = new.taken(np.zeros(len(ids), np.int64))
        together = [*self._now.ids, *ids]
        place = np.array(sorted(range(len(together)), key=together.__getitem__), np.int64)
        self._put(columns.joined(new).taken(place), [together[p] for p in place], tables)

    def set_attributes(self, edit: SetAttributes) -> None:
        chosen = self._chosen(edit, machine_rows(self._now, edit.selector))
        if not chosen.any():
            return
        columns, tables = self._own()
        used, number = np.unique(columns.offering[chosen], return_inverse=True)
        fresh = []
        for offering in [tables.offerings.table.rows[o] for o in used.tolist()]:
            price, probability = offering.price_per_hour, offering.interruption_probability
            labels = {**dict(offering.labels), **dict(edit.labels)}
            fresh.append(
                replace(
                    offering,
                    price_per_hour=edit.price.of(price) if edit.price else price,
                    interruption_probability=min(1.0, edit.probability.of(probability))
                    if edit.probability
                    else probability,
                    labels=tuple(sorted(labels.items())),
                )
            )
        numbers = np.array([tables.offerings.number(each) for each in fresh], np.int32)
        columns.offering[chosen] = numbers[number]
        self._put(columns, self._now.ids, tables)

    def sell_out(self, edit: StockOut) -> None:
        slots = self._now.columns.state == int(MachineState.SPECULATIVE)
        chosen = self._chosen(edit, machine_rows(self._now, edit.selector) & slots)
        if chosen.any():
            before, columns = self._now, self._now.columns.copy()
            columns.held[chosen] = HELD_BY.index(HeldBy.BACKOFF) + 1
            self._now = Snapshot(columns, before.ids, before.keep_order, before.tables)

    def _chosen(self, edit: Edit, rows: Bools) -> Bools:
        if not rows.any():
            self.warnings.append(f"{text_of(edit)}: matches no machine{self._there(edit)}")
        return rows

    def _there(self, edit: Edit) -> str:
        if not isinstance(edit, RemoveMachines) or not edit.selector.zones:
            return ""
        used = np.unique(self._now.columns.offering).tolist()
        zones = sorted({self._now.tables.offerings.table.rows[o].zone for o in used} - {""})
        return f"; there are zones {', '.join(zones[:_MOST_NAMED])}" if zones else ""

    def _count_lost(self, clusters: Int32s) -> None:
        names = self._now.tables.clusters.rows
        numbers, counts = np.unique(clusters[clusters >= 0], return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            self.lost[names[number]] = self.lost.get(names[number], 0) + count

    def _own(self) -> tuple[MachineColumns, Tables]:
        """Columns that may be written, and tables that may grow."""
        columns = self._now.columns.copy()
        if self._owns_tables:
            return columns, self._now.tables
        self._owns_tables = True
        return columns, renumbered(self._now.tables, columns)

    def _put(self, columns: MachineColumns, ids: list[str], tables: Tables) -> None:
        bucket = keep_bucket_of_row(columns)
        price = tables.offerings.columns().price
        penalty = tables.stamps.columns().reclamation_penalty
        rows = np.flatnonzero(bucket >= 0)
        order = sorted_keep_rows(columns, rows, bucket, price, penalty)
        self._now = Snapshot(columns, ids, order, tables)


# -- demand --------------------------------------------------------------------------------------


class _EditedDemand:
    def __init__(self, given: EngineInput) -> None:
        self._given = given
        self._tables: NeedTables | None = None
        self._blocks: dict[str, NeedColumns] = dict(given.needs.blocks)
        self.warnings: list[str] = []

    def frozen(self) -> FrozenNeeds:
        if self._tables is None:
            return self._given.needs
        return frozen_of(self._blocks, self._tables)

    def change(self, edit: ScaleDemand | SetPenalty | SetPriority) -> None:
        tables = self._own()
        clusters = self._clusters_of(edit, edit.selector)
        matched = False
        for cluster in clusters:
            block = self._blocks[cluster]
            rows = need_rows(tables, block, cluster, edit.selector)
            if not rows.any():
                continue
            matched = True
            match edit:
                case ScaleDemand(_, factor):
                    self._scale(cluster, block, rows, factor)
                case SetPriority(_, priority):
                    self._reprofile(cluster, rows, lambda p: replace(p, priority=priority))
                case SetPenalty():
                    self._reprofile(cluster, rows, lambda p: _with_penalties(p, edit))
        if not matched:
            self.warnings.append(f"{text_of(edit)}: matches no Need")

    def replace(self, edit: ReplaceDemand) -> None:
        tables = self._own()
        before = self._blocks.pop(edit.cluster, None)
        if not edit.needs:
            if before is None and not self._given.snapshot.count_of_cluster(edit.cluster):
                raise self._unknown(edit, edit.cluster)
            return
        block = block_of(edit.cluster, self._arriving(edit.needs), tables)
        if before is not None:
            keep_arrivals(block, before)
        self._put(edit.cluster, block)

    def add(self, edit: AddDemand) -> None:
        tables, cluster = self._own(), edit.need.cluster
        block = block_of(cluster, self._arriving([edit.need]), tables)
        if cluster in self._blocks:
            block = NeedColumns.joined([self._blocks[cluster], block])
        self._put(cluster, block)

    def _own(self) -> NeedTables:
        if self._tables is None:
            again = self._given.needs.renumbered()
            self._tables, self._blocks = again.tables, dict(again.blocks)
        return self._tables

    def _clusters_of(self, edit: Edit, selector: NeedSelector) -> list[str]:
        if selector.cluster and "*" not in selector.cluster:
            if selector.cluster not in self._blocks:
                raise self._unknown(edit, selector.cluster)
            return [selector.cluster]
        return sorted(self._blocks)

    def _unknown(self, edit: Edit, cluster: str) -> BadInput:
        close = get_close_matches(cluster, self._blocks, n=3)
        there = ", ".join(close or sorted(self._blocks)[:_MOST_NAMED]) or "none"
        hint = f"did you mean {there}?" if close else f"clusters with demand are: {there}"
        return _refused(edit, f"cluster {cluster} asks for nothing in this cycle; {hint}")

    def _arriving(self, needs: Iterable[Need]) -> list[Need]:
        """Demand that is new arrives now, after what is there."""
        at = self._given.at
        return [n if n.arrival_unix_nanos else replace(n, arrival_unix_nanos=at) for n in needs]

    def _scale(self, cluster: str, block: NeedColumns, rows: Bools, factor: float) -> None:
        if not factor:
            block = block.taken(np.flatnonzero(~rows))
            if len(block):
                self._blocks[cluster] = block
            else:
                del self._blocks[cluster]
            return
        vectors = self._own().vectors
        used, number = np.unique(block.aggregate[rows], return_inverse=True)
        grown = [
            vectors.number(Resources.of(scaled_amounts(vectors.amounts(v), factor)))
            for v in used.tolist()
        ]
        aggregates = block.aggregate.copy()
        aggregates[rows] = np.array(grown, np.int32)[number]
        self._blocks[cluster] = replace(block, aggregate=aggregates)

    def _reprofile(self, cluster: str, rows: Bools, changed: Callable[[Profile], Profile]) -> None:
        tables, block = self._own(), self._blocks[cluster]
        profiles, groups = tables.profiles, tables.groups.rows
        profile, pair = block.profile.copy(), block.pair.copy()
        for row in np.flatnonzero(rows).tolist():
            new = changed(profiles.rows[profile[row]])
            profile[row] = profiles.number(new)
            pair[row] = pair_of(new.fingerprint, groups[block.group[row]])
        self._put(cluster, replace(block, profile=profile, pair=pair))

    def _put(self, cluster: str, block: NeedColumns) -> None:
        """Rows of one identity are one Need."""
        if len(np.unique(block.pair)) < len(block):
            needs = aggregate(Demand(block, self._own()).needs)
            block = block_of(cluster, needs, self._own())
        self._blocks[cluster] = block


def _with_penalties(profile: Profile, edit: SetPenalty) -> Profile:
    interruption, reclamation = edit.interruption, edit.reclamation
    return replace(
        profile,
        interruption_bucket=profile.interruption_bucket if interruption is None else interruption,
        reclamation_bucket=profile.reclamation_bucket if reclamation is None else reclamation,
    )


def _refused(edit: Edit, text: str) -> BadInput:
    return BadInput([Problem(text_of(edit), text)])
