"""Looks at ProvisioningRequests, where the cluster has them: asks the shard, writes status, books.

What a request says of itself is written before what follows from it is done: a replica that takes
over reads the conditions and goes on. A booking is confirmed only once all its shares are there.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bigfleet.edge.clock import SECOND
from bigfleet.kube.answers import NotFound
from bigfleet.kube.api import Api
from bigfleet.kube.buffers import POD_TEMPLATES
from bigfleet.kube.events import EventType
from bigfleet.kube.objects import ObjectKey, Reference
from bigfleet.kube.provisioning_requests import (
    ACCEPTED,
    ATOMIC_SCALE_UP,
    CHECK_CAPACITY,
    PROVISIONED,
    PROVISIONING_REQUESTS,
    ProvisioningRequest,
)
from bigfleet.model.instants import instant_of, instant_text
from bigfleet.podwatch.book import COLLECTION_SECONDS
from bigfleet.podwatch.bookings import Booking, ConsumingPod
from bigfleet.podwatch.buffers import BufferRefusal
from bigfleet.podwatch.capacity_questions import CapacityQuestions, Verdict, beside_others
from bigfleet.podwatch.driving.buffers import priority_of
from bigfleet.podwatch.driving.defaults import DefaultsFile
from bigfleet.podwatch.driving.optional_kind import KindNames, OptionalKind
from bigfleet.podwatch.driving.pods import PodKeeping, PodwatchContext
from bigfleet.podwatch.driving.workers import Workers
from bigfleet.podwatch.pod_reconciler import Create, Delete, Instruction, Owner
from bigfleet.podwatch.provisioning_requests import (
    DEFAULT_VALID_SECONDS,
    BookingPlan,
    BookingRefusal,
    FoundTemplate,
    clamped_text,
    instructions_for,
    is_whole,
    left_to_book,
    needs_of,
    plan_of,
    valid_seconds,
    why_refused,
)
from bigfleet.podwatch.provisioning_status import Phase, standing_of, status_patch
from bigfleet.podwatch.provisioning_steps import ProvisioningSteps, Question, RequestView, Step
from bigfleet.podwatch.records import DemandSource, OwnRequest

WORKERS = 4
#: Of one look: a question and its status, then what follows from it, and once more.
_MOST_STEPS = 6
_CLASSES = (CHECK_CAPACITY, ATOMIC_SCALE_UP)
#: Classes of others that were told of; there are a handful in the world.
_MOST_TOLD = 100

Plan = BookingPlan | BookingRefusal


@dataclass(frozen=True, slots=True)
class ProvisioningOptions:
    #: auto, true or false.
    mode: str
    cluster: str


@dataclass(frozen=True, slots=True)
class _Booked:
    """What there is of a booking."""

    have: tuple[OwnRequest, ...]
    consuming: tuple[ConsumingPod, ...]
    left: tuple[int, ...]
    is_made: bool = False
    is_acknowledged: bool = False


class ProvisioningKeeping:
    def __init__(
        self,
        context: PodwatchContext,
        api: Api,
        options: ProvisioningOptions,
        defaults: DefaultsFile,
        pods: PodKeeping,
        questions: CapacityQuestions,
    ) -> None:
        self._context = context
        self._options = options
        self._defaults = defaults
        self._pods = pods
        self._questions = questions
        self._requests: dict[str, ProvisioningRequest] = {}
        #: Of requests that have a booking, or were granted one: their spec never changes, and
        #: their templates are read once.
        self._plans: dict[str, BookingPlan] = {}
        self._steps = ProvisioningSteps()
        #: One question at a time: the next one counts what this one is granted.
        self._asking = asyncio.Lock()
        self._told_classes: set[str] = set()
        self._watch = OptionalKind(
            KindNames("provisioning_requests", "ProvisioningRequests"),
            (PROVISIONING_REQUESTS,),
            options.mode,
            api,
            context.clock,
            context.draw,
            context.log,
            self._narrowed,
            self._changed,
            self._switched,
        )
        self.working: Workers[str] = Workers(
            "provisioningrequest",
            self._look,
            lambda: {*self._requests, *context.book.owners(DemandSource.PROVISIONING_REQUEST)},
            context.clock,
            context.draw,
            context.log,
        )

    def __len__(self) -> int:
        return len(self._requests)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.working.run(WORKERS))
            group.create_task(self._watch.run())

    def sizes(self) -> dict[str, int]:
        return {
            "provisioningRequests": len(self._requests),
            "provisioningRequestsPlanned": len(self._plans),
            "provisioningRequestsRemembered": len(self._steps),
            "provisioningRequestsQueued": len(self.working),
        }

    # -- which there are -------------------------------------------------------------------------

    def _narrowed(self, request: ProvisioningRequest) -> ProvisioningRequest | None:
        if request.metadata.namespace in self._context.policy.excluded_namespaces:
            return None
        name = request.spec.provisioning_class_name
        if name in _CLASSES:
            return request
        if name not in self._told_classes and len(self._told_classes) < _MOST_TOLD:
            self._told_classes.add(name)
            text = f"ProvisioningRequests of class {name!r} are left to others; ours are {_CLASSES}"
            self._context.log.info("provisioning_requests.class", msg=text)
        return None

    def _changed(
        self,
        key: ObjectKey,
        before: ProvisioningRequest | None,
        after: ProvisioningRequest | None,
    ) -> None:
        for request in (before, after):
            if request is not None:
                self._requests.pop(request.metadata.uid, None)
                self.working.offer(request.metadata.uid)
        if after is not None:
            self._requests[after.metadata.uid] = after
        if before is not None and (after is None or after.metadata.uid != before.metadata.uid):
            self._forget(before.metadata.uid)
        self._show(key, after)

    def _switched(self) -> None:
        for uid, request in list(self._requests.items()):
            self._forget(uid)
            self._show(request.metadata.key, None)
        self._requests.clear()
        self.working.offer_everything()

    def _forget(self, uid: str) -> None:
        self._plans.pop(uid, None)
        self._steps.forget(uid)

    def _show(self, key: ObjectKey, request: ProvisioningRequest | None) -> None:
        """Pods see the booking as it is now; what is left of one that is gone is its own matter."""
        booking = None
        if request is not None:
            uid, name = request.metadata.uid, request.spec.provisioning_class_name
            phase = standing_of(request.status.conditions).phase
            is_open = phase in (Phase.REQUESTED, Phase.BOOKED) and not _is_leaving(request)
            whole = False
            if is_open and (plan := self._plans.get(uid)) is not None:
                whole = self._booked(request, plan).is_made
            booking = Booking(uid, name, is_open, whole)
        for uid in self._context.book.bookings.booking_changed(key, booking):
            self._pods.working.offer(uid)

    # -- looking at one --------------------------------------------------------------------------

    async def _look(self, uid: str) -> None:
        request = self._requests.get(uid)
        if request is None or _is_leaving(request):
            await self._withdraw(uid)
            return
        self._context.book.not_missed(uid)
        plan: Plan | None = self._plans.get(uid)
        step = Step()
        for _ in range(_MOST_STEPS):
            request = self._requests.get(uid)
            if request is None or _is_leaving(request):
                self.working.offer(uid)
                return
            phase = standing_of(request.status.conditions).phase
            if plan is None and phase is not Phase.OVER:
                plan = await self._planned(request)
            step = self._steps.next(self._view(request, plan), self._context.clock.now())
            if step.question is not None:
                await self._ask(request, plan, step.question)
                continue
            if await self._say(request, step):
                continue
            if not await self._make_so(request, plan, step):
                self.working.offer(uid)
                return
            break
        if step.again_at is not None:
            self.working.offer_at(uid, step.again_at)

    def _view(self, request: ProvisioningRequest, plan: Plan | None) -> RequestView:
        meta, spec = request.metadata, request.spec
        valid = valid_seconds(spec.parameters)
        created = instant_of(meta.creation_timestamp or "")
        standing = standing_of(request.status.conditions)
        booked = self._booked(request, plan if isinstance(plan, BookingPlan) else None)
        return RequestView(
            meta.uid,
            spec.provisioning_class_name,
            created if created is not None else self._context.clock.now(),
            valid if isinstance(valid, int) else DEFAULT_VALID_SECONDS,
            standing,
            plan,
            booked.is_made,
            booked.is_acknowledged,
            sum(booked.left),
            clamped_text(spec.parameters),
        )

    def _booked(self, request: ProvisioningRequest, plan: BookingPlan | None) -> _Booked:
        book, at, meta = self._context.book, self._context.clock.now(), request.metadata
        have = book.booked(meta.uid, at)
        consuming = tuple(book.consuming(meta.key, at))
        if plan is None:
            return _Booked(have, consuming, ())
        left = tuple(left_to_book(plan, consuming))
        made = is_whole(plan, left, have, acknowledged=False)
        heard = made and is_whole(plan, left, have, acknowledged=True)
        return _Booked(have, consuming, left, made, heard)

    async def _planned(self, request: ProvisioningRequest) -> Plan:
        """Raises ApiProblem where the server does not say; what is not there is a refusal."""
        refusal = why_refused(request.spec)
        if refusal is not None:
            return refusal
        context, namespace = self._context, request.metadata.namespace
        found: list[FoundTemplate] = []
        for place, pod_set in enumerate(request.spec.pod_sets):
            name = pod_set.pod_template_ref.name
            try:
                there = await context.calls.get(POD_TEMPLATES, name, namespace)
            except NotFound:
                text = f"podSets[{place}]: there is no PodTemplate {name} in {namespace}"
                return BookingRefusal("PodTemplateNotFound", text, is_final=False)
            priority = await priority_of(context.calls, there.template)
            if isinstance(priority, BufferRefusal):
                text = f"podSets[{place}]: {priority.text}"
                return BookingRefusal(priority.reason, text, is_final=False)
            found.append(FoundTemplate(there.template, priority))
        taints = context.policy.taints
        return plan_of(request.spec, found, namespace, self._defaults.current, taints)

    async def _ask(
        self, request: ProvisioningRequest, plan: Plan | None, question: Question
    ) -> None:
        assert isinstance(plan, BookingPlan)
        self._context.writing.must_lead()
        uid, cluster = request.metadata.uid, self._options.cluster
        if question is Question.ARE_THERE:
            left = self._booked(request, plan).left
            needs = needs_of(cluster, plan, [count > 0 for count in left])
            answer = await self._questions.are_there([each.key for each in needs])
            self._steps.answered(uid, question, answer, self._context.clock.now())
            return
        async with self._asking:
            others = self._granted_beside(uid)
            beside = [need for other in others for need in needs_of(cluster, other)]
            answer = await self._questions.would_be_covered(needs_of(cluster, plan), beside)
            answer = beside_others(answer, len(others))
            self._steps.answered(uid, question, answer, self._context.clock.now())
            if answer.verdict is Verdict.YES and uid in self._requests:
                self._plans[uid] = plan

    def _granted_beside(self, uid: str) -> list[BookingPlan]:
        """What others were granted, and the shard may not know yet."""
        unheard = (each for each in self._requests if each != uid and self._steps.is_unheard(each))
        return [plan for each in unheard if (plan := self._plans.get(each)) is not None]

    async def _say(self, request: ProvisioningRequest, step: Step) -> bool:
        """Whether its status was written: it is another one now."""
        context, meta = self._context, request.metadata
        now = context.clock.now()
        patch = status_patch(request, step.conditions, instant_text(now - now % SECOND))
        if patch is None:
            return False
        context.writing.must_lead()
        try:
            after = await context.calls.merge_patch(
                PROVISIONING_REQUESTS, meta.name, patch, meta.namespace, subresource="status"
            )
        except NotFound:
            return True
        if meta.uid in self._requests and after.metadata.uid == meta.uid:
            self._requests[meta.uid] = after
            self._show(meta.key, after)
        for each in step.conditions:
            is_good = each.type in (ACCEPTED, PROVISIONED)
            if each.holds or each.type == ACCEPTED:
                told: EventType = "Normal" if is_good and each.holds else "Warning"
                context.events.tell(_reference(request), told, each.reason, each.text)
        return True

    async def _make_so(self, request: ProvisioningRequest, plan: Plan | None, step: Step) -> bool:
        """False: something changed meanwhile, so it is to be looked at anew."""
        if step.books is None:
            return True
        context, meta = self._context, request.metadata
        wanted = plan if step.books and isinstance(plan, BookingPlan) else None
        if wanted is not None:
            self._plans[meta.uid] = wanted
        else:
            self._plans.pop(meta.uid, None)
        booked = self._booked(request, wanted)
        owner = Owner(PROVISIONING_REQUESTS.api_version, "ProvisioningRequest", meta.name, meta.uid)
        steps = instructions_for(
            meta.namespace, owner, wanted, booked.left, booked.have, booked.consuming
        )
        consuming = len(booked.consuming)

        def goes_on() -> bool:
            now = self._requests.get(meta.uid)
            if now is None or _is_leaving(now) or now.status != request.status:
                return False
            at = context.clock.now()
            return wanted is None or len(context.book.consuming(meta.key, at)) == consuming

        done = await context.writing.carry_out(
            _reference(request), self._still_due(meta.uid, steps), _never, goes_on
        )
        if done:
            self._show(meta.key, self._requests.get(meta.uid))
        return done or not steps

    def _still_due(self, uid: str, steps: Sequence[Instruction]) -> Iterator[Instruction]:
        """Each is looked at again when its turn comes: a pod may have taken the share meanwhile."""
        book, clock = self._context.book, self._context.clock
        for step in steps:
            at = clock.now()
            match step:
                case Create(key=key) if key in book.expected(uid, at):
                    continue
                case Delete(request):
                    known = book.requests.get(uid, {}).get(request.key)
                    if known is None or not tuple(book.bookings.settled((known,), at)):
                        continue
                    book.bookings.withdrawn(request, at)
            yield step

    async def _withdraw(self, uid: str) -> None:
        """Its request is gone, or not ours any more."""
        context = self._context
        self._forget(uid)
        have = context.book.of(uid)
        if not have:
            context.book.not_missed(uid)
            return
        at = context.clock.now()
        due = context.book.collected_by(uid, at)
        if at < due or not self._watch.is_fresh(at):
            self.working.offer_at(uid, max(due, at + round(COLLECTION_SECONDS * SECOND)))
            return
        for request in have:
            if not request.deleting and await self._is_gone(request):
                context.book.bookings.withdrawn(request, context.clock.now())
                await context.writing.delete(request)

    async def _is_gone(self, request: OwnRequest) -> bool:
        """As the server says; without the kind there is no ProvisioningRequest."""
        if self._watch.kind is None or not request.owner_name:
            return True
        calls, namespace = self._context.calls, request.key.namespace
        try:
            found = await calls.get(PROVISIONING_REQUESTS, request.owner_name, namespace)
        except NotFound:
            return True
        leaving = _is_leaving(found) or self._narrowed(found) is None
        return leaving or found.metadata.uid != request.owner


def _is_leaving(request: ProvisioningRequest) -> bool:
    return request.metadata.deletion_timestamp is not None


async def _never(_request: OwnRequest) -> bool:
    """No instruction of a booking asks whether its owner is gone."""
    return False


def _reference(request: ProvisioningRequest) -> Reference:
    meta = request.metadata
    return Reference(
        api_version=PROVISIONING_REQUESTS.api_version,
        kind="ProvisioningRequest",
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
    )
