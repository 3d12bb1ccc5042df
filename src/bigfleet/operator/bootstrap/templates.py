"""The part of Go's text/template that bootstrap files need, checked before the first machine asks.

A template that loads can be rendered for every request: what a name means is known when the file is
read, so a misspelt field stops the start and not a machine at night. Output is what Go prints: a
list as `[a b]`, nothing for an empty text; `if` holds for what is not empty.

No value can become a line or a command of its own. What the shard chooses (keys, values, the id of
the request) is printed with `_` for every character that a shell or YAML may read as more than a
letter; label syntax has no such character, so nothing a cluster may ask for is changed. The
operator's own settings are printed as they are, on one line. `quote` and `shellquote` print a value
as one text of YAML and JSON, and as one word of a shell.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import orjson

from bigfleet.model.syntax import one_line, shell_word, yaml_text
from bigfleet.operator.bootstrap.scanner import Action, BadTemplate, TemplateText, pieces_of

__all__ = ["BadTemplate", "RequirementWords", "Template", "TemplateValues"]


@dataclass(frozen=True, slots=True)
class RequirementWords:
    """One requirement, as a template sees it."""

    key: str
    #: `In`, `NotIn`, `Exists`, `DoesNotExist` or `Same`.
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateValues:
    """What a template is filled with."""

    cluster_id: str
    request_id: str = ""
    #: Lets a machine into the cluster: never printed.
    token: str = field(default="", repr=False)
    #: Base64 of PEM, as `certificate-authority-data` of a kubeconfig has it.
    ca_bundle: str = ""
    api_server: str = ""
    requirements: tuple[RequirementWords, ...] = ()


class _Dot(Enum):
    """What `.` is at a place of a template."""

    ROOT = "the request"
    REQUIREMENT = "a requirement"
    VALUE = "a value"


_Value = str | tuple[str, ...] | tuple[RequirementWords, ...]
_Scope = TemplateValues | RequirementWords | str

_ATTRIBUTES = {
    _Dot.ROOT: {
        ".ClusterID": "cluster_id",
        ".RequestID": "request_id",
        ".Token": "token",
        ".CABundle": "ca_bundle",
        ".APIServer": "api_server",
        ".Requirements": "requirements",
    },
    _Dot.REQUIREMENT: {".Key": "key", ".Operator": "operator", ".Values": "values"},
    _Dot.VALUE: {},
}
_INSIDE = {".Requirements": _Dot.REQUIREMENT, ".Values": _Dot.VALUE}


#: What the operator itself was given by its administrator.
_OWN = ("cluster_id", "token", "ca_bundle", "api_server")
_MAY_BE_MORE = re.compile(r"[^A-Za-z0-9._/-]")


def _inert(text: str) -> str:
    return _MAY_BE_MORE.sub("_", text)


_Quoting = Callable[[str], str]
_QUOTING: dict[str, _Quoting] = {"quote": yaml_text, "shellquote": shell_word}


@dataclass(frozen=True, slots=True)
class _Field:
    """`is_root`: of the request, wherever it stands."""

    name: str
    attribute: str
    is_root: bool

    def of(self, root: TemplateValues, dot: _Scope) -> _Value:
        scope = root if self.is_root else dot
        value: _Value = getattr(scope, self.attribute) if self.attribute else str(scope)
        return value


@dataclass(frozen=True, slots=True)
class _Print:
    """`separator`: of a list that is joined; None: it is printed as Go prints it."""

    field: _Field
    separator: str | None = None
    quoting: _Quoting | None = None

    def of(self, root: TemplateValues, dot: _Scope) -> str:
        value = self.field.of(root, dot)
        # The template's author chose the separator: it is printed as written unless all is quoted.
        plain = str if self.quoting else self._plain
        if isinstance(value, str):
            text = plain(value)
        elif self.separator is None:
            text = f"[{' '.join(plain(str(each)) for each in value)}]"
        else:
            text = self.separator.join(plain(str(each)) for each in value)
        return self.quoting(text) if self.quoting else text

    def _plain(self, text: str) -> str:
        return one_line(text) if self.field.attribute in _OWN else _inert(text)


@dataclass(frozen=True, slots=True)
class _Branch:
    """`if`, or `range` where `is_range`."""

    field: _Field
    is_range: bool
    body: "tuple[_Part, ...]"
    otherwise: "tuple[_Part, ...]"


_Part = str | _Print | _Branch


@dataclass(frozen=True, slots=True)
class Template:
    _parts: tuple[_Part, ...] = field(repr=False)
    #: Fields of the request that it uses anywhere: `Token`, `CABundle`.
    uses: frozenset[str]

    @classmethod
    def parse(cls, source: str) -> "Template":
        """Raises BadTemplate."""
        parser = _Parser(pieces_of(source))
        return cls(parser.whole(), frozenset(parser.used))

    def render(self, values: TemplateValues) -> str:
        out: list[str] = []
        _render(self._parts, values, values, out)
        return "".join(out)


class _Parser:
    def __init__(self, pieces: Sequence[TemplateText | Action]) -> None:
        self._pieces = pieces
        self._at = 0
        self.used: set[str] = set()

    def whole(self) -> tuple[_Part, ...]:
        parts, end = self._parts(_Dot.ROOT)
        if end is not None:
            raise end.refused(f"{end.text} closes nothing")
        return parts

    def _parts(self, dot: _Dot) -> tuple[tuple[_Part, ...], Action | None]:
        """Up to the caller's `else` or `end`, or the end of the source."""
        parts: list[_Part] = []
        while self._at < len(self._pieces):
            piece = self._pieces[self._at]
            self._at += 1
            if isinstance(piece, TemplateText):
                parts.append(piece.content)
                continue
            word = piece.words[0] if piece.words else ""
            if word in ("else", "end"):
                return tuple(parts), piece
            if word in ("if", "range"):
                parts.append(self._branch(piece, piece.words, dot))
            else:
                parts.append(self._printed(piece, dot))
        return tuple(parts), None

    def _branch(self, action: Action, words: tuple[str, ...], dot: _Dot) -> _Branch:
        """`words` are those of the action, or what follows `else` in it."""
        if len(words) != 2:
            raise action.refused(f"{action.text}: {words[0]} takes one field")
        is_range = words[0] == "range"
        found = self._field(action, words[1], dot)
        inside = _INSIDE.get(found.name) if is_range else dot
        if inside is None:
            raise action.refused(f"{action.text}: {words[1]} is not a list")
        body, end = self._parts(inside)
        otherwise: tuple[_Part, ...] = ()
        if end is not None and end.words[:2] == ("else", "if") and not is_range:
            # An `else if` is an `if` of its own inside the `else`; both end with one `end`.
            return _Branch(found, is_range, body, (self._branch(end, end.words[1:], dot),))
        if end is not None and end.words[0] == "else":
            if end.words != ("else",):
                raise end.refused(f"{end.text} is not known")
            otherwise, end = self._parts(dot)
        if end is None:
            raise action.refused(f"{action.text} is never closed with {{{{ end }}}}")
        if end.words != ("end",):
            raise end.refused(f"{end.text} cannot stand here")
        return _Branch(found, is_range, body, otherwise)

    def _printed(self, action: Action, dot: _Dot) -> _Part:
        words = action.words
        if not words:
            raise action.refused("{{ }} is empty")
        if words[0][0] in '"`' and len(words) == 1:
            # The only way to write braces that are meant for another program.
            return _quoted(action, words[0])
        quoting = None
        if words[0] in _QUOTING:
            quoting, words = _QUOTING[words[0]], words[1:]
        elif len(words) > 2 and words[-2] == "|" and words[-1] in _QUOTING:
            quoting, words = _QUOTING[words[-1]], words[:-2]
        if words[:1] == ("join",):
            found, separator = self._joined(action, words, dot)
            return _Print(found, separator, quoting)
        if len(words) != 1:
            raise action.refused(f"{action.text} is not known")
        found = self._field(action, words[0], dot)
        if found.attribute == "requirements":
            raise action.refused(f"{action.text}: a list of requirements is not printed, range it")
        return _Print(found, None, quoting)

    def _joined(self, action: Action, words: tuple[str, ...], dot: _Dot) -> tuple[_Field, str]:
        if len(words) != 3 or words[2][0] not in '"`':
            raise action.refused(f'{action.text}: write {{{{ join .Values "," }}}}')
        found = self._field(action, words[1], dot)
        if found.attribute != "values":
            raise action.refused(f"{action.text}: only .Values of a requirement can be joined")
        return found, _quoted(action, words[2])

    def _field(self, action: Action, word: str, dot: _Dot) -> _Field:
        if word == "." and dot is _Dot.VALUE:
            return _Field(word, "", is_root=False)
        is_root = word.startswith("$.")
        name = word.removeprefix("$")
        scope = _Dot.ROOT if is_root else dot
        attribute = _ATTRIBUTES[scope].get(name) if name.startswith(".") else None
        if attribute is None:
            raise action.refused(f"{action.text}: {_unknown(word, name, dot)}")
        if scope is _Dot.ROOT:
            self.used.add(name[1:])
        return _Field(name, attribute, is_root)


def _quoted(action: Action, word: str) -> str:
    try:
        return word[1:-1] if word[0] == "`" else str(orjson.loads(word))
    except ValueError:
        raise action.refused(f"{action.text}: {word} is not text") from None


def _unknown(word: str, name: str, dot: _Dot) -> str:
    if dot is not _Dot.ROOT and name in _ATTRIBUTES[_Dot.ROOT]:
        return f"inside a range {word} is asked of {dot.value}, write ${name}"
    return f"{word} is not known of {dot.value}"


def _render(parts: tuple[_Part, ...], root: TemplateValues, dot: _Scope, out: list[str]) -> None:
    for part in parts:
        match part:
            case str():
                out.append(part)
            case _Print():
                out.append(part.of(root, dot))
            case _Branch():
                value = part.field.of(root, dot)
                if not value:
                    _render(part.otherwise, root, dot, out)
                elif part.is_range:
                    for each in value:
                        _render(part.body, root, each, out)
                else:
                    _render(part.body, root, dot, out)
