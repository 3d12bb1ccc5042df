"""Amazon EC2 as a BigFleet provider.

Slots come from the offerings file, hosts are instances with our tags, and the two meet in
`describe`. Nothing is remembered here between calls: what must survive is in a tag.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from bigfleet.provider import (
    BOUND,
    GONE,
    UNKNOWN,
    Backend,
    Binding,
    CapacityType,
    Created,
    Host,
    HostGone,
    HostStatus,
    Instance,
    Interruption,
    Inventory,
    MachineRecord,
    MachineState,
    OfferingKey,
    Offerings,
    OpenContext,
    Operation,
    Permanent,
    PriceBook,
    Rate,
    Retryable,
    Signal,
    SlotIndex,
)
from bigfleet_aws.clients import THREADS, clients_of
from bigfleet_aws.fakes import fake_offerings, fake_settings, make_bucket
from bigfleet_aws.host_commands import HostCommands, configure_script, drain_script, ready_script
from bigfleet_aws.instances import Ec2Instance, Instances
from bigfleet_aws.interruptions import InterruptionQueue
from bigfleet_aws.readiness import Readiness, plugged_in
from bigfleet_aws.refusals import end_of
from bigfleet_aws.settings import Ec2Config

P = ParamSpec("P")
T = TypeVar("T")

PINNED_PRICES = Path(__file__).with_name("prices.json")
SECOND = 1_000_000_000
#: What EC2 gives a spot instance after the warning.
WARNING_SECONDS = 120
RESET_SECONDS = 600


class Ec2(Backend):
    config = Ec2Config
    cfg: Ec2Config
    #: EC2's and SSM's own buckets for an account, as documented: refill a second, and size.
    limits: Mapping[str, Rate] = {
        "launch": Rate(2, burst=5),
        "change": Rate(5, burst=50),
        "read": Rate(10, burst=50),
        "command": Rate(5, burst=10),
    }

    async def open(self, ctx: OpenContext) -> None:
        self._clock = ctx.clock
        self._fake = ctx.use_fake_backend
        self._pool = ThreadPoolExecutor(THREADS, "aws")
        self._stop_fake: Callable[[], None] = lambda: None
        if self._fake:
            self.cfg, self._stop_fake = await self._blocking(fake_settings, self.cfg)
        elif not self.cfg.image:
            raise Permanent("say what hosts start from: --set image=ami-...")
        clients = await self._blocking(clients_of, self.cfg)
        if self._fake:
            await self._blocking(make_bucket, clients, self.cfg)
        self._instances = Instances(clients.ec2, ctx.provider, self.cfg)
        self._commands = HostCommands(clients.ssm, clients.s3, self.cfg)
        self._warnings = InterruptionQueue(clients.sqs, self.cfg.interruption_queue)
        self._user_data = _user_data(self.cfg.user_data)
        self._slots = SlotIndex(ctx.provider, self._offerings(ctx))
        self._book = PriceBook.seeded(self.cfg.prices or PINNED_PRICES)
        self._plugged: Readiness | None = None
        if self.cfg.readiness != "command":
            self._plugged = plugged_in(self.cfg.readiness, self.cfg)

    def _offerings(self, ctx: OpenContext) -> Offerings:
        if ctx.offerings is not None:
            return Offerings.load(ctx.offerings)
        if not self._fake:
            raise Permanent("say what may be bought: --offerings FILE")
        return Offerings.of(fake_offerings(self.cfg.region, ctx.seed_count))

    async def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._stop_fake()

    # What there is

    async def describe(self) -> Inventory:
        found = await self._blocking(self._instances.all_live)
        merged = self._slots.merge(
            found,
            machine=lambda instance: instance.machine,
            ref=lambda instance: instance.id,
            running=lambda instance: instance.running,
            node_name=lambda instance: instance.node_name,
            orphan=self._orphan,
            price=self._book.price,
            probability=self._book.risk,
        )
        clusters = {instance.id: instance.cluster for instance in found if instance.cluster}
        return Inventory([_with_binding(instance, clusters) for instance in merged])

    def _orphan(self, instance: Ec2Instance) -> Instance | None:
        """One of ours that no slot knows, or a second one of a slot: shown, so that it is ended."""
        if not instance.running:
            return None
        capacity = CapacityType.SPOT if instance.spot else CapacityType.ON_DEMAND
        offering = OfferingKey(instance.instance_type, instance.zone, capacity)
        return Instance(
            f"orphan-{instance.id}",
            *offering,
            host=_host(instance),
            price_per_hour=self._book.price(offering) or 0.0,
            interruption_probability=self._book.risk(offering) or 0.0,
            region=self.cfg.region,
        )

    async def inspect(self, machine: MachineRecord) -> HostStatus:
        instance = await self._blocking(self._instances.of_machine, machine.id)
        if instance is None and machine.host is not None:
            instance = await self._blocking(self._instances.get, machine.host.ref)
        if instance is None or not instance.live:
            # EC2 may not show yet what it launched: an unfinished Create is simply called again.
            return UNKNOWN if machine.state is MachineState.CREATING else GONE
        if not instance.running:
            return UNKNOWN
        return BOUND if instance.cluster else HostStatus.running(_host(instance))

    async def watch(self) -> AsyncIterator[Signal]:
        if not self.cfg.interruption_queue:
            await asyncio.Event().wait()
        while True:
            for instance_id in await self._blocking(self._warnings.next_warnings):
                instance = await self._blocking(self._instances.get, instance_id)
                if instance is not None and instance.machine:
                    yield Interruption(
                        instance.machine, self._clock.now() + WARNING_SECONDS * SECOND
                    )

    # What is done

    async def create(self, op: Operation) -> Created:
        if op.machine.id not in self._slots:
            raise Permanent("no offering has this slot any more")
        async with self._limit(op, "read"):
            instance = await self._blocking(self._instances.of_machine, op.machine.id)
        if instance is None:
            async with self._limit(op, "launch"):
                instance = await self._blocking(self._instances.launch, op, self._user_data)
        elif instance.cluster:
            raise Permanent(
                f"{instance.id} of this machine still serves {instance.cluster}; terminate it first"
            )
        op.note(f"{instance.id} is starting")
        return Created(_host(await self._started(op, instance)))

    async def _started(self, op: Operation, instance: Ec2Instance) -> Ec2Instance:
        while instance.starting:
            await self._clock.sleep(self.cfg.poll_seconds)
            async with self._limit(op, "read"):
                seen = await self._blocking(self._instances.get, instance.id)
            instance = seen or instance
        if instance.state != "running":
            raise end_of(instance.end_code, instance.end_text)
        return instance

    async def configure(self, op: Operation) -> None:
        key = _key(op)
        blob = await self._blocking(self._commands.put_blob, key, op.bootstrap_blob)
        told = {**_told(op), "BIGFLEET_CLUSTER": op.cluster_id}
        script = configure_script(self.cfg.configure_command, told, blob, key)
        await self._run(op, script)
        await self._blocking(self._commands.drop_blob, key)
        # Last: a host is bound once it has been told everything.
        async with self._limit(op, "change"):
            await self._blocking(self._instances.bind, op.host_ref, op.cluster_id)

    async def confirm_ready(self, op: Operation) -> None:
        if self._plugged is not None:
            await self._plugged.wait(op)
            return
        told = {**_told(op), "BIGFLEET_CLUSTER": op.cluster_id}
        while True:
            try:
                await self._run(op, ready_script(self.cfg.ready_command, told))
                return
            except Retryable as not_yet:
                op.note(f"not Ready yet: {not_yet}")
            await self._clock.sleep(self.cfg.poll_seconds)

    async def drain(self, op: Operation) -> None:
        await self._run(op, self._drain_script(op.machine, op.grace_period_seconds))
        async with self._limit(op, "change"):
            await self._blocking(self._instances.unbind, op.host_ref)

    async def delete(self, op: Operation) -> None:
        async with self._limit(op, "change"):
            await self._blocking(self._instances.terminate, op.machine.id, op.host_ref)

    async def reset(self, machine: MachineRecord) -> None:
        if machine.host is None:
            return
        await self._run_on(machine.host.ref, self._drain_script(machine, 0), RESET_SECONDS)
        await self._blocking(self._instances.unbind, machine.host.ref)

    # How it is done

    def _drain_script(self, machine: MachineRecord, grace_seconds: int) -> str:
        told = {
            "BIGFLEET_MACHINE": machine.id,
            "BIGFLEET_CLUSTER": machine.cluster,
            "BIGFLEET_GRACE_SECONDS": str(grace_seconds),
        }
        return drain_script(self.cfg.drain_command, told)

    async def _run(self, op: Operation, script: str) -> None:
        async with self._limit(op, "read"):
            instance = await self._blocking(self._instances.get, op.host_ref)
        if instance is None or not instance.live:
            raise HostGone(f"{op.host_ref} has ended")
        seconds = (op.deadline - self._clock.now()) // SECOND
        await self._run_on(op.host_ref, script, seconds, op)

    async def _run_on(
        self, host_ref: str, script: str, seconds: int, op: Operation | None = None
    ) -> None:
        comment = f"{op.kind} {op.operation_id}" if op else "reset"
        async with self._limit(op, "command"):
            command = await self._blocking(self._commands.send, host_ref, script, seconds, comment)
        while True:
            async with self._limit(op, "read"):
                if await self._blocking(self._commands.ended, command, host_ref):
                    return
            await self._clock.sleep(self.cfg.poll_seconds)

    def _limit(self, op: Operation | None, api_class: str) -> AbstractAsyncContextManager[None]:
        """The account's rates, for which a fake has no reason."""
        return nullcontext() if self._fake or op is None else op.limit(api_class)

    async def _blocking(self, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """boto3 blocks: a thread of our own pool, never the few asyncio has."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: call(*args, **named))


def _host(instance: Ec2Instance) -> Host:
    return Host(instance.id, node_name=instance.node_name)


def _with_binding(instance: Instance, clusters: Mapping[str, str]) -> Instance:
    """A fresh state file takes over hosts as they serve."""
    cluster = clusters.get(instance.host.ref) if instance.host else None
    return replace(instance, bound=Binding(cluster)) if cluster else instance


def _told(op: Operation) -> dict[str, str]:
    return {"BIGFLEET_MACHINE": op.machine.id, "BIGFLEET_OPERATION": op.operation_id}


def _key(op: Operation) -> str:
    """Names one Configure for host and bucket, also across state files that count from one."""
    parts = (op.machine.id, op.host_ref, op.operation_id, op.cluster_id)
    return hashlib.sha256("\0".join(parts).encode() + op.bootstrap_blob).hexdigest()


def _user_data(path: str) -> str:
    return Path(path).read_text() if path else ""
