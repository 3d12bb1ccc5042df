"""The demand of one cluster, kept up to date request by request, and told as a roll-up.

What a change costs follows the change, not the cluster: requests of one text are counted, each text
is read once, and only rows whose count moved are summed and written again. The rows are the same,
byte for byte, however the requests came: a shard recognises an unchanged roll-up by its bytes.

Rows carry no arrival: the shard knows when it first heard of each.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter

from bigfleet.kube.objects import ObjectKey
from bigfleet.model.machines import Instant
from bigfleet.model.needs import Need, NeedKey
from bigfleet.operator.demand_rows import DemandRow, PlainUnits, Units
from bigfleet.operator.translating import Demand, Translator, Untranslatable
from bigfleet.wire.rollups import rollup_of_rows

ACKNOWLEDGED = "Acknowledged"
_BY_KEY = attrgetter("key")


class _Text:
    """One spec, however many requests have it."""

    __slots__ = ("content", "count", "demand", "refusal", "row", "told")

    def __init__(self, content: bytes, meaning: Demand | Untranslatable) -> None:
        self.content = content
        #: Exactly one of these two is there.
        self.demand = meaning if isinstance(meaning, Demand) else None
        self.refusal = None if isinstance(meaning, Demand) else meaning
        #: Requests that have it, and how many of them its row knows of.
        self.count = self.told = 0
        #: None: untranslatable, or not told yet.
        self.row: DemandRow | None = None


class _Request:
    __slots__ = ("acknowledged", "since", "text", "uid")

    def __init__(self, uid: str, text: _Text, since: int, acknowledged: bool) -> None:
        self.uid = uid
        self.text = text
        #: Roll-ups made at this mark or later contain it as it is.
        self.since = since
        self.acknowledged = acknowledged


class DemandBook:
    def __init__(
        self, cluster: str, translator: Translator | None = None, units: Units | None = None
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
        #: The version it was last asked at, and what the answer was.
        self._devices: tuple[int, frozenset[str]] = (-1, frozenset())
        #: Translatable and not acknowledged, in the order of their marks.
        self._waiting: dict[ObjectKey, _Request] = {}

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def skipped(self) -> Mapping[ObjectKey, Untranslatable]:
        """In no roll-up, until somebody mends or deletes them."""
        return self._skipped

    def put(self, key: ObjectKey, uid: str, spec: bytes, phase: str) -> Untranslatable | None:
        """A request that is new, changed or just seen again; what is newly wrong with it, if so."""
        # A Raw is a view into the page it was read from, which must not be kept alive by it.
        content = bytes(spec)
        text = self._texts.get(content)
        if text is None:
            text = self._texts[content] = _Text(content, self._translator.translate(content))
        known = self._requests.get(key)
        if known is not None and known.text is text and known.uid == uid:
            if phase == ACKNOWLEDGED and not known.acknowledged:
                known.acknowledged = True
                self._waiting.pop(key, None)
            return None
        # Counted before the old one is withdrawn, lest a text both have be forgotten between.
        self._count(text, 1)
        if known is not None:
            self._withdraw(key, known)
        self.mark += 1
        request = _Request(uid, text, self.mark, phase == ACKNOWLEDGED)
        self._requests[key] = request
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
        demand = self.demand_of(key)
        if demand is None:
            return None
        return NeedKey(self.cluster, demand.profile.fingerprint, demand.group)

    def demand_of(self, key: ObjectKey) -> Demand | None:
        """None: unknown, or untranslatable."""
        request = self._requests.get(key)
        return None if request is None else request.text.demand

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
        for row in self._rows.values():
            row.forget()

    def devices(self) -> frozenset[str]:
        """Extended resources that somebody asks for."""
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
            request.acknowledged = True
            taken.append(key)
        for key in taken:
            del self._waiting[key]
        return taken

    def taken_demand_of(self, key: ObjectKey) -> Demand | None:
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

    def _count(self, text: _Text, by: int) -> None:
        text.count += by
        if text.demand is not None:
            self.version += 1
            self._untold[text.content] = text
        if text.count == 0 and text.told == 0:
            # A replica that never reports must not remember what came and went.
            del self._texts[text.content]
            self._untold.pop(text.content, None)

    def _up_to_date(self) -> list[DemandRow]:
        for text in self._untold.values():
            self._tell(text)
        self._untold.clear()
        if self._ordered is None:
            self._ordered = sorted(self._rows.values(), key=_BY_KEY)
        return self._ordered

    def _tell(self, text: _Text) -> None:
        demand, by = text.demand, text.count - text.told
        assert demand is not None, "only texts that were understood are told"
        if by:
            row = text.row
            if row is None:
                row = text.row = self._row_of(demand)
            row.change(demand.unit, by)
            text.told = text.count
            if row.units == 0:
                del self._rows[row.key]
                self._ordered = None
        if text.count == 0:
            del self._texts[text.content]

    def _row_of(self, demand: Demand) -> DemandRow:
        key = NeedKey(self.cluster, demand.profile.fingerprint, demand.group)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = DemandRow(key, demand.profile, self._units)
            self._ordered = None
        return row
