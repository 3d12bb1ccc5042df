"""Providers as processes: from which command, with which hooks, started, killed and asked to stop.

Providers as processes: started from a command line on a fresh port, killed, asked to stop.

A command with placeholders says itself where things go; one without gets the flags every provider
knows. The flags of a lane are added to both, unless the command names their placeholder or tells
lanes apart itself. A provider that exits at once on the flags of the fault lane is started without.

Acting on the substrate behind a provider's back: by a given command or the sim's control.

Reads `--exec-spec`: one command, environment and working folder per lane.
"""

import asyncio
import os
import shlex
import signal
import socket
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from bigfleet.conformance.claims import NotServed
from bigfleet.conformance.launchers import Boot, CannotBoot, RunningProvider, Unreachable
from bigfleet.conformance.pace import Clock
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.provider_calls import MachineRecord, Rejected
from bigfleet.wire.provider_client import ProviderClient
from bigfleet.wire.sim_control import SimControlClient

if TYPE_CHECKING:
    from bigfleet.wire.lines import TlsFiles


#: Enough to be published: changes under one per cent may be held back.
DEARER = "x1.5"


async def act(
    name: str,
    record: MachineRecord,
    commands: Mapping[str, Sequence[str]],
    address: str,
    tls: "TlsFiles | None",
) -> None:
    """Change the machine's price, or take its host away."""
    if words := commands.get(name):
        await _call(name, [*words, record.id, record.host.ref if record.host else ""])
        return
    async with SimControlClient(address, tls) as control:
        try:
            if name == "price":
                pool = f"type={record.instance_type} zone={record.zone}"
                await control.do("price", [pool, DEARER])
            else:
                await control.do("vanish", [record.id])
        except Rejected as rejected:
            why = f"--hook-{name} is not given, and SimControl answers {rejected.code}"
            raise NotServed(why) from rejected


async def _call(name: str, words: Sequence[str]) -> None:
    process = await asyncio.create_subprocess_exec(*words)
    if code := await process.wait():
        raise NotServed(f"--hook-{name} ended with {code}")


PLACEHOLDERS = ("addr", "host", "port", "seed_count", "state", "transition_timeout", "lane")
LAST_WORDS = 2000
POLL = 0.02
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Command:
    """How a provider is started in one lane."""

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def has_placeholders(self) -> bool:
        return any(map(self.names, PLACEHOLDERS))

    def names(self, placeholder: str) -> bool:
        return any(f"{{{placeholder}}}" in word for word in self.words)

    def line(self, boot: Boot, port: int, *, faults: bool) -> list[str]:
        words = [filled(word, boot, port) for word in self.words]
        if not self.has_placeholders:
            words.append(f"--addr={HOST}:{port}")
            words += ["--provider=certify", "--use-fake-backend"]
            words.append(f"--seed-count={boot.seed_count}")
        return [*words, *self._lane_flags(boot, faults=faults), *_tls_flags(boot)]

    def _lane_flags(self, boot: Boot, *, faults: bool) -> list[str]:
        if self.names("lane"):
            return []
        flags = []
        if boot.state is not None and not self.names("state"):
            flags.append(f"--state={boot.state}")
        if faults and not self.names("transition_timeout"):
            flags.append(f"--transition-timeout={_duration(boot.transition_timeout)}")
        if faults:
            flags.append("--fault-selectors")
        return [*flags, *boot.more]


def filled(word: str, boot: Boot, port: int) -> str:
    values = {
        "addr": f"{HOST}:{port}",
        "host": HOST,
        "port": str(port),
        "seed_count": str(boot.seed_count),
        "state": str(boot.state or ""),
        "transition_timeout": _duration(boot.transition_timeout),
        "lane": boot.lane,
    }
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _duration(seconds: float | None) -> str:
    return f"{seconds or 300:g}s"


def _tls_flags(boot: Boot) -> list[str]:
    if boot.tls is None:
        return []
    tls = boot.tls
    return [f"--tls-cert={tls.cert}", f"--tls-key={tls.key}", f"--tls-ca={tls.ca}"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


async def accepts(host: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    return True


@dataclass(slots=True)
class ProcessProvider:
    process: Process
    address: str
    log: Path
    takes_faults: bool

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    async def terminate(self) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)

    async def exit_code(self, within: float) -> int | None:
        try:
            async with asyncio.timeout(within):
                return await self.process.wait()
        except TimeoutError:
            return None

    def resident_bytes(self) -> int | None:
        """Linux only; elsewhere memory is not judged."""
        try:
            pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        except (OSError, IndexError):
            return None
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


@dataclass(slots=True)
class ExecLauncher:
    """Every lane has a command; each boot is a new process on a new port."""

    commands: Mapping[str, Command]
    clock: Clock
    logs: Path
    boot_timeout: float = 20.0
    hooks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tls: "TlsFiles | None" = None
    _booted: list[ProcessProvider] = field(default_factory=list)
    _refuses_faults: bool = False

    def why_no_boot(self) -> str | None:
        return None

    async def boot(self, boot: Boot) -> ProcessProvider:
        command = self.commands.get(boot.lane) or self.commands.get("default")
        if command is None:
            raise NotServed(f"no command is given for the lane {boot.lane}")
        faults = boot.faults and not self._refuses_faults
        try:
            return await self._started(command, boot, faults=faults)
        except CannotBoot:
            if not faults or command.names("lane"):
                raise
        running = await self._started(command, boot, faults=False)
        self._refuses_faults = True
        return running

    async def _started(self, command: Command, boot: Boot, *, faults: bool) -> ProcessProvider:
        port = free_port()
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{len(self._booted):03d}-{boot.lane}.log"
        with log.open("wb") as output:
            try:
                process = await asyncio.create_subprocess_exec(
                    *command.line(boot, port, faults=faults),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**os.environ, **command.env},
                    cwd=command.folder,
                )
            except OSError as problem:
                raise CannotBoot(f"{command.words[0]}: {problem.strerror}") from problem
        running = ProcessProvider(process, f"{HOST}:{port}", log, takes_faults=faults)
        self._booted.append(running)
        await self._up(running, port)
        return running

    async def _up(self, running: ProcessProvider, port: int) -> None:
        end = self.clock.now() + self.boot_timeout
        while not await accepts(HOST, port):
            code = running.process.returncode
            if code is not None or self.clock.now() >= end:
                await running.kill()
                what = f"exited with {code}" if code is not None else "does not listen"
                raise CannotBoot(f"the provider {what}: {_last_words(running.log)}")
            await self.clock.sleep(POLL)

    def connect(self, running: RunningProvider, tls: "TlsFiles | None" = None) -> ProviderClient:
        return ProviderClient(running.address, tls or self.tls)

    async def hook(self, running: RunningProvider, name: str, record: MachineRecord) -> None:
        await act(name, record, self.hooks, running.address, self.tls)

    async def close(self) -> None:
        for running in self._booted:
            await running.kill()


