"""Looks at CapacityBuffers, where the cluster has them.

What a buffer points at is not watched but read again every few seconds, so that a percentage
follows its scalable within one roll-up.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bigfleet.edge.clock import SECOND
from bigfleet.kube.answers import NotFound
from bigfleet.kube.api import Api
from bigfleet.kube.buffers import (
    BUFFER_KINDS,
    POD_TEMPLATES,
    SCALABLE_KINDS,
    CapacityBuffer,
    PodTemplateSpec,
    ScalableRef,
)
from bigfleet.kube.calls import Calls
from bigfleet.kube.kinds import PRIORITY_CLASSES
from bigfleet.kube.objects import ObjectKey, Reference
from bigfleet.model.instants import instant_text
from bigfleet.model.machines import Instant
from bigfleet.podwatch.book import COLLECTION_SECONDS
from bigfleet.podwatch.buffer_status import covered, status_patch
from bigfleet.podwatch.buffers import (
    BufferPlan,
    BufferRefusal,
    BufferTarget,
    instructions_for,
    plan_of,
    why_refused,
)
from bigfleet.podwatch.driving.optional_kind import KindNames, OptionalKind
from bigfleet.podwatch.driving.pods import PodwatchContext
from bigfleet.podwatch.driving.workers import Workers
from bigfleet.podwatch.notes import PodNote
from bigfleet.podwatch.pod_reconciler import Create, Owner
from bigfleet.podwatch.records import DemandSource, OwnRequest
from bigfleet.podwatch.taints import FleetTaint

#: Half a roll-up interval; with many buffers longer, so that they take a fifth of the line.
REREAD_SECONDS = 5.0
REREADS_PER_SECOND = 10.0
WORKERS = 4


@dataclass(frozen=True, slots=True)
class BufferOptions:
    #: auto, true or false.
    mode: str
    priority: int


class BufferKeeping:
    def __init__(self, context: PodwatchContext, api: Api, options: BufferOptions) -> None:
        self._context = context
        self._options = options
        self._buffers: dict[str, CapacityBuffer] = {}
        self._watch = OptionalKind(
            KindNames("buffers", "CapacityBuffers"),
            BUFFER_KINDS,
            options.mode,
            api,
            context.clock,
            context.draw,
            context.log,
            self._narrowed,
            self._changed,
            self._switched,
        )
        self._told: dict[str, tuple[PodNote, ...]] = {}
        self.working: Workers[str] = Workers(
            "capacitybuffer",
            self._look,
            lambda: {*self._buffers, *context.book.owners(DemandSource.BUFFER)},
            context.clock,
            context.draw,
            context.log,
        )

    def __len__(self) -> int:
        return len(self._buffers)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.working.run(WORKERS))
            group.create_task(self._watch.run())

    # -- which there are -------------------------------------------------------------------------

    def _switched(self) -> None:
        self._buffers.clear()
        self.working.offer_everything()

    def _narrowed(self, buffer: CapacityBuffer) -> CapacityBuffer | None:
        excluded = self._context.policy.excluded_namespaces
        return None if buffer.metadata.namespace in excluded else buffer

    def _changed(
        self, key: ObjectKey, before: CapacityBuffer | None, after: CapacityBuffer | None
    ) -> None:
        for buffer in (before, after):
            if buffer is not None:
                self._buffers.pop(buffer.metadata.uid, None)
                self.working.offer(buffer.metadata.uid)
        if after is not None:
            self._buffers[after.metadata.uid] = after

    # -- looking at one --------------------------------------------------------------------------

    async def _look(self, uid: str) -> None:
        buffer = self._buffers.get(uid)
        if buffer is None or _is_leaving(buffer):
            await self._withdraw(uid)
            return
        context = self._context
        context.book.not_missed(uid)
        plan = await planned(context.calls, buffer, self._options.priority, context.policy.taints)
        if await self._make_so(buffer, plan):
            await self._tell(buffer, plan)
        self.working.offer_at(uid, context.clock.now() + self._reread_after())

    async def _make_so(self, buffer: CapacityBuffer, plan: BufferPlan | BufferRefusal) -> bool:
        """False: it is another buffer by now, or its namespace ends."""
        context, meta = self._context, buffer.metadata
        kind = self._watch.kind
        assert kind is not None
        owner = Owner(kind.api_version, kind.kind, meta.name, meta.uid)
        have = context.book.of(meta.uid)
        wanted = plan if isinstance(plan, BufferPlan) else None
        expected = context.book.expected(meta.uid, context.clock.now())
        steps = [
            each
            for each in instructions_for(meta.namespace, owner, wanted, have)
            if not isinstance(each, Create) or each.key not in expected
        ]
        return await context.writing.carry_out(
            self._reference(buffer), steps, self._is_gone, lambda: self._still_says(buffer)
        )

    def _still_says(self, buffer: CapacityBuffer) -> bool:
        """Thousands of chunks take minutes, in which it may be deleted or say another number."""
        now = self._buffers.get(buffer.metadata.uid)
        return now is not None and now.spec == buffer.spec and not _is_leaving(now)

    async def _tell(self, buffer: CapacityBuffer, plan: BufferPlan | BufferRefusal) -> None:
        context, meta = self._context, buffer.metadata
        notes = plan.notes if isinstance(plan, BufferPlan) else ()
        if notes != self._told.get(meta.uid, ()):
            self._told[meta.uid] = notes
            for note in notes:
                context.events.tell(self._reference(buffer), "Warning", note.reason, note.text)
        at = instant_text(_whole_second(context.clock.now()))
        patch = status_patch(buffer, plan, covered(plan, context.book.of(meta.uid)), at)
        if patch is None or self._watch.kind is None:
            return
        context.writing.must_lead()
        try:
            await context.calls.merge_patch(
                self._watch.kind, meta.name, patch, meta.namespace, subresource="status"
            )
        except NotFound:
            return

    async def _withdraw(self, uid: str) -> None:
        """Its buffer is gone, or not ours any more."""
        context = self._context
        self._told.pop(uid, None)
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
                await context.writing.delete(request)

    async def _is_gone(self, request: OwnRequest) -> bool:
        """As the server says; without the kind there is no buffer."""
        if self._watch.kind is None or not request.owner_name:
            return True
        calls, namespace = self._context.calls, request.key.namespace
        try:
            buffer = await calls.get(self._watch.kind, request.owner_name, namespace)
        except NotFound:
            return True
        leaving = _is_leaving(buffer) or self._narrowed(buffer) is None
        return leaving or buffer.metadata.uid != request.owner

    def _reread_after(self) -> int:
        seconds = max(REREAD_SECONDS, len(self._buffers) / REREADS_PER_SECOND)
        return round(seconds * SECOND)

    def _reference(self, buffer: CapacityBuffer) -> Reference:
        meta, kind = buffer.metadata, self._watch.kind or BUFFER_KINDS[0]
        return Reference(
            api_version=kind.api_version,
            kind=kind.kind,
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
        )


def _is_leaving(buffer: CapacityBuffer) -> bool:
    return buffer.metadata.deletion_timestamp is not None


def _whole_second(at: Instant) -> Instant:
    """The API keeps no finer times; a finer one would differ from what it keeps, every time."""
    return at - at % SECOND


async def planned(
    calls: Calls, buffer: CapacityBuffer, buffer_priority: int, taints: Sequence[FleetTaint] = ()
) -> BufferPlan | BufferRefusal:
    """Raises ApiProblem where the server does not say; what is not there is a refusal."""
    refusal = why_refused(buffer.spec)
    if refusal is not None:
        return refusal
    found = await _found(calls, buffer)
    if isinstance(found, BufferRefusal):
        return found
    return plan_of(buffer.spec, found, buffer_priority, taints)


async def _found(calls: Calls, buffer: CapacityBuffer) -> BufferTarget | BufferRefusal:
    if (scalable := buffer.spec.scalable_ref) is not None:
        return await _scaled(calls, buffer, scalable)
    assert buffer.spec.pod_template_ref is not None
    name, namespace = buffer.spec.pod_template_ref.name, buffer.metadata.namespace
    try:
        there = await calls.get(POD_TEMPLATES, name, namespace)
    except NotFound:
        return BufferRefusal("TemplateNotFound", f"there is no PodTemplate {name} in {namespace}")
    priority = await priority_of(calls, there.template)
    if isinstance(priority, BufferRefusal):
        return priority
    return BufferTarget(there.template, priority, None, name, there.metadata.generation or None)


async def _scaled(
    calls: Calls, buffer: CapacityBuffer, ref: ScalableRef
) -> BufferTarget | BufferRefusal:
    namespace = buffer.metadata.namespace
    kind = SCALABLE_KINDS[ref.api_group, ref.kind]
    try:
        there = await calls.get(kind, ref.name, namespace)
    except NotFound:
        return BufferRefusal(
            "ScalableNotFound", f"there is no {ref.kind} {ref.name} in {namespace}"
        )
    template = there.spec.template
    priority = await priority_of(calls, template)
    if isinstance(priority, BufferRefusal):
        return priority
    return BufferTarget(template, priority, there.replicas)


async def priority_of(calls: Calls, template: PodTemplateSpec) -> int | BufferRefusal | None:
    """A template names a class; only in pods the server has put its number beside it."""
    spec = template.spec
    if spec.priority is not None or not spec.priority_class_name:
        return spec.priority
    try:
        return (await calls.get(PRIORITY_CLASSES, spec.priority_class_name)).value
    except NotFound:
        text = f"its template names PriorityClass {spec.priority_class_name}, which is not there"
        return BufferRefusal("PriorityClassNotFound", text)
