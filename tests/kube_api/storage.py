"""Objects of any kind with one line of resourceVersions, and the changes a watch is fed from.

Keeps the laws our processes lean on: an update that changes nothing makes no version, preconditions
are checked, a status is written only through its subresource, an owner's end is its objects' end.
"""

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from bigfleet.kube.objects import ObjectKey
from tests.kube_api import refusals

Object = dict[str, Any]
_OPTIONAL = ("labels", "annotations", "finalizers", "ownerReferences")


@dataclass(frozen=True, slots=True)
class Resource:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    has_status: bool = False
    #: Defined by a CustomResourceDefinition: /status takes the status and nothing else.
    is_custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, slots=True)
class Change:
    version: int
    #: None before it was made, or after it was removed.
    before: Object | None
    after: Object | None


class Storage:
    def __init__(self, time_text: Callable[[], str], changed: Callable[[], None]) -> None:
        self._time_text = time_text
        self._changed = changed
        self._objects: dict[str, dict[ObjectKey, Object]] = {}
        #: By plural, oldest first; no watch may start before `compacted`.
        self._changes: dict[str, list[Change]] = {}
        self.version = 1000
        self.compacted = 0
        self._made = 0

    def objects(self, plural: str) -> dict[ObjectKey, Object]:
        return dict(sorted(self._objects.get(plural, {}).items()))

    def changes(self, plural: str, after: int) -> list[Change]:
        found = self._changes.get(plural, [])
        start = len(found)
        while start and found[start - 1].version > after:
            start -= 1
        return found[start:]

    def compact(self) -> None:
        """Open watches still get what they have not yet read; new ones from before get a 410."""
        self.compacted = self.version

    def find(self, resource: Resource, key: ObjectKey) -> Object:
        try:
            return self._objects[resource.plural][key]
        except KeyError:
            raise refusals.not_found(resource.plural, key.name) from None

    # -- as a client may ---------------------------------------------------------------------------

    def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        made = copy.deepcopy(body)
        meta = made.setdefault("metadata", {})
        self._made += 1
        if not meta.get("name"):
            if not meta.get("generateName"):
                text = "metadata.name: Required value: name or generateName is required"
                raise refusals.invalid(resource.kind, "", text)
            meta["name"] = f"{meta['generateName']}{self._made:05d}"
        if resource.has_status and (resource.is_custom or resource.plural == "pods"):
            made.pop("status", None)
        if resource.plural == "pods":
            made["status"] = {"phase": "Pending"}
        key = ObjectKey(namespace if resource.namespaced else "", meta["name"])
        if key in self._objects.get(resource.plural, {}):
            raise refusals.already_exists(resource.plural, key.name)
        return self.insert(resource, key, made)

    def replace(
        self, resource: Resource, key: ObjectKey, body: Object, subresource: str = ""
    ) -> Object:
        found = self.find(resource, key)
        meta = body.get("metadata", {})
        if not meta.get("resourceVersion") and resource.group:
            text = "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update"
            raise refusals.invalid(resource.kind, key.name, text)
        self._check_meant(resource, key, found, meta)
        return self._update(resource, key, copy.deepcopy(body), subresource)

    def merge_patch(
        self, resource: Resource, key: ObjectKey, patch: Object, subresource: str = ""
    ) -> Object:
        found = self.find(resource, key)
        self._check_meant(resource, key, found, patch.get("metadata") or {})
        return self._update(resource, key, merged(found, patch), subresource)

    def delete(
        self,
        resource: Resource,
        key: ObjectKey,
        preconditions: Mapping[str, str],
        *,
        stays: bool = False,
    ) -> Object:
        """`stays`, or finalizers: only marked; `remove` or the last finalizer ends it."""
        found = self.find(resource, key)
        for word in ("uid", "resourceVersion"):
            wanted, has = preconditions.get(word), found["metadata"].get(word)
            if wanted and wanted != has:
                text = f"Precondition failed: {word} in precondition: {wanted}, in object: {has}"
                raise refusals.conflict(resource.plural, key.name, text)
        if not stays and not found["metadata"].get("finalizers"):
            self.remove(resource, key)
            return found
        if "deletionTimestamp" in found["metadata"]:
            return found
        marked = copy.deepcopy(found)
        marked["metadata"]["deletionTimestamp"] = self._time_text()
        return self._store(resource, key, marked)

    # -- as a test may -----------------------------------------------------------------------------

    def insert(self, resource: Resource, key: ObjectKey, made: Object) -> Object:
        """New, or in the place of what was there, status and all."""
        before = self._objects.get(resource.plural, {}).get(key)
        meta = made.setdefault("metadata", {})
        meta["name"] = key.name
        if resource.namespaced:
            meta["namespace"] = key.namespace
        old = before["metadata"] if before else {}
        self._made += 1
        meta.setdefault("uid", old.get("uid") or str(UUID(int=0xB16F1EE7 << 96 | self._made)))
        meta.setdefault("creationTimestamp", old.get("creationTimestamp") or self._time_text())
        meta.setdefault("generation", old.get("generation", 0) + 1)
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **made}
        return self._store(resource, key, whole)

    def remove(self, resource: Resource, key: ObjectKey) -> None:
        found = self._objects.get(resource.plural, {}).pop(key, None)
        if found is None:
            return
        self.version += 1
        gone = copy.deepcopy(found)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._changes.setdefault(resource.plural, []).append(Change(self.version, gone, None))
        self._changed()

    def without_owner(self) -> list[tuple[str, ObjectKey]]:
        """Objects all of whose owners are gone: what a garbage collector looks for."""
        alive = {o["metadata"]["uid"] for kind in self._objects.values() for o in kind.values()}
        return [
            (plural, key)
            for plural, kind in self._objects.items()
            for key, found in kind.items()
            if (owners := found["metadata"].get("ownerReferences"))
            and not any(owner.get("uid") in alive for owner in owners)
        ]

    # -- inside ------------------------------------------------------------------------------------

    def _check_meant(
        self, resource: Resource, key: ObjectKey, found: Object, meta: Mapping[str, Any]
    ) -> None:
        wanted = meta.get("resourceVersion")
        if wanted and wanted != found["metadata"]["resourceVersion"]:
            text = "the object has been modified; please apply your changes to the latest version"
            raise refusals.conflict(resource.plural, key.name, f"{text} and try again")
        uid = meta.get("uid")
        if uid and uid != found["metadata"]["uid"]:
            text = f"Precondition failed: UID in precondition: {uid}"
            text += f", UID in object meta: {found['metadata']['uid']}"
            raise refusals.conflict(resource.plural, key.name, text)

    def _update(
        self, resource: Resource, key: ObjectKey, wanted: Object, subresource: str
    ) -> Object:
        found = self.find(resource, key)
        after = _allowed(resource, found, wanted, subresource)
        if not subresource and _spec_of(after) != _spec_of(found):
            after["metadata"]["generation"] = found["metadata"].get("generation", 0) + 1
        if after == found:
            return found
        stored = self._store(resource, key, after)
        meta = stored["metadata"]
        if "deletionTimestamp" in meta and not meta.get("finalizers") and resource.plural != "pods":
            self.remove(resource, key)
        return stored

    def _store(self, resource: Resource, key: ObjectKey, after: Object) -> Object:
        before = self._objects.setdefault(resource.plural, {}).get(key)
        # Through JSON: nothing a test holds on to is shared, and only what JSON can say is kept.
        stored: Object = json.loads(json.dumps(after))
        for word in _OPTIONAL:
            if word in stored["metadata"] and not stored["metadata"][word]:
                del stored["metadata"][word]
        self.version += 1
        stored["metadata"]["resourceVersion"] = str(self.version)
        self._objects[resource.plural][key] = stored
        self._changes.setdefault(resource.plural, []).append(Change(self.version, before, stored))
        self._changed()
        return stored


