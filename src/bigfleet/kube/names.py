"""Names that objects in a cluster carry because of us: labels, annotations and object names.

The first two kinds are a contract with existing templates, dashboards and writers; the last are
pure functions of what an object stands for, so that any replica finds what another one wrote.
"""

import re
from hashlib import sha256

PREFIX = "bigfleet.lucy.sh"

#: Label of a CapacityRequest: the UID of the pod it was made for.
OWNED_BY_POD = f"{PREFIX}/owned-by-pod"
#: Label of a CapacityRequest: the UID of the CapacityBuffer it was made for.
OWNED_BY_BUFFER = f"{PREFIX}/owned-by-buffer"
#: Label of a CapacityRequest: the UID of the ProvisioningRequest it was made for.
OWNED_BY_PROVISIONING_REQUEST = f"{PREFIX}/owned-by-provisioning-request"
#: Annotation of a CapacityRequest of a booking: which share it is, `0/17`: of podSets[0] the 18th.
#: It stays when a pod takes the request over.
BOOKED_SHARE = f"{PREFIX}/booked-share"
#: Annotation of a CapacityRequest whose pod has several required node affinity terms: `2/3`.
AFFINITY_TERM = f"{PREFIX}/affinity-term"
#: Label of a Node (optional, set by its bootstrap), annotation of an UpcomingNode.
MACHINE_ID = f"{PREFIX}/machine-id"
#: Annotation of a Node while the operator has it cordoned: the instruction's id.
RECLAIM = f"{PREFIX}/reclaim"
#: Annotation of such a Node if it was cordoned before: it stays cordoned.
FOUND_CORDONED = f"{PREFIX}/reclaim-found-cordoned"
#: Label of other objects that we may delete because we made them: which part of us did.
MADE_BY = f"{PREFIX}/made-by"
#: Annotations of a pod, and of a PriorityClass as their default: quantities in dollars.
INTERRUPTION_PENALTY = f"{PREFIX}/interruption-penalty"
RECLAMATION_PENALTY = f"{PREFIX}/reclamation-penalty"

#: The Lease of the pod controller.
PODWATCH_LEASE = "bigfleet-podwatch"

#: What an object's name may be in most of the API: RFC 1123 labels joined by dots.
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_LONGEST = 253
_OUTSIDE_A_SLUG = re.compile(r"[^a-z0-9.-]+")
_SLUG_LONGEST = 200
_DOUBTFUL_DOTS = re.compile(r"[.-]*\.[.-]*")


def is_subdomain(name: str) -> bool:
    return len(name) <= _SUBDOMAIN_LONGEST and _SUBDOMAIN.fullmatch(name) is not None


def provider_id_ends(provider_id: str) -> list[str]:
    """A Node's provider id, and what follows each of its slashes: one of them names its machine."""
    ends = [provider_id]
    while "/" in provider_id:
        provider_id = provider_id.partition("/")[2]
        ends.append(provider_id)
    return [end for end in ends if end]


def upcoming_node_name(machine_id: str) -> str:
    """Readable where the id allows it, else a slug with a digest: two ids never share a name."""
    plain = f"un-{machine_id}"
    if is_subdomain(plain):
        return plain
    digest = sha256(machine_id.encode()).hexdigest()[:10]
    slug = _OUTSIDE_A_SLUG.sub("-", machine_id.lower())[:_SLUG_LONGEST]
    name = f"un-{slug}-{digest}"
    if is_subdomain(name):
        return name
    # A dot beside a dot or a dash is in the slug's alphabet, yet no server takes such a name.
    return f"un-{_DOUBTFUL_DOTS.sub('-', slug)}-{digest}"


def available_capacity_name(supersedes_key: str) -> str:
    return f"ac-{sha256(supersedes_key.encode()).digest()[:16].hex()}"
