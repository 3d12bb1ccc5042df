"""A plain line to an API server: JSON objects and paths, no client library of those under test."""

import json
import ssl
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any, Self

import httpx2

from bigfleet.edge.driver import RealClock
from bigfleet.kube.connection import ClosedWhenBrokenOff

Object = dict[str, Any]
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
_GROUPLESS = "/api/v1"
#: A server that restarts under load answers late; a wait ends with its event.
_TIMEOUT = httpx2.Timeout(30.0, read=60.0)
_NO_END = httpx2.Timeout(30.0, read=None)
#: What is said for a moment of a kind whose definition has just come.
_INITIALIZING = "storage is (re)initializing"
_MOST_WAITS = 60
#: All groups at once, as kubectl asks for them.
_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Refused(Exception):
    """The API server's answer, other than yes."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:1000]}")
        self.status = status
        self.text = text


class ApiUnreachable(Exception):
    """No answer: no server is there, or the line broke."""


class KubeApi:
    def __init__(self, url: str, ca: Path, token: str) -> None:
        line = httpx2.AsyncHTTPTransport(
            verify=ssl.create_default_context(cafile=str(ca)),
            limits=httpx2.Limits(max_connections=64, max_keepalive_connections=64),
            trust_env=False,
        )
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            transport=ClosedWhenBrokenOff(line),
            timeout=_TIMEOUT,
            trust_env=False,
        )
        self._clock = RealClock()
        #: (apiVersion, kind) -> (plural, whether it lives in namespaces).
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}

    async def get(self, path: str, **query: str) -> Object:
        return await self._ask("GET", path, query)

    async def find(self, path: str) -> Object | None:
        """None where there is no such object."""
        try:
            return await self.get(path)
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    async def list(self, path: str, **query: str) -> list[Object]:
        return list((await self.get(path, **query)).get("items", []))

    async def create(self, path: str, body: Object) -> Object:
        return await self._ask("POST", path, {}, body)

    async def replace(self, path: str, body: Object) -> Object:
        return await self._ask("PUT", path, {}, body)

    async def patch(self, path: str, body: object, kind: str = MERGE, **query: str) -> Object:
        return await self._ask("PATCH", path, query, body, kind)

    async def delete(self, path: str, **options: Any) -> Object | None:
        """None where it was gone already; options are those of DeleteOptions."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
        try:
            return await self._ask("DELETE", path, {}, body)
        except Refused as refused:
            if refused.status == 404:
                return None
            raise

    async def delete_all(self, path: str, **query: str) -> None:
        """Of a collection; an undefined kind has no objects either."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
        try:
            await self._ask("DELETE", path, query, body)
        except Refused as refused:
            if refused.status != 404:
                raise

    async def apply(self, manifest: Object, home: str = "default") -> Object:
        """Server-side, of any kind; into `home` where it names no namespace of its own."""
        path = await self.path_of(manifest, home)
        return await self.patch(path, manifest, APPLY, fieldManager="e2e", force="true")

    async def path_of(self, manifest: Object, home: str = "default") -> str:
        plural, namespaced = await self._resource(manifest["apiVersion"], manifest["kind"])
        metadata = manifest["metadata"]
        within = f"/namespaces/{metadata.get('namespace', home)}" if namespaced else ""
        return f"{_root(manifest['apiVersion'])}{within}/{plural}/{metadata['name']}"

    async def discovered(self) -> set[tuple[str, str, str]]:
        """Group, version and plural of everything the server tells kubectl of."""
        request = self._client.build_request("GET", "/apis", headers={"Accept": _DISCOVERY})
        answer = await self._sent(request)
        if answer.is_error:
            raise Refused(answer.status_code, answer.text)
        return {
            (group["metadata"]["name"], version["version"], kind["resource"])
            for group in answer.json()["items"]
            for version in group["versions"]
            for kind in version.get("resources", [])
        }

    async def watch(self, path: str, version: str, **query: str) -> AsyncGenerator[Object, None]:
        """Events from that resourceVersion on, bookmarks included, until the server ends it."""
        asked = {**query, "watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        try:
            async with self._client.stream("GET", path, params=asked, timeout=_NO_END) as answer:
                if answer.is_error:
                    raise Refused(answer.status_code, (await answer.aread()).decode())
                async for line in answer.aiter_lines():
                    if line:
                        yield json.loads(line)
        except httpx2.TransportError as problem:
            raise ApiUnreachable(f"watch {path}: {problem!r}") from problem

    async def text(self, path: str) -> str:
        answer = await self._client.get(path)
        if answer.is_error:
            raise Refused(answer.status_code, answer.text)
        return answer.text

    async def close(self) -> None:
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.close()

    async def _resource(self, version: str, kind: str) -> tuple[str, bool]:
        if (version, kind) not in self._resources:
            for found in (await self.get(_root(version)))["resources"]:
                if "/" not in found["name"]:
                    known = (found["name"], found["namespaced"])
                    self._resources[version, found["kind"]] = known
        assert (version, kind) in self._resources, f"the API server knows no {kind} of {version}"
        return self._resources[version, kind]

    async def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: object = None,
        kind: str = "application/json",
    ) -> Object:
        content = None if body is None else json.dumps(body).encode()
        request = self._client.build_request(
            method, path, params=dict(query), content=content, headers={"Content-Type": kind}
        )
        answer = await self._sent(request)
        for _ in range(_MOST_WAITS):
            if answer.status_code != 429 or _INITIALIZING not in answer.text:
                break
            await self._clock.sleep(0.5)
            answer = await self._sent(request)
        if answer.is_error:
            raise Refused(answer.status_code, answer.text)
        told: Object = answer.json()
        return told

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await self._client.send(request)
        except httpx2.TransportError as problem:
            raise ApiUnreachable(f"{request.method} {request.url.path}: {problem!r}") from problem


def _root(version: str) -> str:
    return _GROUPLESS if version == "v1" else f"/apis/{version}"
