"""Plays the kubelets of one cluster: machines that a provider has bound to it become its Nodes.

It asks the provider itself, as a machine's own boot would act on the provider's word, and knows
nothing of shards and operators. A Node comes with its machine and goes when the machine is no
longer bound here; pods bound to a Node run at once, and a pod that shall end has ended at once.
One watch on pods serves all Nodes, so its cost follows what happens and not how much there is.
"""

import asyncio
import contextlib
import datetime
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import count

from bigfleet.edge.clock import SECOND
from bigfleet.edge.driver import RealClock
from bigfleet.model.machines import MachineState
from bigfleet.model.provider_calls import ListCall, MachineRecord, Rejected
from bigfleet.wire.lines import TlsFiles
from bigfleet.wire.provider_client import ProviderClient
from tests.e2e.rig.api import APPLY, STRATEGIC, ApiUnreachable, KubeApi, Object, Refused
from tests.e2e.rig.nodes import (
    LEASES,
    Naming,
    address_of,
    conditions_at,
    lease_of,
    named_by_host,
    node_of,
    running_status,
)

#: In these a kubelet that has joined goes on; it joins in CONFIGURED.
_BOUND = (MachineState.CONFIGURING, MachineState.CONFIGURED, MachineState.DRAINING)
_NODES = "/api/v1/nodes"
_PODS = "/api/v1/pods"
_HEARTBEAT_SECONDS = 10.0
_PAUSE_SECONDS = 0.2
MOST_AT_ONCE = 16
#: Gone, raced, expired, throttled: normal answers; the caller tries again.
_PASSING = (404, 409, 410, 429)
#: What a server says, with a 403, until its admission has filled its caches.
_NOT_READY = "not yet ready to handle request"
_ENDED = ("Succeeded", "Failed")