def _allowed(resource: Resource, found: Object, wanted: Object, subresource: str) -> Object:
    """What of `wanted` that path may change; what the server owns stays."""
    after = copy.deepcopy(wanted)
    kept = ("name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion")
    meta = {k: v for k, v in after.get("metadata", {}).items() if k not in kept}
    meta.pop("deletionTimestamp", None)
    fixed = (*kept, "deletionTimestamp")
    after["metadata"] = meta | {k: v for k, v in found["metadata"].items() if k in fixed}
    for word in _OPTIONAL:
        if word in after["metadata"] and not after["metadata"][word]:
            del after["metadata"][word]
    after["apiVersion"], after["kind"] = found["apiVersion"], found["kind"]
    if subresource == "status":
        changed = {"status": after["status"]} if "status" in after else {}
        if not resource.is_custom:
            changed["metadata"] = after["metadata"]
        return {k: v for k, v in found.items() if k != "status"} | changed
    if resource.has_status:
        after.pop("status", None)
        if "status" in found:
            after["status"] = found["status"]
    return after


def _spec_of(found: Object) -> Object:
    return {k: v for k, v in found.items() if k not in ("metadata", "status")}


def merged(found: Object, patch: Object) -> Object:
    """RFC 7396: None removes, objects merge, all else replaces."""
    after = copy.deepcopy(found)
    for word, value in patch.items():
        if value is None:
            after.pop(word, None)
        elif isinstance(value, dict):
            inner = after.get(word)
            after[word] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            after[word] = copy.deepcopy(value)
    return after
