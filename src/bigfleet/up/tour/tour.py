"""The tour as a state machine: what is seen and what people want in, instructions out.

A beat is a generator: it yields what it waits for, with what is to be done first, is sent what is
seen once that holds, and returns the sentence it speaks. What a beat set up is undone when it ends,
however it ends. A beat that does not get what it waits for says so, and the tour goes on.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bigfleet.model.machines import Instant
from bigfleet.model.options import SECOND
from bigfleet.up.tour.instructions import GiveDemandBack, Instruction
from bigfleet.up.tour.seen import FleetSeen

#: Real seconds without input after which a tour that is offered, or has paused, plays by itself.
IDLE_SECONDS = 20.0
#: Real seconds a sentence stays before a tour that plays by itself goes on.
DWELL_SECONDS = 10.0
#: Simulated seconds.
LIMIT_SECONDS = 300.0
#: Simulated seconds between two tries of what is done again.
AGAIN_SECONDS = 15.0
#: Between two looks no more than this counts: on a busy machine a beat has as many looks.
_MOST_OF_A_LOOK = 5 * SECOND


@dataclass(frozen=True, slots=True)
class Wait:
    #: After `waits until`.
    until: str
    holds: Callable[[FleetSeen], bool]
    do: tuple[Instruction, ...] = ()
    #: Done again and again until it holds: what comes and goes may be missed once.
    again: tuple[Instruction, ...] = ()
    limit_seconds: float = LIMIT_SECONDS
    #: What is seen instead, as a sentence.
    instead: Callable[[FleetSeen], str] = FleetSeen.why_not_served


class Impossible(Exception):
    """A beat cannot be shown here; the text says why."""


Playing = Generator[Wait, FleetSeen, str]


@dataclass(frozen=True, slots=True)
class Beat:
    name: str
    title: str
    #: What it shows, before it has.
    about: str
    play: Callable[[FleetSeen], Playing]
    undo: tuple[Instruction, ...] = ()


class BeatStatus(StrEnum):
    AHEAD = "ahead"
    PLAYING = "playing"
    REACHED = "reached"
    FAILED = "failed"
    SKIPPED = "skipped"


class TourStatus(StrEnum):
    OFFERED = "offered"
    PLAYING = "playing"
    ENDED = "ended"
    LEFT = "left"


class TourCommand(StrEnum):
    NEXT = "next"
    REPEAT = "repeat"
    SKIP = "skip"
    LEAVE = "leave"
    PLAY = "play"
    #: A person is there and does something else.
    PRESENT = "present"


@dataclass(slots=True)
class BeatRecord:
    status: BeatStatus = BeatStatus.AHEAD
    #: What it said, or why it failed.
    sentence: str = ""
    #: Simulated, without time in which nobody could look.
    seconds: float = 0.0


class Tour:
    def __init__(
        self,
        beats: Sequence[Beat],
        *,
        dwell_seconds: float = DWELL_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.beats = tuple(beats)
        self.records = [BeatRecord() for _ in beats]
        self.status = TourStatus.OFFERED
        #: Plays by itself.
        self.plays_on = False
        #: Of the beat that plays or has played last.
        self.place = 0
        self._dwell = round(dwell_seconds * SECOND)
        self._idle = round(idle_seconds * SECOND)
        self._playing: Playing | None = None
        self._wait: Wait | None = None
        self._looked_at: Instant = 0
        self._waited: float = 0.0
        self._tried = 0
        #: Real: of the last input, if a person was ever there, and of the end of the last beat.
        self._present_at: Instant | None = None
        self._ended_at: Instant = 0

    @property
    def is_in_beat(self) -> bool:
        return self._playing is not None

    @property
    def waits_until(self) -> str:
        """Empty: it waits for nothing."""
        return self._wait.until if self._wait is not None else ""

    @property
    def failed(self) -> list[Beat]:
        pairs = zip(self.beats, self.records, strict=True)
        return [beat for beat, record in pairs if record.status is BeatStatus.FAILED]

    @property
    def plays_at(self) -> Instant | None:
        """Real: when it goes on by itself unless a person does something; None: it does not."""
        if self.status not in (TourStatus.OFFERED, TourStatus.PLAYING) or self.is_in_beat:
            return None
        if self.plays_on:
            return self._ended_at + self._dwell
        if self._present_at is None:
            return None
        return max(self._present_at, self._ended_at) + self._idle

    # -- what people want ------------------------------------------------------------------------

    def command(
        self, command: TourCommand, seen: FleetSeen, now: Instant, beat: int | None = None
    ) -> list[Instruction]:
        """`now` is real; `beat`: the place of the one that is meant, from 0."""
        self._present_at = now
        match command:
            case TourCommand.PRESENT:
                return []
            case TourCommand.LEAVE:
                return self._leave(now)
            case TourCommand.PLAY:
                self.plays_on = True
                if self.is_in_beat and beat is None:
                    return []
                return self._go(self._following() if beat is None else beat, seen, now)
            case TourCommand.REPEAT:
                return self._go(self.place if beat is None else beat, seen, now)
            case TourCommand.NEXT | TourCommand.SKIP:
                self.plays_on = False
                return self._go(self._following() if beat is None else beat, seen, now)

    def _following(self) -> int:
        """The place of the next beat; the first one where none has been played."""
        if self.status in (TourStatus.ENDED, TourStatus.LEFT):
            return 0
        played = self.records[self.place].status is not BeatStatus.AHEAD
        return self.place + 1 if played else self.place

    def _go(self, place: int, seen: FleetSeen, now: Instant) -> list[Instruction]:
        said = self._end_beat(BeatStatus.SKIPPED, "", now) if self.is_in_beat else []
        if place >= len(self.beats):
            self.status, self.plays_on = TourStatus.ENDED, False
            return [*said, GiveDemandBack()]
        if self.status in (TourStatus.ENDED, TourStatus.LEFT):
            self.records = [BeatRecord() for _ in self.beats]
        self.status, self.place = TourStatus.PLAYING, place
        return said + self._begin(seen, now)

    def _leave(self, now: Instant) -> list[Instruction]:
        said = self._end_beat(BeatStatus.SKIPPED, "", now) if self.is_in_beat else []
        self.status, self.plays_on = TourStatus.LEFT, False
        return [*said, GiveDemandBack()]

    # -- what is seen ----------------------------------------------------------------------------

    def look(self, seen: FleetSeen, now: Instant) -> list[Instruction]:
        """Some times a second; `now` is real."""
        if self.is_in_beat:
            return self._look_at_beat(seen, now)
        due = self.plays_at
        if due is None or now < due:
            return []
        self.plays_on = True
        return self._go(self._following(), seen, now)

    def fail(self, why: str, now: Instant) -> list[Instruction]:
        """What the beat asked for cannot be done."""
        return self._end_beat(BeatStatus.FAILED, why, now) if self.is_in_beat else []

    # -- one beat --------------------------------------------------------------------------------

    def _begin(self, seen: FleetSeen, now: Instant) -> list[Instruction]:
        self.records[self.place] = BeatRecord(BeatStatus.PLAYING)
        self._playing = self.beats[self.place].play(seen)
        self._looked_at = seen.at
        return self._resume(None, seen, now)

    def _look_at_beat(self, seen: FleetSeen, now: Instant) -> list[Instruction]:
        passed = min(seen.at - self._looked_at, _MOST_OF_A_LOOK) / SECOND
        self._looked_at = seen.at
        self._waited += passed
        self.records[self.place].seconds += passed
        wait = self._wait
        assert wait is not None, "a beat waits for something"
        if wait.holds(seen):
            return self._resume(seen, seen, now)
        if self._waited <= wait.limit_seconds:
            return self._try_again(wait)
        why = f"waited {self._waited:.0f} s until {wait.until}; instead: {wait.instead(seen)}"
        return self._end_beat(BeatStatus.FAILED, why, now)

    def _try_again(self, wait: Wait) -> list[Instruction]:
        if self._waited < AGAIN_SECONDS * (self._tried + 1):
            return []
        self._tried += 1
        return list(wait.again)

    def _resume(self, sent: FleetSeen | None, seen: FleetSeen, now: Instant) -> list[Instruction]:
        """To the next thing to wait for, or to the end of the beat."""
        assert self._playing is not None
        try:
            self._wait = next(self._playing) if sent is None else self._playing.send(sent)
        except StopIteration as ended:
            return self._end_beat(BeatStatus.REACHED, str(ended.value), now)
        except Impossible as problem:
            return self._end_beat(BeatStatus.FAILED, str(problem), now)
        self._waited, self._tried = 0.0, 0
        return list(self._wait.do)

    def _end_beat(self, status: BeatStatus, sentence: str, now: Instant) -> list[Instruction]:
        record = self.records[self.place]
        record.status, record.sentence = status, sentence
        if self._playing is not None:
            self._playing.close()
        self._playing = self._wait = None
        self._ended_at = now
        return list(self.beats[self.place].undo)
