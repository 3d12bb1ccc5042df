"""Which pods are on a Node, and which use a claim: who has to be looked at when those change."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from bigfleet.kube.objects import ObjectKey
from bigfleet.podwatch.records import WatchedPod


@dataclass(slots=True)
class PodsIndex:
    _on_node: dict[str, set[str]] = field(default_factory=dict)
    _with_claim: dict[ObjectKey, set[str]] = field(default_factory=dict)

    def add(self, pod: WatchedPod) -> None:
        if pod.node:
            self._on_node.setdefault(pod.node, set()).add(pod.uid)
        for claim in pod.claims:
            key = ObjectKey(pod.key.namespace, claim.name)
            self._with_claim.setdefault(key, set()).add(pod.uid)

    def remove(self, pod: WatchedPod) -> None:
        if pod.node and (there := self._on_node.get(pod.node)) is not None:
            there.discard(pod.uid)
            if not there:
                del self._on_node[pod.node]
        for claim in pod.claims:
            key = ObjectKey(pod.key.namespace, claim.name)
            if (users := self._with_claim.get(key)) is not None:
                users.discard(pod.uid)
                if not users:
                    del self._with_claim[key]

    def on(self, nodes: Iterable[str]) -> list[str]:
        return [uid for node in nodes for uid in self._on_node.get(node, ())]

    def with_claim(self, claim: ObjectKey) -> list[str]:
        return list(self._with_claim.get(claim, ()))

    def with_claims(self) -> list[str]:
        return list({uid for users in self._with_claim.values() for uid in users})

    def sizes(self) -> dict[str, int]:
        return {"nodesWithPods": len(self._on_node), "claimsOfPods": len(self._with_claim)}