def _last_words(log: Path) -> str:
    said = log.read_bytes()[-LAST_WORDS:].decode(errors="replace").strip()
    return said or "it said nothing"


@dataclass(slots=True)
class StandingProvider:
    """A provider that runs already; it is never stopped from here."""

    address: str
    takes_faults: bool = False

    async def kill(self) -> None:
        """Not ours to kill."""

    async def terminate(self) -> None:
        """Not ours to stop."""

    async def exit_code(self, within: float) -> int | None:
        return None

    def resident_bytes(self) -> int | None:
        return None


@dataclass(slots=True)
class TargetLauncher:
    """One address: what needs a boot or a kill is not run here."""

    address: str
    clock: Clock
    tls: "TlsFiles | None" = None
    faults: bool = False
    scale_seed: int = 8000
    hooks: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def why_no_boot(self) -> str | None:
        return "needs to start and kill the provider (--exec)"

    async def boot(self, boot: Boot) -> StandingProvider:
        host, _, port = self.address.rpartition(":")
        if not port.isdigit() or not await accepts(host.strip("[]"), int(port)):
            raise Unreachable(f"{self.address} does not accept connections")
        if boot.lane == "fault" and not (self.faults or await self._labelled()):
            raise NotServed("the target shows no fault slot, and --fault-selectors is not given")
        if boot.lane == "scale" and (size := await self._size()) < self.scale_seed:
            raise NotServed(f"scale needs {self.scale_seed} machines, the target has {size}")
        return StandingProvider(self.address, takes_faults=boot.lane == "fault")

    async def _labelled(self) -> bool:
        async with self.connect(StandingProvider(self.address)) as client:
            records, _ = await client.list()
        return any(record.labels.get("conformance.fault/create") == "error" for record in records)

    async def _size(self) -> int:
        async with self.connect(StandingProvider(self.address)) as client:
            return len((await client.list())[0])

    def connect(self, running: RunningProvider, tls: "TlsFiles | None" = None) -> ProviderClient:
        return ProviderClient(running.address, tls or self.tls)

    async def hook(self, running: RunningProvider, name: str, record: MachineRecord) -> None:
        await act(name, record, self.hooks, running.address, self.tls)

    async def close(self) -> None:
        """Nothing was started."""


LANES = ("core", "fault", "durable", "scale", "default")
KEYS = ("command", "env", "folder")


def command_of(text: str) -> Command:
    """A command line, split like a shell would, without a shell."""
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise BadInput([Problem("--exec", f"{text!r}: {problem}")]) from problem
    if not words:
        raise BadInput([Problem("--exec", "the command is empty")])
    return Command(tuple(words))


def commands_of(path: Path) -> dict[str, Command]:
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as problem:
        raise BadInput([Problem(str(path), str(problem))]) from problem
    if not isinstance(content, dict) or not content:
        raise BadInput([Problem(str(path), f"a mapping of lanes is expected: {', '.join(LANES)}")])
    problems = [
        problem
        for lane, entry in content.items()
        for problem in _problems_of(str(path), str(lane), entry)
    ]
    if problems:
        raise BadInput(problems)
    return {str(lane): _command(entry) for lane, entry in content.items()}


def _problems_of(path: str, lane: str, entry: object) -> list[Problem]:
    where = f"{path}: {lane}"
    if lane not in LANES:
        return [Problem(where, f"is not a lane; the lanes are {', '.join(LANES)}")]
    if isinstance(entry, str):
        return []
    if not isinstance(entry, dict) or "command" not in entry:
        return [Problem(where, "needs a command")]
    unknown = [key for key in entry if key not in KEYS]
    if unknown:
        return [Problem(where, f"unknown key {unknown[0]}; the keys are {', '.join(KEYS)}")]
    return []


def _command(entry: object) -> Command:
    if not isinstance(entry, dict):
        return command_of(str(entry))
    given = entry["command"]
    words = tuple(map(str, given)) if isinstance(given, list) else command_of(str(given)).words
    env = {str(key): str(value) for key, value in (entry.get("env") or {}).items()}
    folder = entry.get("folder")
    return Command(words, env, Path(folder) if folder else None)
