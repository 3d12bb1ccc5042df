"""A shard's request for a bootstrap blob, answered: the template filled, or why it cannot be."""

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass

from bigfleet.model.machines import Instant
from bigfleet.model.requirements import Operator, Requirement
from bigfleet.model.session_frames import BootstrapRequest, BootstrapResponse
from bigfleet.model.syntax import why_not_request_id, why_not_requirement
from bigfleet.operator.bootstrap.templates import RequirementWords, Template, TemplateValues
from bigfleet.operator.bootstrap.tokens import BootstrapToken

#: For a cluster whose provider needs to be told nothing.
NO_TEMPLATE = Template.parse(
    "#cloud-config\n# BigFleet: cluster {{ .ClusterID }} has no bootstrap template\n"
)

_WORDS = {
    Operator.IN: "In",
    Operator.NOT_IN: "NotIn",
    Operator.EXISTS: "Exists",
    Operator.DOES_NOT_EXIST: "DoesNotExist",
    Operator.SAME: "Same",
}


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What a machine has to know of the cluster it joins."""

    cluster_id: str
    api_server: str
    #: PEM.
    ca_bundle: bytes


def why_not_answered(request: BootstrapRequest, cluster_id: str) -> str:
    """Empty: nothing against it. A shard that names no cluster means the session's.

    What a template prints is checked here again: a shard may be another one than ours.
    """
    if request.cluster_id not in ("", cluster_id):
        return (
            f"the blob was asked for cluster {request.cluster_id!r}, but this is {cluster_id!r}: "
            f"check which operator uses which --cluster-id"
        )
    if wrong := why_not_request_id(request.request_id):
        return f"the shard's request has a bad id: {wrong}"
    for place, each in enumerate(request.requirements):
        if found := why_not_requirement(each.key, each.values):
            return (
                f"the shard asks for a machine of requirements[{place}].{found[0]}: {found[1]}; "
                "nothing was rendered"
            )
    return ""


def response_of(
    request: BootstrapRequest,
    template: Template,
    facts: ClusterFacts,
    token: BootstrapToken | None,
    at: Instant,
) -> BootstrapResponse:
    values = TemplateValues(
        cluster_id=facts.cluster_id,
        request_id=request.request_id,
        token=token.text if token else "",
        ca_bundle=b64encode(facts.ca_bundle).decode(),
        api_server=facts.api_server,
        requirements=_words_of(request.requirements),
    )
    ttl_seconds = token.seconds_left(at) if token else 0
    return BootstrapResponse(request.request_id, template.render(values).encode(), ttl_seconds)


def _words_of(requirements: Iterable[Requirement]) -> tuple[RequirementWords, ...]:
    return tuple(
        RequirementWords(each.key, _WORDS.get(each.operator, ""), each.values)
        for each in requirements
    )
