"""Command services and guest agents: started once, asked until the end, more and more slowly."""

import asyncio
from dataclasses import dataclass, field

import pytest

from bigfleet.provider import Ended, GuestAgent, HookExit, ManualClock, Permanent, RunCommand
from bigfleet.provider.testing import settle


@dataclass(slots=True)
class Service:
    """Keeps commands by their token; each ends after so many questions."""

    asked: int = 0
    end_after: int = 3
    exit_code: int = 0
    sent: dict[str, tuple[tuple[str, ...], bytes]] = field(default_factory=dict)

    async def send(self, words: tuple[str, ...], blob: bytes, token: str) -> str:
        self.sent.setdefault(token, (words, blob))
        return token

    async def ended(self, _command: str) -> Ended | None:
        self.asked += 1
        return Ended(self.exit_code, "no disk") if self.asked > self.end_after else None

    async def execute(self, words: tuple[str, ...], blob: bytes) -> int:
        await self.send(words, blob, "process")
        return 7

    async def status(self, process: int) -> Ended | None:
        assert process == 7
        return await self.ended("")


async def test_a_command_is_asked_for_until_it_ends() -> None:
    clock, service = ManualClock(), Service()
    channel = RunCommand(clock, service.send, service.ended, hook="hook")
    running = asyncio.create_task(channel.run_hook(b"join", token="op-1"))
    await settle()
    assert service.sent == {"op-1": (("hook", "configure", "op-1"), b"join")}
    for seconds, asked in ((0.4, 1), (0.2, 2), (0.8, 2), (0.2, 3), (2.0, 4)):
        await clock.advance(seconds)
        assert service.asked == asked
    await running


async def test_a_repeat_finds_the_command_of_its_token() -> None:
    service = Service(end_after=0)
    channel = RunCommand(ManualClock(), service.send, service.ended)
    await channel.run_hook(b"join", token="op-1")
    await channel.run_hook(b"other", token="op-1")
    assert [blob for _, blob in service.sent.values()] == [b"join"]


async def test_a_guest_that_fails_says_why() -> None:
    service = Service(end_after=0, exit_code=3)
    channel = GuestAgent(ManualClock(), service.execute, service.status)
    with pytest.raises(Permanent, match="ended with 3: no disk"):
        await channel.stop_node(10)
    assert service.sent["process"][0][1:] == ("drain", "10")


async def test_a_node_is_ready_when_its_hook_says_so() -> None:
    clock = ManualClock()

    class Host(GuestAgent):
        async def run(self, words: tuple[str, ...], blob: bytes, token: str) -> Ended:
            codes.append(codes[-1] - 1)
            return Ended(codes[-1])

    codes = [3]
    waiting = asyncio.create_task(HookExit(clock).wait(Host(clock, *[None] * 2), token="op-1"))  # type: ignore[arg-type]
    await settle()
    assert not waiting.done()
    await clock.advance(10)
    await waiting
    assert codes == [3, 2, 1, 0]
