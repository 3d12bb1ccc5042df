"""Instructions as calls to the API server; nothing is written without the lease.

Decided here too: what a refusal means. In a namespace that is being deleted nothing is asked for
any more, and no event is written; every other refusal is written as an event on its object.
"""

from collections.abc import Awaitable, Callable, Iterable

from bigfleet.edge.clock import Clock
from bigfleet.edge.logs import Log
from bigfleet.kube.answers import (
    AlreadyExists,
    ApiProblem,
    Conflict,
    NamespaceEnding,
    NotFound,
    Refused,
)
from bigfleet.kube.calls import Body, Calls
from bigfleet.kube.events import Events
from bigfleet.kube.kinds import CAPACITY_REQUESTS
from bigfleet.kube.leases import Election
from bigfleet.kube.objects import CapacityRequest, Reference
from bigfleet.podwatch.book import Book
from bigfleet.podwatch.driving.workers import NotLeading
from bigfleet.podwatch.pod_reconciler import (
    Create,
    Delete,
    Instruction,
    Patch,
    Release,
    TakeOver,
    Withdraw,
)
from bigfleet.podwatch.records import OwnRequest

#: Whether the server itself says that the owner of a request is gone.
IsGone = Callable[[OwnRequest], Awaitable[bool]]


class RequestWriter:
    def __init__(
        self,
        calls: Calls,
        book: Book,
        election: Election,
        clock: Clock,
        log: Log,
        events: Events,
    ) -> None:
        self._calls = calls
        self._book = book
        self._election = election
        self._clock = clock
        self._log = log
        self._events = events

    async def carry_out(
        self,
        about: Reference | None,
        instructions: Iterable[Instruction],
        is_gone: IsGone,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Whether all was done; not where the namespace ends, nor once `goes_on` says no.

        `about`: the owner, if it is there. Raises ApiProblem, or NotLeading before a write.
        """
        try:
            for instruction in instructions:
                if not goes_on():
                    return False
                await self._carry_out(instruction, is_gone)
        except NamespaceEnding as problem:
            self._log.debug("namespace.ending", msg=str(problem))
            return False
        except Refused as problem:
            if about is not None:
                text = f"the API server refuses the CapacityRequest for it: {problem}"
                self._events.tell(about, "Warning", "CapacityRequestRefused", text)
            raise
        return True

    async def _carry_out(self, instruction: Instruction, is_gone: IsGone) -> None:
        match instruction:
            case Create():
                await self._create(instruction)
            case TakeOver():
                await self._take_over(instruction)
            case Patch(request, patch):
                await self._patch(request, patch)
            case Delete(request) | Release(request):
                await self.delete(request)
            case Withdraw(request):
                if await is_gone(request):
                    await self.delete(request)

    def must_lead(self) -> None:
        if not self._election.holding:
            raise NotLeading

    async def _create(self, create: Create) -> None:
        """Asked twice it makes one object: the name is the owner's own."""
        owner, key = create.owner.uid, create.key
        self.must_lead()
        self._book.expect(owner, key, self._clock.now())
        try:
            await self._calls.create(CAPACITY_REQUESTS, create.body(), key.namespace)
        except AlreadyExists:
            await self._exists(create)
        except ApiProblem:
            # If it was made all the same, the next attempt finds it by its name.
            self._book.shown(owner, key)
            raise

    async def _exists(self, create: Create) -> None:
        """Ours, and the cache is late; or two owners' digests are the same, once in 10^12."""
        owner, key = create.owner.uid, create.key
        try:
            there = await self._calls.get(CAPACITY_REQUESTS, key.name, key.namespace)
        except ApiProblem:
            self._book.shown(owner, key)
            raise
        meta = there.metadata
        if meta.labels.get(create.label) == owner:
            return
        if any(each.uid == owner for each in meta.owner_references):
            # Its label, by which the cache knows it, was removed by hand.
            label = {"metadata": {"labels": {create.label: owner}}}
            self.must_lead()
            await self._calls.merge_patch(CAPACITY_REQUESTS, key.name, label, key.namespace)
            return
        self._book.shown(owner, key)
        self.must_lead()
        body = create.body(named=False)
        made: CapacityRequest = await self._calls.create(CAPACITY_REQUESTS, body, key.namespace)
        self._book.expect(owner, made.metadata.key, self._clock.now())

    async def _take_over(self, step: TakeOver) -> None:
        """The share of a booking becomes a pod's; raises Conflict where it changed meanwhile."""
        request, owner, key = step.request, step.create.owner.uid, step.request.key
        self.must_lead()
        at = self._clock.now()
        self._book.expect(owner, key, at)
        self._book.bookings.taken(request, owner, at)
        try:
            await self._calls.merge_patch(CAPACITY_REQUESTS, key.name, step.patch(), key.namespace)
        except ApiProblem:
            # If it was done all the same, the cache will show it.
            self._book.shown(owner, key)
            self._book.bookings.shown(key)
            raise

    async def _patch(self, request: OwnRequest, patch: Body) -> None:
        self.must_lead()
        namespace, name = request.key
        try:
            await self._calls.merge_patch(CAPACITY_REQUESTS, name, patch, namespace)
        except NotFound:
            return

    async def delete(self, request: OwnRequest) -> None:
        self.must_lead()
        namespace, name = request.key
        try:
            await self._calls.delete(CAPACITY_REQUESTS, name, namespace, uid=request.uid)
        except (NotFound, Conflict):
            # It was deleted already; another object of that name is another matter.
            return
