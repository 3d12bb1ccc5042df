"""For authors' tests: a substrate in memory, faults by plan, the suite, and a hand-moved clock.

FaultyBackend is an author's Backend whose calls go wrong by plan. The most telling fault is LOST:
the substrate did it, and the server got no answer. A Backend that cannot find its own object by the
operation id or a tag then makes a second one.

assert_backend runs the conformance suite against an author's Backend in this process. The suite
speaks to it over the wire and knows nothing of it, so it runs as the command it is, in a process of
its own.
"""

import asyncio
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from bigfleet.edge.clock import ManualClock, settle
from bigfleet.model.machines import CapacityType
from bigfleet.model.provider_calls import MachineRecord
from bigfleet.provider.backend import (
    BOUND,
    GONE,
    Backend,
    Created,
    Host,
    HostStatus,
    Instance,
    Inventory,
    OpenContext,
    Operation,
    Retryable,
    Signal,
)
from bigfleet.provider.calls import called
from bigfleet.provider.ledger.transitions import Kind
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.server import ProviderServer

#: What a Backend may have beside the required methods; it has here what it has there.
_OPTIONAL = ("confirm_ready", "delete", "inspect", "reset")
_AS_IT_IS = ("watch", "prices", "admit", "make_clock", "tuned", "extension")


class Fault(StrEnum):
    #: Fails before anything is done.
    REFUSED = "refused"
    #: Done, but the answer is lost.
    LOST = "lost"
    #: Does not come back until it is cancelled.
    HANGS = "hangs"


#: (method, how often it was called before) -> what goes wrong; None: nothing.
Plan = Callable[[str, int], Fault | None]


def every(number: int, fault: Fault, *methods: str) -> Plan:
    """Every `number`-th call of these methods, of any where none is named."""

    def plan(method: str, before: int) -> Fault | None:
        return fault if (not methods or method in methods) and before % number == 0 else None

    return plan


