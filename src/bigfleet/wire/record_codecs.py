"""Records as messages and as JSON, from one table of fields per record.

A codec pairs every attribute of a record with the field of a message that carries it:

    QUARANTINE = RecordCodec(Quarantine, pb.Quarantine)
    STATUS = RecordCodec(ShardStatus, pb.ShardStatus, Derived("ready"), epoch="shard_epoch")

An attribute `x` that is not listed is carried by the field `x`, `x_id` or `x_unix_nanos` (without
the `_at` of a time), and its type says how: a time that is not known is 0 on the wire and None
here; an enum is its number, and a number of a later version is None where the attribute may be
None, UNSPECIFIED where the enum has it, and a ValueError elsewhere. A codec is checked when it is
first used: an attribute without a field, or a field without an attribute, is a TypeError.

For records that people ask for. What is sent all the time by many is written by hand and benched.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, IntEnum
from functools import cache, cached_property
from operator import attrgetter
from types import NoneType
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

Record = TypeVar("Record")
M = TypeVar("M", bound=Message)
E = TypeVar("E", bound=IntEnum)
Document = dict[str, Any]
Convert = Callable[[Any], Any]

_PLAIN = (str, bytes, int, float, bool)
_FLOATS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)
_NANOS = ("_unix_nanos", "_unix_ns")


class Conversion(NamedTuple):
    """How an attribute's value becomes its field's and back; None: it is the same."""

    write: Convert | None = None
    read: Convert | None = None


class Field(NamedTuple):
    """A field of another name whose value is converted as well."""

    name: str
    conversion: "Conversion | RecordCodec[Any, Any]"


class Derived(NamedTuple):
    """A field that is made from the record and not read back."""

    name: str
    #: Where the value is, such as `counts.total`; empty: where the field's name says.
    path: str = ""
    #: Makes the value from the record; None: it is taken as it is.
    make: Convert | None = None


class ByHand(NamedTuple):
    """Attributes and fields that do not pair one by one; both ways are written by hand."""

    attributes: tuple[str, ...]
    fields: tuple[str, ...]
    #: Fields of the message by name, from the record.
    write: Callable[[Any], Mapping[str, Any]]
    #: Attributes by name, from the message.
    read: Callable[[Any], Mapping[str, Any]]


class Unused(NamedTuple):
    """A field that the record has nothing to say about."""

    name: str


class RecordCodec(Generic[Record, M]):
    def __init__(
        self,
        record: type[Record],
        message: type[M],
        *others: Derived | ByHand | Unused,
        **listed: "str | Conversion | RecordCodec[Any, Any] | Field",
    ) -> None:
        self.record_type, self.message_type = record, message
        self._others, self._listed = others, listed

    def message(self, record: Record) -> M:
        plan = self._plan
        values = dict(zip(plan.written, plan.values_to_write(record), strict=False))
        for name, write in plan.writes:
            if (value := values[name]) is not None:
                values[name] = write(value)
        for name, make in plan.makes:
            values[name] = make(record)
        for part in plan.by_hand:
            values.update(part.write(record))
        return self.message_type(**values)

    def record(self, message: M) -> Record:
        """Raises ValueError for a number of a later version that the record has no place for."""
        plan = self._plan
        values = dict(zip(plan.read, plan.values_to_read(message), strict=False))
        for name, read in plan.reads:
            values[name] = read(values[name])
        for name, field, read in plan.optional:
            values[name] = read(getattr(message, field)) if message.HasField(field) else None
        for part in plan.by_hand:
            values.update(part.read(message))
        return self.record_type(**values)

    def messages(self, records: Iterable[Record]) -> list[M]:
        return [self.message(record) for record in records]

    def records(self, messages: Iterable[M]) -> tuple[Record, ...]:
        return tuple(map(self.record, messages))

    def document(self, record: Record) -> Document:
        return message_document(self.message(record))

    def check(self) -> None:
        """Raises TypeError where the record and the message do not pair."""
        self._plan  # noqa: B018 - making it is the check

    @cached_property
    def _plan(self) -> "_Plan":
        return _plan_of(self.record_type, self.message_type, self._others, self._listed)


class _Plan(NamedTuple):
    """All values are taken at once; most of them need no conversion."""

    #: Fields of the message, and what gets their values from a record in the same order.
    written: tuple[str, ...]
    values_to_write: Callable[[Any], tuple[Any, ...]]
    #: Fields whose values are converted where they are not None.
    writes: tuple[tuple[str, Convert], ...]
    #: Fields that are made from the whole record.
    makes: tuple[tuple[str, Convert], ...]
    #: Attributes of the record, and what gets their values from a message in the same order.
    read: tuple[str, ...]
    values_to_read: Callable[[Any], tuple[Any, ...]]
    #: Attributes whose values are converted.
    reads: tuple[tuple[str, Convert], ...]
    #: Attributes that are None where the message in their field is absent.
    optional: tuple[tuple[str, str, Convert], ...]
    by_hand: tuple[ByHand, ...]


def _plan_of(
    record: type,
    message: type[Message],
    others: Iterable[Derived | ByHand | Unused],
    listed: Mapping[str, "str | Conversion | RecordCodec[Any, Any] | Field"],
) -> _Plan:
    known, hints = message.DESCRIPTOR.fields_by_name, get_type_hints(record)
    by_hand = tuple(each for each in others if isinstance(each, ByHand))
    done = {name for part in by_hand for name in part.attributes}
    left = set(known) - {name for part in by_hand for name in part.fields}
    #: Path in the record by field, and field by attribute.
    path_of: dict[str, str] = {}
    field_of: dict[str, str] = {}
    writes, makes, reads, optional = [], [], [], []
    for other in others:
        if isinstance(other, ByHand):
            continue
        left.remove(other.name)
        if isinstance(other, Derived) and other.make is not None:
            makes.append((other.name, other.make))
        elif isinstance(other, Derived):
            path_of[other.name] = other.path or other.name
    for attribute in (name for name in hints if name not in done):
        where = f"{record.__name__}.{attribute}"
        name, given = _field_for(attribute, listed.get(attribute, ""), left)
        if name not in left:
            raise TypeError(f"{where} has no field in {message.__name__}")
        left.remove(name)
        (write, read), may_be_absent = _conversion(where, hints[attribute], known[name], given)
        path_of[name] = attribute
        if write is not None:
            writes.append((name, write))
        if may_be_absent and read is not None:
            optional.append((attribute, name, read))
            continue
        field_of[attribute] = name
        if read is not None:
            reads.append((attribute, read))
    if unknown := sorted(left) + sorted(set(listed) - set(hints)):
        raise TypeError(f"{message.__name__} and {record.__name__} differ in {', '.join(unknown)}")
    return _Plan(
        *(tuple(path_of), _getter(path_of.values()), tuple(writes), tuple(makes)),
        *(tuple(field_of), _getter(field_of.values()), tuple(reads), tuple(optional)),
        by_hand,
    )


def _field_for(
    attribute: str, given: "str | Conversion | RecordCodec[Any, Any] | Field", left: set[str]
) -> "tuple[str, Conversion | RecordCodec[Any, Any] | None]":
    if isinstance(given, Field):
        return given
    if isinstance(given, str) and given:
        return given, None
    derived = next(filter(left.__contains__, _names_for(attribute)), "")
    return derived, None if isinstance(given, str) else given


def _names_for(attribute: str) -> Iterator[str]:
    yield from (attribute, f"{attribute}_id")
    for stem in (attribute, attribute.removesuffix("_at")):
        yield from (stem + ending for ending in _NANOS)


def _getter(paths: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """An attrgetter gives a tuple only from two on."""
    names = tuple(paths)
    if len(names) > 1:
        return attrgetter(*names)
    return lambda holder: tuple(attrgetter(name)(holder) for name in names)


def _conversion(
    where: str, hint: Any, field: Any, given: "Conversion | RecordCodec[Any, Any] | None"
) -> tuple[Conversion, bool]:
    """How a value is converted, and whether a message that is absent is None."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    optional = NoneType in get_args(hint)
    if isinstance(given, RecordCodec):
        if field.is_repeated:
            return Conversion(given.messages, given.records), False
        return Conversion(given.message, given.record), optional
    if isinstance(given, Conversion):
        return given, optional and field.has_presence
    many = get_origin(hint)
    if optional or many is None:
        return _conversion_of(
            where, kinds[0] if optional else hint, field, optional=optional
        ), False
    if issubclass(many, Mapping):
        return Conversion(read=dict), False
    each = _conversion_of(where, kinds[0], field, optional=False)
    return Conversion(sorted if many is frozenset else None, _all(many, each.read)), False


