"""The control API: verbs in, JSON out, over gRPC, HTTP and scripts alike.

Verbs about the substrate become events of it. Verbs about the process and the clock are carried out
here: they are the only ones that are not part of a replayable run.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import orjson

from bigfleet.edge.clock import SECOND, Clock, ManualClock, settle
from bigfleet.edge.pages import HttpAnswer, HttpRequest, Route
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.instants import instant_text
from bigfleet.model.provider_calls import Code, Rejected
from bigfleet.provider.backend import ServerExtension
from bigfleet.provider.sim.clocks import ScaledClock, speed_of
from bigfleet.provider.sim.driver import Driver
from bigfleet.provider.sim.service import SimAnswers
from bigfleet.provider.sim.world.distributions import BadDuration, nanos_of
from bigfleet.provider.sim.world.events import (
    Command,
    CommandGiven,
    LoggedEvent,
    Reply,
    ScriptGiven,
)
from bigfleet.provider.sim.world.report import condition_holds
from bigfleet.provider.sim.world.state import EventLog, Substrate
from bigfleet.provider.sim.world.verbs import (
    VERBS,
    BadCommand,
    BadSelector,
    command_of_mapping,
    command_of_words,
    script_of,
    switch_of,
)
from bigfleet.provider.stores.store import StoreFailed
from bigfleet.wire.provider_server import ExtraService, ProviderHandler
from bigfleet.wire.rpc_service import RpcService
from bigfleet.wire.sim_control import SIM_CONTROL

ROUTE = "/sim/v1/"
_EVENTS_AT_ONCE = 1_000
_POLL_SECONDS = 0.2
#: How far `step-until` looks before it gives up.
_PATIENCE = 30 * 24 * 3600 * SECOND
JsonObject = Mapping[str, object]


class Control(ServerExtension):
    """Drives the substrate, and carries out verbs that come from outside or from a script."""

    def __init__(
        self,
        substrate: Substrate,
        clock: Clock,
        log: EventLog,
        *,
        serves: bool,
        fault_selectors: bool,
    ) -> None:
        self.driver = Driver(substrate, clock, log, self)
        self.fault_selectors = fault_selectors
        #: The server's own answers, before ours spoil them; None until it listens.
        self.handler: ProviderHandler | None = None
        self._serves = serves
        self._store_fails = False
        self._tasks: set[asyncio.Task[JsonObject]] = set()

    def services(self) -> Sequence[ExtraService]:
        return [RpcService(SIM_CONTROL, self, checks_callers=True)] if self._serves else []

    def routes(self) -> Mapping[str, Route]:
        return {ROUTE: self.answer_http} if self._serves else {}

    def wrapped(self, handler: ProviderHandler) -> ProviderHandler:
        self.handler = handler
        return SimAnswers(handler, self.driver)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def load_script(self, text: str) -> JsonObject:
        import yaml  # a twentieth of a second, and most sims run no script

        try:
            entries = script_of(yaml.safe_load(text))
        except yaml.YAMLError as problem:
            raise BadInput([Problem("script", f"is not YAML: {problem}")]) from problem
        self.driver.tell(ScriptGiven(entries, self.driver.clock.now()))
        return {"entries": len(entries)}

    async def do(self, verb: str, words: Sequence[str], args: Mapping[str, str]) -> JsonObject:
        """One verb; words by position or arguments by name."""
        try:
            if verb == "script":
                return self.load_script(args.get("text", "") or " ".join(words))
            command = (
                command_of_mapping(verb, dict(args)) if args else command_of_words([verb, *words])
            )
            return await self.carry_out(command)
        except (BadCommand, BadInput, BadDuration, BadSelector) as problem:
            raise Rejected(Code.INVALID_ARGUMENT, str(problem)) from problem

    async def carry_out(self, command: Command) -> JsonObject:
        if VERBS[command.verb].outside:
            return await self._outside(command)
        said = self.driver.tell(CommandGiven(command, self.driver.clock.now()))
        reply = next(i for i in reversed(said) if isinstance(i, Reply))
        if reply.problem:
            raise BadCommand(reply.problem)
        return reply.facts

    async def events(self, follow: bool, after: int) -> AsyncGenerator[JsonObject, None]:
        log, clock = self.driver.log, self.driver.clock
        while True:
            log.seal(clock.now())
            found = log.after(after, _EVENTS_AT_ONCE)
            for number, noted in found:
                after = number
                yield _numbered(number, noted)
            if not found and not follow:
                return
            if not found:
                await self._pause()

    async def _pause(self) -> None:
        """A poll in real time, also while the sim's own clock stands still."""
        never = asyncio.get_running_loop().create_future()
        await asyncio.wait([never], timeout=_POLL_SECONDS)

    def run_outside(self, command: Command) -> None:
        """A script reached a verb about the process or the clock."""
        work: Coroutine[Any, Any, JsonObject] = self._outside(command)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _outside(self, command: Command) -> JsonObject:
        match command.verb:
            case "store-fail":
                self._store_fails = switch_of(command, "switch")
                return {"store_fails": self._store_fails}
            case "crash":
                os.kill(os.getpid(), signal.SIGKILL)
                return {}
            case "events":
                return self._recent(command)
            case _:
                return await self._clock(command)

    def _recent(self, command: Command) -> JsonObject:
        since, limit = command.text("since", "0"), command.text("limit", str(_EVENTS_AT_ONCE))
        if not (since.isdigit() and limit.isdigit()):
            raise BadCommand("events takes whole numbers: the last one seen, and how many")
        self.driver.log.seal(self.driver.clock.now())
        found = self.driver.log.after(int(since), int(limit))
        return {"items": [_numbered(number, noted) for number, noted in found]}

    async def _clock(self, command: Command) -> JsonObject:
        clock, value = self.driver.clock, command.text("value")
        match command.text("action", "now"):
            case "now":
                pass
            case "advance":
                await self._advance(nanos_of(value))
            case "speed":
                speed = speed_of(value)
                if speed is None or not isinstance(clock, ScaledClock):
                    raise BadCommand(f"speed {value!r}: a number above 0, on a clock that runs")
                clock.set_speed(speed)
            case "step-until":
                await self._step_until(value)
            case other:
                raise BadCommand(f"the clock knows now, advance, speed, step-until, not {other!r}")
        speed = clock.speed if isinstance(clock, ScaledClock) else 0.0
        return {"now": instant_text(clock.now()), "speed": speed}

    async def _advance(self, nanos: int) -> None:
        await self._stepped().advance(nanos / SECOND)

    def _stepped(self) -> ManualClock:
        clock = self.driver.clock
        if not isinstance(clock, ManualClock):
            raise BadCommand("only a stepped clock is moved by hand; start with --clock stepped")
        return clock

    async def _step_until(self, condition: str) -> None:
        clock = self._stepped()
        end = clock.now() + _PATIENCE
        await settle()
        while not condition_holds(self.driver.substrate, condition):
            due = clock.next_due()
            if due is None or due > end:
                raise BadCommand(f"{condition!r} does not come about")
            await clock.advance((due - clock.now()) / SECOND)

    def before_commit(self) -> None:
        if self._store_fails:
            raise StoreFailed("the sim was told to fail commits")

    async def answer_http(self, request: HttpRequest) -> HttpAnswer:
        """`/sim/v1/<verb>` with arguments as a JSON object, or in the query."""
        verb = request.path.strip("/")
        try:
            given = orjson.loads(request.body) if request.body else dict(parse_qsl(request.query))
            if verb == "script":
                facts = self.load_script(str(given.get("text", "")))
            else:
                facts = await self.carry_out(command_of_mapping(verb, given))
        except (ValueError, BadInput) as problem:
            body = orjson.dumps({"error": str(problem)})
            return HttpAnswer(body, status=400)
        return HttpAnswer(orjson.dumps(facts))


def _numbered(number: int, noted: LoggedEvent) -> JsonObject:
    """A verb's own argument `n`, how often, is told as `count`: `n` is the number of the line."""
    facts = noted.document()
    if "n" in facts:
        facts["count"] = facts.pop("n")
    return {"n": number, **facts}
