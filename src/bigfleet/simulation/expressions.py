"""The small language of assertions: numbers, names with filters, arithmetic and comparisons.

`unmet(priority>=100000) <= 0 and cost_per_hour < 60`. A text is parsed once and asked many times;
nothing in it is ever run as Python.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"|(?P<word>[A-Za-z_][\w./-]*)|(?P<sign><=|>=|==|!=|[-+*/()<>=,]))"
)
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_LONGEST, _DEEPEST = 1000, 50


class BadExpression(ValueError):
    """The text is not an expression; the message says where it goes wrong and what to write."""


@dataclass(frozen=True, slots=True)
class Filter:
    key: str
    #: One of <, <=, >, >=, ==, !=.
    sign: str
    value: str

    def takes(self, given: str | float) -> bool:
        if isinstance(given, str):
            return (given == self.value) is (self.sign == "==")
        return _COMPARE[self.sign](given, float(self.value))

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.sign == '==' else self.sign}{self.value}"


Filters = tuple[Filter, ...]
#: The value of a name with its filters, now.
Ask = Callable[[str, Filters], float]


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    filters: Filters = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.filters))})" if self.filters else self.name


@dataclass(frozen=True, slots=True)
class Operation:
    sign: str
    parts: tuple["Node", ...]


Node = Number | Name | Operation


@dataclass(frozen=True, slots=True)
class NameRule:
    """What a name means, and by what it may be filtered."""

    about: str
    filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    root: Node

    def holds(self, ask: Ask) -> bool:
        return bool(_value(self.root, ask))

    def value(self, ask: Ask) -> float:
        return _value(self.root, ask)

    def names(self) -> tuple[Name, ...]:
        """Each once, in the order of the text."""
        return tuple(dict.fromkeys(_names(self.root)))


def expression_of(text: str, known: Mapping[str, NameRule], numeric: frozenset[str]) -> Expression:
    """`numeric`: filters that compare numbers. Raises BadExpression."""
    if len(text) > _LONGEST:
        raise BadExpression(f"longer than {_LONGEST} characters; write several assertions")
    parser = _Parser(text, known, numeric)
    root = parser.either(0)
    parser.expect_end()
    return Expression(text, root)


@dataclass(frozen=True, slots=True)
class Sentence:
    """`Zone b holds {machines(zone=b)} machines.`"""

    parts: tuple[str | Expression, ...]

    def told(self, ask: Ask) -> str:
        return "".join(
            part if isinstance(part, str) else f"{part.value(ask):g}" for part in self.parts
        )


def sentence_of(text: str, known: Mapping[str, NameRule], numeric: frozenset[str]) -> Sentence:
    """Raises BadExpression."""
    words = re.split(r"[{}]", text)
    if len(words) % 2 == 0:
        raise BadExpression(f"a {{ or a }} is missing in {text!r}")
    return Sentence(
        tuple(
            expression_of(word, known, numeric) if number % 2 else word
            for number, word in enumerate(words)
        )
    )


def _value(node: Node, ask: Ask) -> float:
    match node:
        case Number(value):
            return value
        case Name(name, filters):
            return ask(name, filters)
        case Operation("and", parts):
            return float(all(_value(part, ask) for part in parts))
        case Operation("or", parts):
            return float(any(_value(part, ask) for part in parts))
        case Operation("not", (part,)):
            return float(not _value(part, ask))
        case Operation("negative", (part,)):
            return -_value(part, ask)
        case Operation(sign, (left, right)):
            return _calculated(sign, _value(left, ask), _value(right, ask))
    raise AssertionError(f"{node} is not a node of a parsed expression")


def _calculated(sign: str, left: float, right: float) -> float:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right if right else float("nan")
        case _:
            return float(_COMPARE[sign](left, right))


def _names(node: Node) -> list[Name]:
    match node:
        case Name():
            return [node]
        case Operation(_, parts):
            return [name for part in parts for name in _names(part)]
    return []


class _Parser:
    def __init__(self, text: str, known: Mapping[str, NameRule], numeric: frozenset[str]) -> None:
        self._text, self._known, self._numeric = text, known, numeric
        self._tokens = list(_tokens(text))
        self._place = 0

    def expect_end(self) -> None:
        if self._place < len(self._tokens):
            raise BadExpression(f"{self._next!r} is too much in {self._text!r}")

    @property
    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        """The next token if it is one of these, else nothing."""
        found = self._next
        if found in wanted and found:
            self._place += 1
            return found
        return ""

    def either(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise BadExpression(f"more than {_DEEPEST} parentheses in each other")
        return self._chain("or", lambda: self._chain("and", lambda: self._negated(depth)))

    def _chain(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self._take(word):
            parts.append(part())
        return Operation(word, tuple(parts)) if len(parts) > 1 else parts[0]

    def _negated(self, depth: int) -> Node:
        if self._take("not"):
            return Operation("not", (self._negated(depth + 1),))
        left = self._sum(depth)
        sign = self._take(*_COMPARE, "=")
        if not sign:
            return left
        return Operation("==" if sign == "=" else sign, (left, self._sum(depth)))

    def _sum(self, depth: int) -> Node:
        left = self._product(depth)
        while sign := self._take("+", "-"):
            left = Operation(sign, (left, self._product(depth)))
        return left

    def _product(self, depth: int) -> Node:
        left = self._factor(depth)
        while sign := self._take("*", "/"):
            left = Operation(sign, (left, self._factor(depth)))
        return left

    def _factor(self, depth: int) -> Node:
        if self._take("-"):
            return Operation("negative", (self._factor(depth + 1),))
        if self._take("("):
            inner = self.either(depth + 1)
            if not self._take(")"):
                raise BadExpression(f"a ) is missing in {self._text!r}")
            return inner
        token = self._next
        self._place += 1
        if token[:1].isdigit():
            return Number(float(token))
        if token in self._known:
            return Name(token, self._filters(token))
        if token[:1].isalpha():
            raise BadExpression(
                f"{token!r} is not a name one can assert; known are {', '.join(self._known)}"
            )
        where = f"before {token!r}" if token else "at the end"
        raise BadExpression(f"a number or a name is missing {where} of {self._text!r}")

    def _filters(self, name: str) -> Filters:
        found: list[Filter] = []
        if not self._take("("):
            return ()
        while not self._take(")"):
            found.append(self._filter(name))
            if not self._take(",") and self._next != ")":
                raise BadExpression(f"after a filter of {name} comes , or ) in {self._text!r}")
        return tuple(found)

    def _filter(self, name: str) -> Filter:
        key, allowed = self._next, self._known[name].filters
        self._place += 1
        if key not in allowed:
            known = ", ".join(allowed) or "none"
            raise BadExpression(f"{name} cannot be filtered by {key!r}; its filters: {known}")
        sign = self._take(*_COMPARE, "=")
        value = self._next
        self._place += 1
        if not sign or not value or value in "(),":
            raise BadExpression(f"write {name}({key}=VALUE) in {self._text!r}")
        if key in self._numeric:
            if not value[:1].isdigit():
                raise BadExpression(f"{key} is a number, not {value!r}")
        elif sign not in ("=", "==", "!="):
            raise BadExpression(f"{key} is compared with = or != only")
        return Filter(key, "==" if sign == "=" else sign, value)


def _tokens(text: str) -> list[str]:
    found, place = [], 0
    while place < len(text.rstrip()):
        match = _TOKEN.match(text, place)
        if match is None:
            raise BadExpression(f"{text[place:].strip()[:1]!r} has no meaning in {text!r}")
        found.append(match[match.lastgroup or 0])
        place = match.end()
    return found