def _all(kind: Callable[[Iterable[Any]], Any], read: Convert | None) -> Convert:
    return kind if read is None else lambda values: kind(map(read, values))


def _conversion_of(where: str, hint: Any, field: Any, *, optional: bool) -> Conversion:
    if hint in _PLAIN:
        return Conversion(read=_or_none) if optional else Conversion()
    if not (isinstance(hint, type) and issubclass(hint, Enum)):
        raise TypeError(f"{where}: say how a {hint} is carried")
    if issubclass(hint, IntEnum):
        zero = {int(each): each for each in hint}.get(0)
        return by_number(hint, zero) if optional or zero is not None else Conversion(read=hint)
    if field.enum_type is None:
        return Conversion(read=hint)
    return _by_name(hint, field.enum_type, optional)


def _or_none(value: Any) -> Any:
    return value or None


#: A count of a request; less than nothing is nothing.
NOT_NEGATIVE = Conversion(read=lambda count: max(0, count))


def first_rows(most: int, codec: RecordCodec[Any, Any] | None = None) -> Conversion:
    """Rows beyond the most are not told."""
    if codec is None:
        return Conversion(lambda rows: rows[:most], tuple)
    return Conversion(lambda rows: codec.messages(rows[:most]), codec.records)


def by_number(kind: type[E], otherwise: E | None) -> Conversion:
    """An enum as its number; UNSPECIFIED and numbers of a later version are `otherwise`."""
    known = {int(each): each for each in kind}
    return Conversion(read=lambda number: known.get(number, otherwise))


