"""Shapes of what `up` alone has: the tour, the controls of its simulated fleet, its clock."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, field

from bigfleet.web.schemas import Absent, Count, Shape

Word = Annotated[str, Meta(max_length=200)]
#: `do` with the arguments of a fault, or `end` with the number of one that runs.
DoRequest = dict[str, Any]


class BeatShape(Shape, kw_only=True):
    number: Count
    name: str
    title: str
    about: str
    status: str
    sentence: str
    simulated_seconds: float


class TourShape(Shape, kw_only=True):
    available: bool
    #: Where there is none.
    why: Absent[str] = UNSET
    status: Absent[str] = UNSET
    plays_on: Absent[bool] = UNSET
    plays_at_unix_nanos: Absent[int | None] = UNSET
    beat: Absent[Count] = UNSET
    waits_until: Absent[str] = UNSET
    sentence: Absent[str] = UNSET
    beats: Absent[list[BeatShape]] = UNSET


class ClockShape(Shape, kw_only=True):
    #: How many times as fast as real time, and what it may be set to.
    speed: float
    slowest: float
    fastest: float
    simulated_unix_nanos: int
    began_unix_nanos: int
    script_seconds: float
    script_stands: bool


class DemandRow(Shape, kw_only=True):
    cluster: str
    class_: str = field(name="class")
    priority: int
    factor: float
    least: float
    most: float
    step: float
    applies: str


class ArgumentShape(Shape, kw_only=True):
    name: str
    about: str
    default: str | float
    choices: list[str]
    least: float | None
    most: float | None


class LastingShape(Shape, kw_only=True):
    default: float
    least: float
    most: float


class FaultShape(Shape, kw_only=True):
    do: str
    title: str
    about: str
    arguments: list[ArgumentShape]
    #: None: it happens once.
    seconds: LastingShape | None


class RunningShape(Shape, kw_only=True):
    number: Count
    do: str
    text: str
    arguments: dict[str, str]
    ends_at_unix_nanos: int
    ends_early: bool


class NotHereShape(Shape, kw_only=True):
    do: str
    why: str


class ControlsShape(Shape, kw_only=True):
    demand: list[DemandRow]
    faults: list[FaultShape]
    running: list[RunningShape]
    not_here: list[NotHereShape]


class AssertionShape(Shape, kw_only=True):
    name: str
    holds: bool
    findings: list[str]


class ScenarioShape(Shape, kw_only=True):
    tour: TourShape
    clock: ClockShape
    controls: ControlsShape
    assertions: list[AssertionShape]
    down: list[str]
    real: list[str]
    simulated: list[str]


class DoneShape(Shape, kw_only=True):
    """One of them: a fault that has begun, one that is ended, the speed that is set."""

    ended: Absent[Count] = UNSET
    speed: Absent[float] = UNSET
    number: Absent[Count] = UNSET
    do: Absent[str] = UNSET
    text: Absent[str] = UNSET
    arguments: Absent[dict[str, str]] = UNSET
    ends_at_unix_nanos: Absent[int] = UNSET
    ends_early: Absent[bool] = UNSET


class CommandRequest(Shape, kw_only=True):
    do: Word
    #: The number of a beat, from 1.
    beat: Annotated[int, Meta(ge=1)] | None = None


class DemandRequest(Shape, kw_only=True):
    cluster: Word
    class_: Word = field(name="class")
    factor: float
