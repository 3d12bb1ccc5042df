"""What every process shows of its insides, where `debug_endpoints` asks for it; otherwise nothing.

The pages are the same everywhere: tasks, stacks, profile, state. No name is checked on this side of
a process, so they are for the loopback and for networks one trusts.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from traceback import walk_stack
from types import FrameType
from typing import Any
from urllib.parse import parse_qs

import orjson

from bigfleet.edge.pages import HttpAnswer, HttpRequest, Page, Route, plain
from bigfleet.edge.profiler import AlreadyProfiling, Profiler, collapsed

PREFIX = "/debug/"
USUAL_SECONDS = 5
LONGEST_SECONDS = 30
#: Calls of a task that are shown.
_DEPTH = 8
#: Tasks that are shown: three for each of some hundred sessions. Looking at one takes 50 us.
_MOST_TASKS = 1000
_TEXT = "text/plain; charset=utf-8"

#: Sizes of everything that could grow, by name.
Sizes = Callable[[], Mapping[str, Any]]


def debug_routes(
    asked_for: bool, sizes: Sizes, profiler: Profiler, more: Mapping[str, Page] | None = None
) -> Mapping[str, Route]:
    """`more` are pages of this process alone, by what follows the prefix."""
    return {PREFIX: DebugPages(sizes, profiler, more or {}).answer} if asked_for else {}


class DebugPages:
    def __init__(self, sizes: Sizes, profiler: Profiler, more: Mapping[str, Page]) -> None:
        self._profiler = profiler
        self._pages: Mapping[str, Page] = {
            "tasks": _tasks,
            "stacks": _stacks,
            "state": lambda: _json(sizes()),
            **more,
        }

    async def answer(self, request: HttpRequest) -> HttpAnswer:
        if request.method != "GET":
            return plain(HTTPStatus.METHOD_NOT_ALLOWED)
        if request.path == "profile":
            return await self._profiled(request.query)
        if (page := self._pages.get(request.path)) is not None:
            return page()
        names = "".join(f"{PREFIX}{name}\n" for name in sorted(self._pages))
        listed = f"{names}{PREFIX}profile?seconds={USUAL_SECONDS}\n"
        if not request.path:
            return _text(listed)
        return _text(f"there is no such page; there are:\n{listed}", HTTPStatus.NOT_FOUND)

    async def _profiled(self, query: str) -> HttpAnswer:
        try:
            seconds = seconds_of(query)
        except ValueError as problem:
            return _text(f"{problem}\n", HTTPStatus.BAD_REQUEST)
        try:
            return _text(collapsed(await self._profiler.profile(seconds)))
        except AlreadyProfiling:
            text = "another profile is being taken, and two would measure each other"
            again = f"ask again when it is over, in {LONGEST_SECONDS} s at most"
            return _text(f"{text}; {again}\n", HTTPStatus.TOO_MANY_REQUESTS)


def seconds_of(query: str) -> int:
    """Of /debug/profile?seconds=N; ValueError says what is wrong with which field."""
    fields = parse_qs(query, keep_blank_values=True)
    for name in fields.keys() - {"seconds"}:
        raise ValueError(f"{name[:40]!r} is not known here; the only field is seconds")
    given = fields.get("seconds", [str(USUAL_SECONDS)])
    text = given[0]
    # Short before it is read: thousands of digits are no number to Python.
    whole = len(given) == 1 and text.isascii() and text.isdigit() and len(text) <= 2
    if not whole or not 1 <= int(text) <= LONGEST_SECONDS:
        shown = ", ".join(each[:40] for each in given[:2])
        needed = f"one whole number from 1 to {LONGEST_SECONDS}"
        raise ValueError(f"seconds: {shown!r} is not {needed}; ask for ?seconds={USUAL_SECONDS}")
    return int(text)


def _tasks() -> HttpAnswer:
    """What the process is at: its tasks and where each of them stands."""
    tasks = list(asyncio.all_tasks())
    shown = tasks[:_MOST_TASKS]
    lines = [line for task in shown for line in (repr(task), *_stack(task))]
    if len(shown) < len(tasks):
        lines.append(f"{len(tasks) - len(shown)} of {len(tasks)} tasks are left off")
    return _text("\n".join(lines))


def _stack(task: "asyncio.Task[Any]") -> list[str]:
    return [_place(frame, frame.f_lineno) for frame in task.get_stack(limit=_DEPTH)]


def _stacks() -> HttpAnswer:
    """Every thread and where it stands, the innermost call last."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    paragraphs = [
        "\n".join([f"thread {names.get(ident, 'not made by Python')} ({ident})", *_places(frame)])
        for ident, frame in sys._current_frames().items()
    ]
    return _text("\n\n".join(sorted(paragraphs)) + "\n")


def _places(innermost: FrameType) -> list[str]:
    return [_place(frame, line) for frame, line in walk_stack(innermost)][::-1]


def _place(frame: FrameType, line: int | None) -> str:
    """Without the source line: frames of compiled code have no numbers to look it up by."""
    return f"  {frame.f_code.co_filename}:{line} {frame.f_code.co_name}"


def _json(facts: Mapping[str, Any]) -> HttpAnswer:
    return HttpAnswer(b"", build=lambda: orjson.dumps(facts, default=str))


def _text(text: str, status: HTTPStatus = HTTPStatus.OK) -> HttpAnswer:
    return HttpAnswer(text.encode(), _TEXT, status)