def _by_name(kind: type[Enum], wire: EnumDescriptor, optional: bool) -> Conversion:
    """An enum whose members are texts of ours: the wire's names end in theirs."""
    prefix = wire.values_by_number[0].name.removesuffix("UNSPECIFIED")
    number_of = {each: wire.values_by_name[prefix + each.name].number for each in kind}
    known = {number: each for each, number in number_of.items()}

    def read(number: int) -> Enum | None:
        if number not in known and not optional:
            raise ValueError(f"{number} is not a valid {kind.__name__}")
        return known.get(number)

    return Conversion(number_of.get, read)


def message_document(message: Message) -> Document:
    """As protobuf's JSON reads it, but that 64-bit numbers stay numbers: a document can be read
    back into the message. Fields that may be absent are absent; all others are there."""
    document: Document = {}
    for name, json_name, may_be_absent, shown in _document_fields(message.DESCRIPTOR):
        if not (may_be_absent and not message.HasField(name)):
            value = getattr(message, name)
            document[json_name] = value if shown is None else shown(value)
    return document


@cache
def _document_fields(message: Descriptor) -> tuple[tuple[str, str, bool, Convert | None], ...]:
    """Name, name in JSON, whether it may be absent, and how its value is shown; None: as it is.

    Descriptors are slow to ask: a page of machines asks for the same fields thousands of times.
    """
    return tuple((f.name, f.json_name, f.has_presence, _shown(f)) for f in message.fields)


def _shown(field: FieldDescriptor) -> Convert | None:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        held = _shown_one(entry.fields_by_name["value"])
        if held is None:
            return lambda value: {str(key): value[key] for key in sorted(value)}
        return lambda value: {str(key): held(value[key]) for key in sorted(value)}
    one = _shown_one(field)
    if not field.is_repeated:
        return one
    return list if one is None else lambda value: [one(each) for each in value]


def _shown_one(field: FieldDescriptor) -> Convert | None:
    if field.message_type is not None:
        return message_document
    if field.enum_type is not None:
        names = {number: each.name for number, each in field.enum_type.values_by_number.items()}
        return lambda number: names.get(number, number)
    return _finite if field.cpp_type in _FLOATS else None


def _finite(number: float) -> float | str:
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
