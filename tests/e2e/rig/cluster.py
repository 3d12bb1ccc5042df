"""A cluster as one test sees it: a control plane, a namespace of the test's own, helpers.

Two tests may share a control plane one after the other, so what a test leaves in it is swept away
before the next one begins.
"""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import yaml

from tests.e2e.assets import require
from tests.e2e.rig.api import KubeApi, Object
from tests.e2e.rig.control_plane import ADMIN_TOKEN, ControlPlane
from tests.e2e.rig.rights import REVIEWS, reviews_of
from tests.e2e.rig.waiting import PATIENCE, until_so

#: Namespaces a control plane comes with.
_BORN_WITH = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
#: The label of roles a control plane comes with; a test's rights must not serve the next one.
_NOT_BORN_WITH = "kubernetes.io/bootstrapping!=rbac-defaults"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_SECRETS = "/api/v1/namespaces/kube-system/secrets"
_PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"


class Cluster:
    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane = plane
        #: Also the id under which it joins a fleet.
        self.name = plane.name
        #: Of this test alone; a ServiceAccount `default` is in it.
        self.namespace = namespace
        #: As an administrator.
        self.api = KubeApi(plane.url, plane.certificates.ca, ADMIN_TOKEN)

    @property
    def kubeconfig(self) -> Path:
        """Of an administrator."""
        return self.plane.kubeconfig

    # -- objects ----------------------------------------------------------------------------------

    async def apply(self, *manifests: str | Object) -> list[Object]:
        """Objects or YAML of many; what names no namespace goes into the test's own.

        Returns once rights among them are in force.
        """
        made = [await self.api.apply(each, self.namespace) for each in _objects(manifests)]
        for review in reviews_of(made, self.namespace):
            await self.until(partial(self._is_granted, review), partial(str, review["spec"]))
        return made

    async def apply_crds(self, *manifests: str | Object) -> None:
        """Returns once each is served, and everybody is told that it is."""
        for crd in await self.apply(*manifests):
            name = crd["metadata"]["name"]
            await self.until(partial(self._is_served, crd["spec"]), partial(str, name))

    async def pods(self, selector: str = "", namespace: str = "") -> list[Object]:
        path = f"/api/v1/namespaces/{namespace or self.namespace}/pods"
        return await self.api.list(path, **({"labelSelector": selector} if selector else {}))

    async def nodes(self) -> dict[str, Object]:
        return {node["metadata"]["name"]: node for node in await self.api.list("/api/v1/nodes")}

    async def evict(self, pod: str) -> Object:
        """Through policy/v1; a budget that forbids it is Refused with status 429."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/eviction"
        metadata = {"name": pod, "namespace": self.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        return await self.api.create(path, body)

    async def kubectl(self, *words: str, kubeconfig: Path | None = None) -> str:
        """What it prints; a complaint is an error."""
        own = [str(require("kubectl")), f"--kubeconfig={kubeconfig or self.kubeconfig}"]
        process = await asyncio.create_subprocess_exec(
            *own, "-n", self.namespace, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, errors = await process.communicate()
        assert process.returncode == 0, f"kubectl {' '.join(words)}: {errors.decode()}"
        return out.decode()

    async def until(
        self,
        holds: Callable[[], Awaitable[object]],
        seen: Callable[[], object] = lambda: "",
        patience: float = PATIENCE,
    ) -> None:
        """Asks until the answer is yes; an API server that is away or refuses says no."""
        await until_so(holds, lambda: (self.name, seen()), patience)

    # -- who may do what --------------------------------------------------------------------------

    async def service_account_kubeconfig(
        self,
        name: str,
        manifests: str | Sequence[Object] = (),
        namespace: str = "",
        through: str = "",
    ) -> Path:
        """A kubeconfig for that ServiceAccount, with the rights `manifests` give it and no others.

        The manifests (RBAC, or a whole rendered chart) are applied first. An account they do not
        contain is made. `through` is the address of a link or a FaultyApi before the API server.
        """
        home = namespace or self.namespace
        await self.apply(*([manifests] if isinstance(manifests, str) else manifests))
        path = f"/api/v1/namespaces/{home}/serviceaccounts/{name}"
        if await self.api.find(path) is None:
            metadata = {"name": name, "namespace": home}
            await self.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        asked = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 24 * 3600},
        }
        token = (await self.api.create(f"{path}/token", asked))["status"]["token"]
        return self.plane.write_kubeconfig(f"{home}-{name}", token, home, through)

    # -- the API server's life --------------------------------------------------------------------

    async def restart_api_server(self) -> None:
        """Every watch breaks, no object is lost; use a cluster of the test's own for it."""
        await asyncio.to_thread(self.plane.restart_api_server)

    async def stop_api_server(self) -> None:
        await asyncio.to_thread(self.plane.stop_api_server)

    async def start_api_server(self) -> None:
        await asyncio.to_thread(self.plane.start_api_server)

    # -- before and after a test ------------------------------------------------------------------

    async def make_namespace(self, name: str) -> str:
        """Returns once pods can be made in it, which needs its ServiceAccount."""
        path = f"/api/v1/namespaces/{name}"

        async def has_left() -> bool:
            found = await self.api.find(path)
            return found is None or found["status"]["phase"] != "Terminating"

        await self.until(has_left, lambda: f"{path} of an earlier test stays")
        await self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = f"{path}/serviceaccounts/default"
        await self.until(lambda: self.api.find(account), lambda: f"no {account}")
        return name

    async def sweep(self) -> None:
        """Takes away what a test may have left: namespaces, nodes, rights, tokens, custom objects.

        An empty namespace needs seconds to vanish, which no test waits for: the next test has its
        own. Controllers make nothing more in one that is on its way out.
        """
        for namespace in await self._namespaces():
            await self.api.delete(f"/api/v1/namespaces/{namespace}")
        for kind in ("clusterrolebindings", "clusterroles"):
            await self.api.delete_all(f"{_RBAC}/{kind}", labelSelector=_NOT_BORN_WITH)
        for name in await self._priority_classes():
            await self.api.delete(f"{_PRIORITIES}/{name}")
        await self.api.delete_all(_SECRETS, fieldSelector="type=bootstrap.kubernetes.io/token")
        await self.until(self._is_swept, lambda: "objects of an earlier test stay")

    async def _is_swept(self) -> bool:
        """Asked again and again: what was under way when its maker was killed may come late."""
        kinds = ["/api/v1/pods", *await self._custom_kinds(), "/api/v1/nodes"]
        return not any([await self._delete_everywhere(path) for path in kinds])

    async def _namespaces(self) -> set[str]:
        found = await self.api.list("/api/v1/namespaces")
        return {namespace["metadata"]["name"] for namespace in found} - _BORN_WITH

    async def _priority_classes(self) -> list[str]:
        names = [found["metadata"]["name"] for found in await self.api.list(_PRIORITIES)]
        return [name for name in names if not name.startswith("system-")]

    async def _delete_everywhere(self, path: str) -> int:
        """How many there were; one that spans namespaces can only be deleted in each of them.

        By force: a pod whose node is gone ends in no other way, and no controller is left to take a
        finalizer off.
        """
        root, _, plural = path.rpartition("/")
        there = (await self.api.find(path) or {}).get("items", [])
        homes = {each["metadata"].get("namespace", "") for each in there}
        within = {home: f"{root}/namespaces/{home}/{plural}" if home else path for home in homes}
        for place in within.values():
            await self.api.delete_all(place)
        for metadata in (each["metadata"] for each in there if "finalizers" in each["metadata"]):
            held = f"{within[metadata.get('namespace', '')]}/{metadata['name']}"
            if await self.api.find(held) is not None:
                await self.api.patch(held, {"metadata": {"finalizers": None}})
        return len(there)

    async def _custom_kinds(self) -> list[str]:
        """The path of every kind that is defined here: ours, and those of third parties."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        return [_path_of_kind(crd["spec"]) for crd in await self.api.list(path)]

    async def _is_served(self, spec: Object) -> bool:
        """An established kind may still be unknown for a moment: here, there or to kubectl."""
        await self.api.get(_path_of_kind(spec), limit="1")
        group, plural = spec["group"], spec["names"]["plural"]
        versions = [each["name"] for each in spec["versions"] if each["served"]]
        told = [await self.api.get(f"/apis/{group}/{version}") for version in versions]
        known = await self.api.discovered()
        return all(
            any(kind["name"] == plural for kind in each["resources"])
            and (group, version, plural) in known
            for version, each in zip(versions, told, strict=True)
        )

    async def _is_granted(self, review: Object) -> bool:
        return bool((await self.api.create(REVIEWS, review))["status"]["allowed"])


def _path_of_kind(spec: Object) -> str:
    version = next(each["name"] for each in spec["versions"] if each["served"])
    return f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"


def _objects(manifests: Iterable[str | Object]) -> list[Object]:
    found: list[Object] = []
    for each in manifests:
        found += [o for o in yaml.safe_load_all(each) if o] if isinstance(each, str) else [each]
    return found


@asynccontextmanager
async def visited(plane: ControlPlane) -> AsyncIterator[Cluster]:
    """A cluster for one test: swept, and with a namespace of the test's own."""
    plane.must_run()
    cluster = Cluster(plane, f"test-{next(plane.visits)}")
    try:
        await cluster.sweep()
        await cluster.make_namespace(cluster.namespace)
        yield cluster
    finally:
        await cluster.api.close()
