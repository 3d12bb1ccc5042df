"""An API server in the test's process, over real HTTP: generic storage, watches, and faults.

A call ends before its answer is sent, so a test that saw the answer sees the object; a watch hears
of it in the same turn of the loop or a later one.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bigfleet.edge.clock import Clock
from bigfleet.kube import kinds
from bigfleet.kube.objects import ObjectKey
from bigfleet.model.instants import instant_text
from tests.kube_api import refusals
from tests.kube_api.connections import Connections, Cut, HttpCall, Stream, WholeAnswer
from tests.kube_api.evicting import refusal_of_eviction
from tests.kube_api.faults import ApiCall, Fault, Hold, Matches, matching
from tests.kube_api.refusals import Refusal
from tests.kube_api.selecting import selecting
from tests.kube_api.storage import Object, Resource, Storage, merged
from tests.kube_api.watching import Watch

Named = kinds.Kind[Any] | str

_BUILT_IN = (
    Resource("", "v1", "namespaces", "Namespace", False, True),
    Resource("", "v1", "nodes", "Node", False, True),
    Resource("", "v1", "pods", "Pod", True, True),
    Resource("", "v1", "events", "Event", True),
    Resource("", "v1", "secrets", "Secret", True),
    Resource("", "v1", "configmaps", "ConfigMap", True),
    Resource("", "v1", "podtemplates", "PodTemplate", True),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True, True),
    Resource("", "v1", "persistentvolumes", "PersistentVolume", False, True),
    Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", False),
    Resource("apps", "v1", "deployments", "Deployment", True, True),
    Resource("apps", "v1", "replicasets", "ReplicaSet", True, True),
    Resource("apps", "v1", "statefulsets", "StatefulSet", True, True),
    Resource("batch", "v1", "jobs", "Job", True, True),
    Resource("coordination.k8s.io", "v1", "leases", "Lease", True),
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True, True),
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False),
    Resource("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", False, True),
    Resource(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        False,
        True,
    ),
)


@dataclass(frozen=True, slots=True)
class Done:
    """A call that was answered, refusals included."""

    call: ApiCall
    status: int


class FakeApiServer:
    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock
        self._connections = Connections(self._answer)
        self.storage = Storage(self._time_text, self._changed)
        self._resources: dict[tuple[str, str], Resource] = {}
        self._continues: dict[str, tuple[int, list[Object]]] = {}
        self._faults: list[Fault] = []
        self._holds: list[Hold] = []
        self._watches: set[Watch] = set()
        self._waiting: set[asyncio.Event] = set()
        #: Everything that was asked and answered, oldest first.
        self.done: list[Done] = []
        #: A pod for which this is true stays, marked as Terminating, when deleted or evicted.
        self.stays_terminating: Callable[[Object], bool] = lambda pod: False
        #: Bearer tokens that are let in; None lets everybody in.
        self.tokens: set[str] | None = None
        self.url = ""
        #: What no client of ours may do; `stop` fails on it.
        self.misuse: list[str] = []
        for resource in _BUILT_IN:
            self._resources[resource.group, resource.plural] = resource
        for kind in (kinds.CAPACITY_REQUESTS, kinds.UPCOMING_NODES, kinds.AVAILABLE_CAPACITIES):
            self.define(kind)

    async def start(self, certificate: ssl.SSLContext | None = None, port: int = 0) -> str:
        """`port`, for one that comes back where it was."""
        found = await self._connections.start(certificate, port)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{found}"
        return self.url

    async def stop(self) -> None:
        """What is stored stays: `start` again is the same server after a pause."""
        self.drop_watches(clean=True)
        await self._connections.stop()
        assert self.misuse == []

    async def __aenter__(self) -> "FakeApiServer":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # -- what a test arranges --------------------------------------------------------------------

    def define(self, kind: kinds.Kind[Any], *, has_status: bool = True) -> None:
        """As a CustomResourceDefinition would."""
        self._resources[kind.group, kind.plural] = Resource(
            kind.group, kind.version, kind.plural, kind.kind, kind.namespaced, has_status, True
        )

    def undefine(self, kind: kinds.Kind[Any]) -> None:
        del self._resources[kind.group, kind.plural]

    def put(self, kind: Named, body: Object) -> Object:
        """Writes the whole object, status included, as no client could over the API."""
        resource = self._resource(kind)
        meta = body["metadata"]
        namespace = meta.get("namespace", "default") if resource.namespaced else ""
        whole: Object = json.loads(json.dumps(body))
        return self.storage.insert(resource, ObjectKey(namespace, meta["name"]), whole)

    def change(self, kind: Named, name: str, patch: Object, namespace: str = "") -> Object:
        """A merge patch of everything, status included."""
        found = self.get(kind, name, namespace)
        return self.put(kind, merged(found, patch))

    def remove(self, kind: Named, name: str, namespace: str = "") -> None:
        """At once, in spite of finalizers and grace; what it owned goes too."""
        resource = self._resource(kind)
        self.storage.remove(resource, self._key(resource, name, namespace))
        self.collect_garbage()

    def get(self, kind: Named, name: str, namespace: str = "") -> Object:
        resource = self._resource(kind)
        return self.storage.find(resource, self._key(resource, name, namespace))

    def has(self, kind: Named, name: str, namespace: str = "") -> bool:
        resource = self._resource(kind)
        return self._key(resource, name, namespace) in self.storage.objects(resource.plural)

    def objects(self, kind: Named) -> dict[ObjectKey, Object]:
        return self.storage.objects(self._resource(kind).plural)

    def collect_garbage(self) -> None:
        """Objects whose owners are all gone. Every deletion does so by itself."""
        while orphans := self.storage.without_owner():
            for plural, key in orphans:
                self.storage.remove(self._resource(plural), key)

    def compact(self) -> None:
        """Forgets all history: old resourceVersions and continue tokens are Expired from now on.

        Open watches go on, as they do on a real one; drop them to see a 410.
        """
        self.storage.compact()
        self._continues.clear()

    def bookmark(self) -> None:
        for watch in self._watches:
            watch.bookmark()

    def drop_watches(self, plural: str = "", *, clean: bool = False) -> None:
        """`clean`: as at the end of timeoutSeconds; else the line breaks."""
        for watch in tuple(self._watches):
            if not plural or watch.plural == plural:
                watch.end(broken=not clean)
                self._watches.discard(watch)

    def freeze_watches(self, plural: str = "", *, frozen: bool = True) -> None:
        """Those that are open stay open and say nothing; thawed, they tell what they missed."""
        for watch in self._watches:
            if not plural or watch.plural == plural:
                watch.freeze(frozen)

    def watches(self, plural: str = "") -> int:
        return sum(1 for watch in self._watches if not plural or watch.plural == plural)

    def fail(
        self,
        verb: str = "",
        plural: str = "",
        *,
        status: int = 500,
        times: int = 1,
        when: Matches | None = None,
        reason: str = "",
        message: str = "injected",
        retry_after: float | None = None,
        causes: tuple[Mapping[str, str], ...] = (),
        done_anyway: bool = False,
    ) -> Fault:
        """The next `times` calls that match. Status 0 breaks the line instead of answering."""
        refusal = Refusal(status, reason, message, retry_after=retry_after, causes=causes)
        fault = Fault(matching(verb, plural, when), times, refusal if status else None, done_anyway)
        self._faults.append(fault)
        return fault

    def heal(self) -> None:
        self._faults.clear()

    def hold(self, verb: str = "", plural: str = "", *, when: Matches | None = None) -> Hold:
        hold = Hold(matching(verb, plural, when), self._holds.remove)
        self._holds.append(hold)
        return hold

    # -- what a test sees ------------------------------------------------------------------------

    def calls(self, verb: str = "", plural: str = "") -> list[ApiCall]:
        matches = matching(verb, plural, None)
        return [done.call for done in self.done if matches(done.call)]

    def writes(self, plural: str = "") -> list[Done]:
        """Creations, updates, patches, deletions and evictions, refused ones included."""
        return [d for d in self.done if d.call.is_write and plural in ("", d.call.plural)]

    async def until(self, holds: Callable[[], object], seconds: float = 60) -> None:
        """Waits for something that follows from a call, a change or a watch here."""
        again = asyncio.Event()
        self._waiting.add(again)
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    again.clear()
                    await again.wait()
        finally:
            self._waiting.discard(again)

    # -- the server ------------------------------------------------------------------------------

    def _changed(self) -> None:
        for watch in self._watches:
            watch.wake()
        self._tell()

    def _tell(self) -> None:
        for event in self._waiting:
            event.set()

    def _time_text(self) -> str:
        seconds = self._clock.now() // 10**9 if self._clock else 1_767_225_600
        return instant_text(seconds * 10**9)

    def _resource(self, kind: Named) -> Resource:
        plural = kind if isinstance(kind, str) else kind.plural
        found = [r for (_, known), r in self._resources.items() if known == plural]
        assert len(found) == 1, f"{plural}: define() it first"
        return found[0]

    def _key(self, resource: Resource, name: str, namespace: str) -> ObjectKey:
        return ObjectKey((namespace or "default") if resource.namespaced else "", name)

    async def _answer(self, http: HttpCall) -> WholeAnswer | Stream:
        call = ApiCall("discover", "")
        try:
            resource, call = self._routed(http)
            self._admit(http)
            for hold in tuple(self._holds):
                if hold.matches(call):
                    await hold.wait(call)
            fault = self._fault_for(call)
            if fault is not None and not fault.done_anyway:
                _strike(fault)
            answer = self._do(resource, call)
            if fault is not None:
                _strike(fault)
        except Refusal as refusal:
            answer = WholeAnswer(refusal.status, refusal.encoded(), refusal.headers)
        self.done.append(Done(call, answer.status if isinstance(answer, WholeAnswer) else 200))
        self._tell()
        return answer

    def _routed(self, http: HttpCall) -> tuple[Resource | None, ApiCall]:
        parts = [part for part in http.path.split("/") if part]
        if parts[:1] == ["api"] and len(parts) >= 2:
            group, version, rest = "", parts[1], parts[2:]
        elif parts[:1] == ["apis"] and len(parts) >= 3:
            group, version, rest = parts[1], parts[2], parts[3:]
        else:
            raise refusals.unknown_path()
        body: dict[str, Any] = msgspec.json.decode(http.body) if http.body else {}
        if not rest:
            query = {"group": group, "version": version}
            return None, ApiCall("discover", "", query=query)
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        plural, name, subresource = (*rest, "", "")[:3]
        resource = self._resources.get((group, plural))
        if resource is None or resource.version != version:
            raise refusals.unknown_path()
        if resource.namespaced and not namespace and (name or http.method == "POST"):
            raise refusals.unknown_path()
        verb = self._verb(http, name, subresource)
        return resource, ApiCall(verb, plural, namespace, name, subresource, http.query, body)

    def _verb(self, http: HttpCall, name: str, subresource: str) -> str:
        if http.method == "GET" and not name:
            return "watch" if http.query.get("watch") in ("1", "true") else "list"
        if http.method == "POST":
            return "evict" if subresource == "eviction" else "create"
        kind = http.headers.get("content-type", "")
        if http.method == "PATCH" and kind != "application/merge-patch+json":
            self.misuse.append(f"a patch of {http.path} as {kind}: merge patches only")
        if http.method != "GET" and not name:
            self.misuse.append(f"{http.method} of the whole collection {http.path}")
            raise Refusal(405, "MethodNotAllowed", self.misuse[-1])
        return {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[http.method]

    def _admit(self, http: HttpCall) -> None:
        if self.tokens is None:
            return
        token = http.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.tokens:
            raise Refusal(401, "Unauthorized", "Unauthorized")

    def _fault_for(self, call: ApiCall) -> Fault | None:
        for fault in self._faults:
            if fault.times > 0 and fault.matches(call):
                fault.times -= 1
                return fault
        return None

    def _do(self, resource: Resource | None, call: ApiCall) -> WholeAnswer | Stream:
        if resource is None:
            return self._discover(call)
        if call.verb == "list":
            return self._list(resource, call)
        if call.verb == "watch":
            return self._watch(resource, call)
        key = ObjectKey(call.namespace, call.name)
        body = dict(call.body)
        if call.verb == "create":
            made = self.storage.create(resource, call.namespace, body)
            self._define_from(made)
            return _whole(made, 201)
        if call.verb == "get":
            return _whole(self.storage.find(resource, key))
        if call.verb == "update":
            return _whole(self.storage.replace(resource, key, body, call.subresource))
        if call.verb == "patch":
            return _whole(self.storage.merge_patch(resource, key, body, call.subresource))
        if call.verb == "delete":
            return self._delete(resource, key, body)
        return self._evict(resource, key, body)

    def _discover(self, call: ApiCall) -> WholeAnswer:
        group, version = call.query["group"], call.query["version"]
        found = [
            {"name": r.plural, "kind": r.kind, "namespaced": r.namespaced, "verbs": ["get"]}
            for r in self._resources.values()
            if (r.group, r.version) == (group, version)
        ]
        if not found:
            raise refusals.unknown_path()
        named = f"{group}/{version}" if group else version
        return _whole({"kind": "APIResourceList", "groupVersion": named, "resources": found})

    def _define_from(self, made: Object) -> None:
        if made["kind"] != "CustomResourceDefinition":
            return
        spec = made["spec"]
        version = next(v for v in spec["versions"] if v.get("storage"))
        names = spec["names"]
        self._resources[spec["group"], names["plural"]] = Resource(
            spec["group"],
            version["name"],
            names["plural"],
            names["kind"],
            spec["scope"] == "Namespaced",
            "status" in version.get("subresources", {}),
            True,
        )

    def _delete(self, resource: Resource, key: ObjectKey, body: Object) -> WholeAnswer:
        found = self.storage.find(resource, key)
        stays = resource.plural == "pods" and self.stays_terminating(found)
        wanted = body.get("preconditions") or {}
        gone = self.storage.delete(resource, key, wanted, stays=stays)
        self.collect_garbage()
        return _whole(gone)

    def _evict(self, resource: Resource, key: ObjectKey, body: Object) -> WholeAnswer:
        pod = self.storage.find(resource, key)
        options = body.get("deleteOptions") or {}
        refusal_of_eviction(
            pod,
            self.storage.objects("pods").values(),
            self.storage.objects("poddisruptionbudgets").values(),
        )
        self._delete(resource, key, options)
        return _whole({"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}, 201)

    def _list(self, resource: Resource, call: ApiCall) -> WholeAnswer:
        token = call.query.get("continue", "")
        if token:
            if token not in self._continues:
                text = "The provided continue parameter is too old to display a consistent list"
                raise Refusal(410, "Expired", f"{text} result.")
            version, items = self._continues.pop(token)
        else:
            version, items = self.storage.version, self._selected(resource, call)
        limit = int(call.query.get("limit", "0")) or len(items)
        meta: dict[str, Any] = {"resourceVersion": str(version)}
        if rest := items[limit:]:
            meta["continue"] = f"{version}-{call.plural}-{len(rest)}-{len(self._continues)}"
            self._continues[meta["continue"]] = (version, rest)
        head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version}
        return _whole({**head, "metadata": meta, "items": items[:limit]})

    def _selected(self, resource: Resource, call: ApiCall) -> list[Object]:
        chosen = _chosen(call)
        found = self.storage.objects(resource.plural)
        return [body for body in found.values() if chosen(body)]

    def _watch(self, resource: Resource, call: ApiCall) -> Stream:
        start = call.query.get("resourceVersion", "")
        replayed = self._selected(resource, call) if start in ("", "0") else []
        after = self.storage.version if start in ("", "0") else int(start)
        watch = Watch(self.storage, resource, _chosen(call), after, replayed)
        return Stream(self._watched(watch, call), watch.end)

    async def _watched(self, watch: Watch, call: ApiCall) -> AsyncGenerator[bytes, None]:
        self._watches.add(watch)
        self._tell()
        seconds = float(call.query.get("timeoutSeconds", "1800"))
        timer = asyncio.get_running_loop().call_later(seconds, watch.end)
        try:
            async for line in watch.lines():
                yield line
        finally:
            timer.cancel()
            self._watches.discard(watch)
            self._tell()
        if watch.is_broken:
            raise Cut


def _chosen(call: ApiCall) -> Callable[[Object], bool]:
    selected = selecting(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""))
    namespace = call.namespace
    return lambda found: (
        (not namespace or found["metadata"].get("namespace") == namespace) and selected(found)
    )


def _strike(fault: Fault) -> None:
    raise fault.refusal or Cut


def _whole(body: Any, status: int = 200) -> WholeAnswer:
    return WholeAnswer(status, json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())