class NodeActor:
    def __init__(
        self,
        api: KubeApi,
        cluster: str,
        providers: Iterable[str],
        naming: Naming = named_by_host,
        tells_machine_id: bool = False,
        tls: TlsFiles | None = None,
    ) -> None:
        self._api = api
        self._cluster = cluster
        self._providers = [ProviderClient(address, tls) for address in providers]
        self._naming = naming
        self._tells_machine_id = tells_machine_id
        self._clock = RealClock()
        #: Node name -> its machine; all and only Nodes that this actor made and did not remove.
        self.machines: dict[str, MachineRecord] = {}
        #: Names of Nodes that went, or are going, with their machines.
        self._gone: set[str] = set()
        #: (namespace, name) -> newest sight of every pod that has a node.
        self._pods: dict[tuple[str, str], Object] = {}
        self._due: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._addresses = count(2)
        #: Uids of pods started here: told to run once, however often they are seen before they do.
        self._started: set[str] = set()
        #: What last went wrong on a line, for the reader of a failure.
        self.troubles: deque[str] = deque(maxlen=20)
        #: Machines (by id) whose kubelet never joins.
        self.broken: set[str] = set()
        #: Pods (by name) that do not end when told to, as a process that ignores SIGTERM.
        self.lingering: set[str] = set()

    def node_of(self, machine_id: str) -> str | None:
        """The name of its Node, if it has one."""
        return next((n for n, machine in self.machines.items() if machine.id == machine_id), None)

    async def run(self) -> None:
        """Until cancelled; any other end is a failure of the rig."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._again(self._follow_machines))
                tasks.create_task(self._again(self._follow_pods))
                tasks.create_task(self._again(self._beat))
                for _ in range(MOST_AT_ONCE):
                    tasks.create_task(self._serve_pods())
        finally:
            for provider in self._providers:
                await provider.close()

    async def _again(self, work: Callable[[], Awaitable[None]]) -> None:
        """What lies behind a line that breaks is done again."""
        while True:
            await self._tried(work())
            await self._clock.sleep(_PAUSE_SECONDS)

    async def _tried(self, work: Awaitable[None]) -> bool:
        """Whether it went well; a fault that no patience mends ends the actor, and the test."""
        try:
            await work
        except Refused as refused:
            passes = refused.status in _PASSING or refused.status >= 500
            if not passes and _NOT_READY not in refused.text:
                raise
            self.troubles.append(str(refused))
            return False
        except (ApiUnreachable, Rejected) as trouble:
            self.troubles.append(repr(trouble))
            return False
        return True

    # -- nodes ------------------------------------------------------------------------------------

    async def _follow_machines(self) -> None:
        bound = await self._bound()
        wanted = {self._naming(machine): machine for machine in bound.values()}
        joining = [
            self._join(name, machine)
            for name, machine in wanted.items()
            if (name not in self.machines or name in self._gone)
            and machine.state is MachineState.CONFIGURED
            and machine.id not in self.broken
        ]
        leaving = [self._leave(name) for name in self.machines.keys() - wanted.keys()]
        await together([*joining, *leaving])

    async def _bound(self) -> dict[str, MachineRecord]:
        found: dict[str, MachineRecord] = {}
        for provider in self._providers:
            records, _ = await provider.list(ListCall(states=_BOUND))
            found |= {record.id: record for record in records if record.cluster == self._cluster}
        return found

    async def _join(self, name: str, machine: MachineRecord) -> None:
        node = node_of(machine, name, self._cluster, self._now(), self._tells_machine_id)
        try:
            await self._api.create(_NODES, node)
        except Refused as refused:
            # Its answer was lost, or an earlier actor made it: a kubelet takes over its Node.
            if refused.status != 409:
                raise
            status = {"status": {"conditions": conditions_at(self._now())}}
            await self._api.patch(f"{_NODES}/{name}/status", status, STRATEGIC)
        self.machines[name] = machine
        self._gone.discard(name)
        for key, pod in self._pods.items():
            if pod["spec"].get("nodeName") == name:
                self._due.put_nowait(key)

    async def _leave(self, name: str) -> None:
        """The machine is gone, and everything that ran on it; again where a line broke."""
        self._gone.add(name)
        await self._api.delete(f"{_NODES}/{name}")
        await self._api.delete(f"{LEASES}/{name}")
        ended = [k for k, pod in self._pods.items() if pod["spec"].get("nodeName") == name]
        await together([self._end(key) for key in ended])
        del self.machines[name]

    async def _beat(self) -> None:
        await together([self._renew(name) for name in list(self.machines)])
        await self._clock.sleep(_HEARTBEAT_SECONDS)

    async def _renew(self, name: str) -> None:
        lease = lease_of(name, self._now())
        query = {"fieldManager": "kubelet", "force": "true"}
        await self._api.patch(f"{LEASES}/{name}", lease, APPLY, **query)

    # -- pods -------------------------------------------------------------------------------------

    async def _follow_pods(self) -> None:
        found = await self._api.get(_PODS, fieldSelector="spec.nodeName!=")
        self._pods = {_key(pod): pod for pod in found["items"]}
        for key in self._pods:
            self._due.put_nowait(key)
        version = found["metadata"]["resourceVersion"]
        events = self._api.watch(_PODS, version, fieldSelector="spec.nodeName!=")
        async with contextlib.aclosing(events):
            async for event in events:
                match event["type"]:
                    case "ADDED" | "MODIFIED":
                        self._pods[_key(event["object"])] = event["object"]
                        self._due.put_nowait(_key(event["object"]))
                    case "DELETED":
                        self._pods.pop(_key(event["object"]), None)
                        self._started.discard(event["object"]["metadata"]["uid"])
                    case "ERROR":
                        return

    async def _serve_pods(self) -> None:
        while True:
            key = await self._due.get()
            if not await self._tried(self._serve(key)):
                # Not lost, but not at once.
                self._clock.call_later(_PAUSE_SECONDS, partial(self._due.put_nowait, key))

    async def _serve(self, key: tuple[str, str]) -> None:
        pod = self._pods.get(key)
        if pod is None:
            return
        node = pod["spec"].get("nodeName")
        if node in self._gone:
            # Bound by a scheduler that had not heard yet: no other part ends it for a minute.
            await self._end(key)
        elif node not in self.machines:
            return
        elif "deletionTimestamp" in pod["metadata"]:
            if key[1] not in self.lingering:
                await self._end(key)
        elif pod.get("status", {}).get("phase") not in ("Running", *_ENDED):
            await self._start(key, pod)

    async def _start(self, key: tuple[str, str], pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if uid in self._started:
            return
        self._started.add(uid)
        status = running_status(pod, self._now(), address_of(next(self._addresses)))
        try:
            body = {"metadata": {"uid": uid}, "status": status}
            await self._api.patch(f"{_path(key)}/status", body, STRATEGIC)
        except (ApiUnreachable, Refused):
            # Perhaps done: told again, and the same pod may then run at another address. One that
            # is gone, or gone and made again, is tried until the watch tells.
            self._started.discard(uid)
            raise

    async def _end(self, key: tuple[str, str]) -> None:
        pod = self._pods.get(key)
        if pod is None:
            return
        only = {"uid": pod["metadata"]["uid"]}
        try:
            await self._api.delete(_path(key), gracePeriodSeconds=0, preconditions=only)
        except Refused as refused:
            if refused.status != 409:
                raise

    def _now(self) -> str:
        """To the microsecond, neither more nor less: a Lease refuses anything else."""
        at = datetime.datetime.fromtimestamp(self._clock.now() / SECOND, datetime.UTC)
        return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _key(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _path(key: tuple[str, str]) -> str:
    return f"/api/v1/namespaces/{key[0]}/pods/{key[1]}"


async def together(work: Sequence[Coroutine[object, object, None]]) -> None:
    """As many at a time as a polite client has in flight."""
    turn = asyncio.Semaphore(MOST_AT_ONCE)

    async def one(each: Coroutine[object, object, None]) -> None:
        async with turn:
            await each

    try:
        results = await asyncio.gather(*(one(each) for each in work), return_exceptions=True)
    finally:
        # Cut off, some never had their turn: warnings of them would fail the next test.
        for each in work:
            each.close()
    for result in results:
        if isinstance(result, BaseException):
            raise result


@asynccontextmanager
async def acting(
    api: KubeApi,
    cluster: str,
    *providers: str,
    naming: Naming = named_by_host,
    tells_machine_id: bool = False,
    tls: TlsFiles | None = None,
) -> AsyncIterator[NodeActor]:
    """An actor at work; what it made stays when it goes, as Nodes do."""
    actor = NodeActor(api, cluster, providers, naming, tells_machine_id, tls)
    task = asyncio.create_task(actor.run())
    try:
        yield actor
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
