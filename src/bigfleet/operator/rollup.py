"""The demand of one cluster, kept up to date request by request, and told as a roll-up.

Requests of one profile and group are one row, but where no kind of machine that is known takes all
of their sizes together: a unit is per dimension, so a pod of much cpu and one of much memory would
ask for a machine that has both, and one that is too large for any would hold up all others. Such a
row is split by sizes into groups (`bigfleet.placement.overhead.split_of`).

What a change costs follows the change, not the cluster: requests of one text are counted, each text
is read once, and only rows whose count moved are summed and written again. The rows are the same,
byte for byte, however the requests came: a shard recognises an unchanged roll-up by its bytes.

Rows carry no arrival: the shard knows when it first heard of each.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need, NeedKey
from bigfleet.operator.demand_budget import BudgetLimits, DemandBudget, Weight, weight_of
from bigfleet.operator.demand_rows import DemandRow, PlainUnits, Units
from bigfleet.operator.translator import TranslatedDemand, Translator, Untranslatable
from bigfleet.placement.overhead import ShapeSplit
from bigfleet.wire.rollups import rollup_of_rows

ACKNOWLEDGED = "Acknowledged"
_BY_KEY = attrgetter("key")


class _Text:
    """One spec, however many requests have it."""

    __slots__ = ("content", "count", "demand", "held", "refusal", "row", "told", "weight")

    def __init__(
        self, cluster: str, content: bytes, meaning: TranslatedDemand | Untranslatable
    ) -> None:
        self.content = content
        #: Exactly one of these two is there.
        self.demand = meaning if isinstance(meaning, TranslatedDemand) else None
        self.refusal = None if isinstance(meaning, TranslatedDemand) else meaning
        #: Requests that have it, and how many of them its row knows of.
        self.count = self.told = 0
        #: None: untranslatable, or not told yet.
        self.row: DemandRow | None = None
        #: Why it is left out although it was understood; None: it is not.
        self.held: Untranslatable | None = None
        self.weight: Weight | None = None
        if isinstance(meaning, TranslatedDemand):
            key = NeedKey(cluster, meaning.profile.fingerprint, meaning.group)
            self.weight = weight_of(key, meaning.unit, meaning.size)

    @property
    def asked(self) -> int:
        """Requests of it that are told."""
        return 0 if self.held is not None else self.count

    @property
    def is_splittable(self) -> bool:
        """Gangs and strict spreads are one row, or they are not what they are."""
        demand = self.demand
        return (
            demand is not None
            and not demand.group
            and demand.profile.same is None
            and demand.profile.strict_spread is None
        )


class _Request:
    __slots__ = ("acknowledged", "since", "taken", "text", "uid")

    def __init__(self, uid: str, text: _Text, since: int, acknowledged: bool) -> None:
        self.uid = uid
        self.text = text
        #: Roll-ups made at this mark or later contain it as it is.
        self.since = since
        self.acknowledged = acknowledged
        #: A shard has taken it as it is.
        self.taken = acknowledged


class DemandBook:
    def __init__(
        self,
        cluster: str,
        translator: Translator | None = None,
        units: Units | None = None,
        limits: BudgetLimits = BudgetLimits(),  # noqa: B008  frozen
    ) -> None:
        self.cluster = cluster
        self._units = units or PlainUnits()
        #: Raised by every change of demand; an equal version means equal rows.
        self.version = 0
        #: Raised whenever a request comes or changes its text.
        self.mark = 0
        self._translator = translator or Translator()
        self._requests: dict[ObjectKey, _Request] = {}
        self._texts: dict[bytes, _Text] = {}
        #: Texts whose row does not know their count.
        self._untold: dict[bytes, _Text] = {}
        self._rows: dict[NeedKey, DemandRow] = {}
        #: The rows by key; None: some came or went.
        self._ordered: list[DemandRow] | None = []
        self._skipped: dict[ObjectKey, Untranslatable] = {}
        #: Texts that are told and may be split, by the key of the row they would be together.
        self._together: dict[NeedKey, dict[bytes, _Text]] = {}
        self._splits: dict[NeedKey, ShapeSplit] = {}
        #: Of these the sizes have changed since it was looked whether they are split.
        self._unsized: set[NeedKey] = set()
        #: Requests have come under another Need without being changed.
        self._moved = False
        #: The version it was last asked at, and what the answer was.
        self._devices: tuple[int, frozenset[str]] = (-1, frozenset())
        #: Translatable and not acknowledged, in the order of their marks.
        self._waiting: dict[ObjectKey, _Request] = {}
        self._limits = limits
        #: Of all that is understood, whether it is told or held.
        self._budget = DemandBudget(limits)
        #: Texts that are understood and left out, as the budget is used up.
        self._held: dict[bytes, _Text] = {}
        #: Requests that came to be left out so, and were not told of yet.
        self._newly_held: dict[ObjectKey, Untranslatable] = {}

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def skipped(self) -> Mapping[ObjectKey, Untranslatable]:
        """In no roll-up, until a person corrects or deletes them."""
        return self._skipped

    def put(self, key: ObjectKey, uid: str, spec: bytes, phase: str) -> Untranslatable | None:
        """A request that is new, changed or just seen again; what is newly wrong with it, if so."""
        # A Raw is a view into the page it was read from, which must not be kept alive by it.
        content = bytes(spec)
        text = self._texts.get(content)
        if text is None:
            meaning = self._translator.translate(content)
            text = self._texts[content] = _Text(self.cluster, content, meaning)
        known = self._requests.get(key)
        if known is not None and known.text is text and known.uid == uid:
            if phase == ACKNOWLEDGED and not known.acknowledged:
                known.acknowledged = known.taken = True
                self._waiting.pop(key, None)
            return None
        # Counted before the old one is withdrawn, lest a text both have be forgotten between.
        self._count(text, 1)
        if known is not None:
            self._withdraw(key, known)
        self.mark += 1
        request = _Request(uid, text, self.mark, phase == ACKNOWLEDGED)
        if known is not None and known.uid == uid:
            # Acknowledged as it was before: no shard has taken what it asks for now.
            request.taken = False
        self._requests[key] = request
        if text.held is not None:
            self._skip(key, text.held)
        if text.refusal is not None:
            self._skipped[key] = text.refusal
        elif not request.acknowledged:
            self._waiting[key] = request
        return text.refusal

    def remove(self, key: ObjectKey) -> None:
        known = self._requests.pop(key, None)
        if known is not None:
            self._withdraw(key, known)

    def need_of(self, key: ObjectKey) -> NeedKey | None:
        request = self._requests.get(key)
        if request is None or request.text.demand is None or request.text.held is not None:
            return None
        return self._key_of(request.text)

    def take_held(self) -> dict[ObjectKey, Untranslatable]:
        """Requests that are left out since it was last asked, as the cluster asks for too much."""
        held, self._newly_held = self._newly_held, {}
        return held

    def take_moved(self) -> bool:
        """Whether requests have come under another Need since it was last asked."""
        moved, self._moved = self._moved, False
        return moved

    def demand_of(self, key: ObjectKey) -> TranslatedDemand | None:
        """None: unknown, untranslatable, or left out."""
        request = self._requests.get(key)
        if request is None or request.text.held is not None:
            return None
        return request.text.demand

    def catch_up(self) -> None:
        """Sums what changed since rows were last asked for."""
        self._up_to_date()

    def rows(self) -> Sequence[bytes]:
        """As `need_row` writes them, in the order of their keys."""
        return [row.content() for row in self._up_to_date()]

    def rollup(self, at: Instant) -> bytes:
        return rollup_of_rows(self.cluster, at, self.rows())

    def needs(self) -> tuple[Need, ...]:
        """In the order of their keys, as `rows`."""
        return tuple(row.need() for row in self._up_to_date())

    def on_units_changed(self) -> None:
        """Overhead is another one: every row is written anew."""
        self.version += 1
        self._unsized |= self._together.keys()
        for row in self._rows.values():
            row.forget()

    def devices(self) -> frozenset[str]:
        """Extended resources that any request names."""
        version, names = self._devices
        if version != self.version:
            names = frozenset(n for row in self._up_to_date() for n in row.names() if "/" in n)
            self._devices = self.version, names
        return names

    def take_waiting(self, mark: int) -> list[ObjectKey]:
        """Requests that wait to be acknowledged and were in a roll-up of this mark, each once."""
        taken = []
        for key, request in self._waiting.items():
            if request.since > mark:
                break
            if request.text.held is not None:
                continue
            request.acknowledged = request.taken = True
            taken.append(key)
        for key in taken:
            del self._waiting[key]
        return taken

    def taken_demand_of(self, key: ObjectKey) -> TranslatedDemand | None:
        """None: what bears the name now was in no roll-up that was taken; it waits on its own."""
        request = self._requests.get(key)
        return request.text.demand if request is not None and request.acknowledged else None

    def wait_again(self, key: ObjectKey) -> None:
        """Its acknowledgement could not be written: the next roll-up's may be."""
        request = self._requests.get(key)
        if request is not None and request.acknowledged and key not in self._skipped:
            self.mark += 1
            request.since, request.acknowledged = self.mark, False
            self._waiting[key] = request

    def _withdraw(self, key: ObjectKey, request: _Request) -> None:
        self._count(request.text, -1)
        self._waiting.pop(key, None)
        self._skipped.pop(key, None)
        self._newly_held.pop(key, None)

    def _skip(self, key: ObjectKey, why: Untranslatable) -> None:
        self._skipped[key] = self._newly_held[key] = why

    def _count(self, text: _Text, by: int) -> None:
        if text.weight is not None and text.count == 0:
            self._budget.add(text.weight)
        text.count += by
        if text.weight is not None and text.count == 0:
            self._budget.remove(text.weight)
        if text.demand is not None:
            self.version += 1
            self._untold[text.content] = text
        if text.count == 0 and text.told == 0:
            # A replica that never reports must not remember what came and went.
            del self._texts[text.content]
            self._untold.pop(text.content, None)
            self._held.pop(text.content, None)

    def _keep_to_budget(self) -> None:
        """Leaves out what is beyond it, and takes back in what is not any more."""
        if not self._budget.is_over:
            held: dict[bytes, str] = {}
        else:
            held = self._beyond_budget()
        if held.keys() == self._held.keys():
            return
        for content in self._held.keys() ^ held.keys():
            text = self._texts[content]
            why = held.get(content)
            text.held = None if why is None else Untranslatable("too_heavy", "spec", why)
            self._untold[content] = text
        self._held = {content: self._texts[content] for content in held}
        self._moved = True
        for key, request in self._requests.items():
            known = self._skipped.get(key)
            if request.text.held is not None and known is None:
                self._skip(key, request.text.held)
            elif known is not None and request.text.held is None and request.text.refusal is None:
                del self._skipped[key]
                self._newly_held.pop(key, None)
                # It is in the roll-ups from here on, and waits for one of them to be taken.
                self.mark += 1
                request.since = self.mark
                if self._waiting.pop(key, None) is not None:
                    self._waiting[key] = request

    def _beyond_budget(self) -> dict[bytes, str]:
        ranks: dict[bytes, tuple[bool, int]] = {}
        for request in self._requests.values():
            rank, content = (not request.taken, request.since), request.text.content
            if request.text.weight is not None:
                ranks[content] = min(rank, ranks.get(content, rank))
        within, beyond = DemandBudget(self._limits), {}
        for content in sorted(ranks, key=ranks.__getitem__):
            weight = self._texts[content].weight
            assert weight is not None, "only what is understood is ranked"
            if why := within.why_not(weight):
                rest = "a shard would refuse all of it; ask for less, or for the same as others"
                beyond[content] = f"{why}; {rest}"
            else:
                within.add(weight)
        return beyond

    def _up_to_date(self) -> list[DemandRow]:
        if self._untold:
            self._keep_to_budget()
        for text in self._untold.values():
            self._tell(text)
        self._untold.clear()
        if self._unsized:
            self._look_at_sizes()
        if self._ordered is None:
            self._ordered = sorted(self._rows.values(), key=_BY_KEY)
        return self._ordered

    def _tell(self, text: _Text) -> None:
        demand, by = text.demand, text.asked - text.told
        assert demand is not None, "only texts that were understood are told"
        if by:
            if text.row is None:
                text.row = self._row_of(text)
                self._size(text)
            text.row.change(demand.unit, by)
            text.told = text.asked
            self._drop_if_empty(text.row)
            if text.asked == 0:
                # Held: should it be told again, its row may be another one by then.
                self._size(text)
                text.row = None
        if text.count == 0:
            del self._texts[text.content]
            self._held.pop(text.content, None)

    def _size(self, text: _Text) -> None:
        """Its size came to those of its row, or left them."""
        if not text.is_splittable:
            return
        key = self._whole_key_of(text)
        if text.asked:
            self._together.setdefault(key, {})[text.content] = text
        elif (texts := self._together.get(key)) is not None:
            texts.pop(text.content, None)
            if not texts:
                del self._together[key]
        self._unsized.add(key)

    def _look_at_sizes(self) -> None:
        unsized, self._unsized = self._unsized, set()
        for key in unsized:
            texts = self._together.get(key)
            row = self._rows.get(key)
            if key not in self._splits and row is not None and self._units.is_taken(row.largest()):
                continue
            sizes = {text.demand.unit for text in (texts or {}).values() if text.demand is not None}
            split = self._units.split_of(sorted(sizes, key=attrgetter("amounts")))
            if split == self._splits.get(key):
                continue
            if split is None:
                del self._splits[key]
            else:
                self._splits[key] = split
            self._move((texts or {}).values())

    def _move(self, texts: Iterable[_Text]) -> None:
        for text in texts:
            before, demand = text.row, text.demand
            if before is None or demand is None or before.key == self._key_of(text):
                continue
            self._moved = True
            before.change(demand.unit, -text.told)
            self._drop_if_empty(before)
            text.row = self._row_of(text)
            text.row.change(demand.unit, text.told)

    def _drop_if_empty(self, row: DemandRow) -> None:
        if row.units == 0 and self._rows.get(row.key) is row:
            del self._rows[row.key]
            self._ordered = None

    def _whole_key_of(self, text: _Text) -> NeedKey:
        demand = text.demand
        assert demand is not None, "only texts that were understood have a Need"
        return NeedKey(self.cluster, demand.profile.fingerprint, demand.group)

    def _key_of(self, text: _Text) -> NeedKey:
        """Of the row that counts it."""
        key = self._whole_key_of(text)
        split = self._splits.get(key) if text.is_splittable else None
        if split is None or text.demand is None:
            return key
        return key._replace(group=split.group_of(text.demand.unit))

    def _row_of(self, text: _Text) -> DemandRow:
        assert text.demand is not None, "only texts that were understood have a row"
        key = self._key_of(text)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = DemandRow(key, text.demand.profile, self._units)
            self._ordered = None
        return row
