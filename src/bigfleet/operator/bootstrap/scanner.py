"""A template cut into text and actions, spaces trimmed as Go's text/template trims them.

`{{-` takes the white space before it, `-}}` the one after it; either needs a space on its inner
side. A comment is an action of its own and leaves nothing.
"""

import re
from dataclasses import dataclass

ALLOWED = (
    "allowed are {{ .ClusterID }}, {{ .RequestID }}, {{ .Token }}, {{ .CABundle }}, "
    "{{ .APIServer }}, {{ range .Requirements }} with .Key, .Operator and .Values, "
    '{{ join .Values "," }}, quote and shellquote as in {{ quote .Key }} and {{ .Key | quote }}, '
    '{{ if }}, {{ else }}, {{ end }}, {{ "text" }} and {{/* comments */}}'
)

_OPEN, _CLOSE = "{{", "}}"
_SPACES = " \t\r\n"
#: Words, fields, the dot, quoted texts; anything else is refused.
_WORD = re.compile(
    r"""\s+ | (?P<word> \$?(?:\.[A-Za-z_]\w*)+ | \$ | \. | [A-Za-z_]\w*
    | "(?:[^"\\\n]|\\.)*" | `[^`]*` | .)""",
    re.VERBOSE | re.DOTALL,
)


class BadTemplate(Exception):
    """The text is not a template of ours; the message says where, what and what would do."""

    def __init__(self, line: int, column: int, problem: str) -> None:
        super().__init__(f"line {line}, column {column}: {problem}; {ALLOWED}")
        self.line = line
        self.column = column
        self.problem = problem


@dataclass(frozen=True, slots=True)
class TemplateText:
    content: str


@dataclass(frozen=True, slots=True)
class Action:
    words: tuple[str, ...]
    line: int
    column: int

    @property
    def text(self) -> str:
        return "{{ " + " ".join(self.words) + " }}"

    def refused(self, problem: str) -> BadTemplate:
        return BadTemplate(self.line, self.column, problem)


def pieces_of(source: str) -> list[TemplateText | Action]:
    """Raises BadTemplate."""
    pieces: list[TemplateText | Action] = []
    at = 0
    is_trimming = False
    while (start := source.find(_OPEN, at)) >= 0:
        text = source[at:start]
        if is_trimming:
            text = text.lstrip(_SPACES)
        inner, end, trims_before, is_trimming = _action_at(source, start)
        if trims_before:
            text = text.rstrip(_SPACES)
        if text:
            pieces.append(TemplateText(text))
        if inner is not None:
            line, column = _place(source, start)
            pieces.append(Action(_words_of(inner), line, column))
        at = end
    rest = source[at:].lstrip(_SPACES) if is_trimming else source[at:]
    return [*pieces, TemplateText(rest)] if rest else pieces


def _action_at(source: str, start: int) -> tuple[str | None, int, bool, bool]:
    """What stands between the braces (None: a comment), where it ends, and what it trims."""
    begin = start + len(_OPEN)
    trims_before = source[begin : begin + 1] == "-" and source[begin + 1 : begin + 2] in _SPACES
    # An empty slice is in every string: the end of the source is not a space.
    trims_before = trims_before and begin + 1 < len(source)
    if trims_before:
        begin += 2
    if source.startswith("/*", begin):
        end, trims_after = _comment_end(source, start, begin)
        return None, end, trims_before, trims_after
    close = _closing(source, start, begin)
    inner = source[begin:close]
    trims_after = len(inner) >= 2 and inner[-1] == "-" and inner[-2] in _SPACES
    if trims_after:
        inner = inner[:-2]
    return inner, close + len(_CLOSE), trims_before, trims_after


def _comment_end(source: str, start: int, begin: int) -> tuple[int, bool]:
    line, column = _place(source, start)
    stop = source.find("*/", begin + 2)
    if stop < 0:
        raise BadTemplate(line, column, "the comment is never closed with */")
    after = source[stop + 2 :]
    if after.startswith(_CLOSE):
        return stop + 2 + len(_CLOSE), False
    if len(after) > 1 and after[0] in _SPACES and after[1:].startswith("-" + _CLOSE):
        return stop + 4 + len(_CLOSE), True
    raise BadTemplate(line, column, "nothing may follow a comment inside its braces")


def _closing(source: str, start: int, begin: int) -> int:
    """Where the action's }} is; braces inside quotes do not count."""
    at, quote = begin, ""
    while at < len(source):
        if quote:
            if quote == '"' and source[at] == "\\":
                at += 1
            elif source[at] == quote:
                quote = ""
        elif source[at] in '"`':
            quote = source[at]
        elif source.startswith(_CLOSE, at):
            return at
        at += 1
    line, column = _place(source, start)
    raise BadTemplate(line, column, "{{ is never closed with }}")


def _words_of(inner: str) -> tuple[str, ...]:
    return tuple(found["word"] for found in _WORD.finditer(inner) if found["word"])


def _place(source: str, at: int) -> tuple[int, int]:
    """Line and column, both from 1."""
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)