class FaultyBackend(Backend):
    """An author's own Backend whose calls go wrong: the sim only makes its own substrate fail."""

    def __init__(self, inner: Backend, plan: Plan) -> None:
        self._inner = inner
        self._plan = plan
        self._calls: Counter[str] = Counter()
        #: How often each fault happened.
        self.faults: Counter[Fault] = Counter()
        self.config = type(inner).config  # type: ignore[misc]
        self.limits = inner.limits
        for flag in ("configure_implies_ready", "allow_any_id", "fake"):
            setattr(self, flag, getattr(inner, flag))
        if hasattr(inner, "cfg"):
            self.cfg = inner.cfg
        for name in _OPTIONAL:
            if getattr(inner, name, None) is not None:
                setattr(self, name, self._faulty(name))
        for name in _AS_IT_IS:
            if getattr(inner, name, None) is not None:
                setattr(self, name, getattr(inner, name))

    async def open(self, ctx: Any) -> None:
        self._inner.cfg = self.cfg
        await called(self._inner.open, ctx)

    async def close(self) -> None:
        await called(self._inner.close)

    async def describe(self) -> Inventory:
        found: Inventory = await self._faulty("describe")()
        return found

    async def create(self, op: Operation) -> Created:
        made: Created = await self._faulty("create")(op)
        return made

    async def configure(self, op: Operation) -> None:
        await self._faulty("configure")(op)

    async def drain(self, op: Operation) -> None:
        await self._faulty("drain")(op)

    def _faulty(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def faulty(*arguments: Any) -> Any:
            fault = self._plan(name, self._calls[name])
            self._calls[name] += 1
            if fault is not None:
                self.faults[fault] += 1
            if fault is Fault.REFUSED:
                raise Retryable(f"{name} was refused on purpose")
            if fault is Fault.HANGS:
                await asyncio.get_running_loop().create_future()
            result = await called(getattr(self._inner, name), *arguments)
            if fault is Fault.LOST:
                raise Retryable(f"the answer of {name} was lost on purpose")
            return result

        return faulty


#: Broker and rows need no more where Delete gives slots back.
SLOTS = 256
_INCOMPLETE = 5
_SUITE = "from bigfleet.cli.main import main; main()"


def assert_backend(
    backend: Callable[[], Backend],
    profile: str = "core",
    *,
    options: ProviderOptions | None = None,
    only: str = "",
    seed_count: int = SLOTS,
) -> None:
    """Raises AssertionError with every row that failed; `backend` is its class, or makes one.

    Limits of the substrate's API are lifted, as there is no substrate to protect.
    """
    asyncio.run(_asserted(backend(), profile, options or ProviderOptions(), only, seed_count))


async def _asserted(
    backend: Backend, profile: str, options: ProviderOptions, only: str, seed_count: int
) -> None:
    server = ProviderServer(
        backend,
        options=replace(options, address="127.0.0.1:0", limits=options.limits or {}),
        seed_count=seed_count,
        use_fake_backend=True,
    )
    port = await server.start()
    try:
        with tempfile.TemporaryDirectory(prefix="bigfleet-certify-") as folder:
            arguments = ["--target", f"127.0.0.1:{port}", "--profile", profile, "--out", folder]
            if only:
                arguments += ["--only", only]
            code, said = await _suite(arguments)
            if why := _why(Path(folder), code, said):
                raise AssertionError(f"{type(backend).__name__} {why}")
    finally:
        await server.stop(0.0)


async def _suite(arguments: list[str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _SUITE, "conformance"),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, said.decode(errors="replace")


def _why(folder: Path, code: int, said: str) -> str:
    """What stands against it, empty where nothing does; only selected rows count."""
    report = folder / "report.json"
    if not report.exists():
        return f"could not be judged: {said[-2000:]}"
    document = orjson.loads(report.read_bytes())
    lines = [
        f"{row['id']} {row['status']}: {row.get('reason') or row['title']}"
        for row in document["behaviors"]
        if row["status"] in ("failed", "not_implemented") and row.get("reason") != "not selected"
    ]
    if not lines and code in (0, _INCOMPLETE):
        return ""
    return "\n  ".join([f"is {document['verdict']} for {document['profiles']}:", *lines])


__all__ = [
    "FakeHost",
    "FakeSubstrate",
    "Fault",
    "FaultyBackend",
    "ManualClock",
    "assert_backend",
    "every",
    "settle",
    "slots",
]


def slots(count: int, prefix: str = "m", **fields: object) -> list[Instance]:
    """On-demand slots `m-0`, `m-1` ... of one small type."""
    model = Instance(
        id="",
        instance_type="std-2",
        zone="z1",
        capacity_type=CapacityType.ON_DEMAND,
        price_per_hour=0.1,
        interruption_probability=0.05,
        resources={"cpu": "2", "memory": "8Gi"},
        allocatable={"cpu": "1500m", "memory": "7Gi"},
        region="r1",
    )
    model = replace(model, **fields)  # type: ignore[arg-type]
    return [replace(model, id=f"{prefix}-{number}") for number in range(count)]


@dataclass(slots=True)
class FakeHost:
    ref: str
    cluster: str = ""
    ready: bool = True


class FakeSubstrate(Backend):
    """Does everything at once; calls can be held, failed, and looked back at.

    The sim is a whole cloud with prices, latencies and chance; this one does nothing by itself, so
    that a test says everything that happens.
    """

    fake = True

    def __init__(self, instances: Iterable[Instance] = (), *, remember: bool = True) -> None:
        """`remember`: keep every operation that arrives in `seen`."""
        self._remember = remember
        self.instances = {instance.id: instance for instance in instances}
        self.hosts: dict[str, FakeHost] = {}
        for instance in self.instances.values():
            if instance.host is not None:
                bound = instance.bound.cluster if instance.bound else ""
                self.hosts[instance.id] = FakeHost(instance.host.ref, bound)
        #: Every operation that arrived, in order.
        self.seen: list[Operation] = []
        #: Raised, in order, by the next calls of a kind.
        self.errors: dict[Kind, list[Exception]] = defaultdict(list)
        #: Kinds that wait until `release`.
        self._held: dict[Kind, asyncio.Event] = {}
        self.complete = True
        #: Raised by describe while set.
        self.describe_error: Exception | None = None
        self.signals: asyncio.Queue[Signal] = asyncio.Queue()

    async def open(self, ctx: OpenContext) -> None:
        if not self.instances:
            spot = {"capacity_type": CapacityType.SPOT, "interruption_probability": 0.05}
            third = ctx.seed_count // 3
            made = [*slots(ctx.seed_count - third), *slots(third, "spot", **spot)]
            self.instances = {instance.id: instance for instance in made}

    def hold(self, *kinds: Kind) -> None:
        for kind in kinds:
            self._held[kind] = asyncio.Event()

    def release(self, *kinds: Kind) -> None:
        for kind in kinds or tuple(self._held):
            self._held.pop(kind).set()

    def fail_next(self, kind: Kind, *errors: Exception) -> None:
        self.errors[kind].extend(errors)

    def vanish(self, machine_id: str) -> None:
        """The host ends without a word."""
        del self.hosts[machine_id]

    async def _arrive(self, op: Operation) -> None:
        if self._remember:
            self.seen.append(op)
        if held := self._held.get(op.kind):
            await held.wait()
        if self.errors[op.kind]:
            raise self.errors[op.kind].pop(0)

    async def describe(self) -> Inventory:
        if self.describe_error is not None:
            raise self.describe_error
        found = [
            replace(instance, host=self._host(instance.id)) for instance in self.instances.values()
        ]
        return Inventory(found, self.complete)

    def _host(self, machine_id: str) -> Host | None:
        host = self.hosts.get(machine_id)
        return Host(host.ref, node_name=f"node-{machine_id}") if host else None

    async def create(self, op: Operation) -> Created:
        await self._arrive(op)
        host = self.hosts.setdefault(op.machine.id, FakeHost(f"h-{op.operation_id}"))
        return Created(Host(host.ref, node_name=f"node-{op.machine.id}"))

    async def configure(self, op: Operation) -> None:
        await self._arrive(op)
        self.hosts[op.machine.id].cluster = op.cluster_id

    async def confirm_ready(self, op: Operation) -> None:
        while not self.hosts[op.machine.id].ready:
            await asyncio.get_running_loop().create_future()

    async def drain(self, op: Operation) -> None:
        await self._arrive(op)
        self.hosts[op.machine.id].cluster = ""

    async def delete(self, op: Operation) -> None:
        await self._arrive(op)
        self.hosts.pop(op.machine.id, None)

    async def inspect(self, machine: MachineRecord) -> HostStatus:
        host = self.hosts.get(machine.id)
        if host is None:
            return GONE
        return BOUND if host.cluster else HostStatus.running(Host(host.ref))

    async def watch(self) -> AsyncIterator[Signal]:
        while True:
            yield await self.signals.get()
