"""ProvisioningRequests as tests write them, and a shard that answers as it is told."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from bigfleet.kube.buffers import PodTemplateSpec
from bigfleet.kube.provisioning_requests import CHECK_CAPACITY, ProvisioningRequest
from bigfleet.model.needs import Need, NeedKey
from bigfleet.podwatch.capacity_questions import CapacityAnswer, Verdict
from bigfleet.podwatch.pod_reconciler import Owner
from bigfleet.podwatch.provisioning_requests import BookingPlan, FoundTemplate, plan_of
from tests.podwatch.pods import Json

NAME = "batch"
UID = f"uid-{NAME}"
OWNER = Owner("autoscaling.x-k8s.io/v1", "ProvisioningRequest", NAME, UID)
CONSUME = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS = "autoscaling.x-k8s.io/provisioning-class-name"
YES = CapacityAnswer(Verdict.YES, "cycle 7")
NO = CapacityAnswer(Verdict.NO, "supply.none: no machine has 8 gpu")
ARRIVING = CapacityAnswer(Verdict.ARRIVING, "2 machines are on their way")
UNKNOWN = CapacityAnswer(Verdict.UNKNOWN, "the shard at s:1 does not answer: refused")


def request_json(*counts: int, name: str = NAME, of: str = CHECK_CAPACITY, **words: str) -> Json:
    """One podSet for each count, of the templates `set-0`, `set-1` ...; words are parameters.

    It is worth an answer for a day, so that a busy machine fails no test.
    """
    sets = [
        {"podTemplateRef": {"name": f"set-{place}"}, "count": count}
        for place, count in enumerate(counts)
    ]
    meta = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "generation": 1}
    spec = {
        "provisioningClassName": of,
        "podSets": sets,
        "parameters": {"ValidUntilSeconds": "86400"} | words,
    }
    return {"metadata": meta, "spec": spec}


def request(*counts: int, **words: Any) -> ProvisioningRequest:
    return msgspec.convert(request_json(*counts, **words), ProvisioningRequest)


def template_json(cpu: str = "500m", **spec: Any) -> Json:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]
    return {"spec": {"containers": containers, **spec}}


def found(cpu: str = "500m", **spec: Any) -> FoundTemplate:
    return FoundTemplate(msgspec.convert(template_json(cpu, **spec), PodTemplateSpec))


def plan(*counts: int, cpus: Sequence[str] = ("500m", "2", "3")) -> BookingPlan:
    templates = [found(cpus[place]) for place in range(len(counts))]
    made = plan_of(request(*counts).spec, templates, "shop", {})
    assert isinstance(made, BookingPlan)
    return made


@dataclass
class Answers:
    """A shard: what it answers, and what it was asked."""

    covered: CapacityAnswer = YES
    there: CapacityAnswer = YES
    asked: list[list[Need]] = field(default_factory=list)
    looked_at: list[list[NeedKey]] = field(default_factory=list)
    beside: list[list[Need]] = field(default_factory=list)

    async def would_be_covered(
        self, needs: Sequence[Need], beside: Sequence[Need] = ()
    ) -> CapacityAnswer:
        self.asked.append(list(needs))
        self.beside.append(list(beside))
        return self.covered

    async def are_there(self, needs: Sequence[NeedKey]) -> CapacityAnswer:
        self.looked_at.append(list(needs))
        return self.there
