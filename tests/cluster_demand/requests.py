"""CapacityRequests for tests, as an API server would write their specs."""

import json
from collections.abc import Mapping, Sequence

from bigfleet.kube.objects import ObjectKey
from bigfleet.operator.translator import TranslatedDemand, Untranslatable, translate

TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
RACK = "topology.bigfleet/rack"


def key(name: str, namespace: str = "team") -> ObjectKey:
    return ObjectKey(namespace, name)


def term(operator: str = "In", values: Sequence[str] = ("a3",), key: str = TYPE) -> object:
    return {"key": key, "operator": operator, "values": list(values)}


def spread(when: str = "DoNotSchedule", skew: int = 1, key: str = ZONE) -> object:
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when}


def together(
    labels: Mapping[str, str] | None = None, *expressions: object, key: str = RACK
) -> object:
    """Without labels and expressions there is no selector at all."""
    if labels is None and not expressions:
        return {"topologyKey": key}
    selector = {"matchLabels": dict(labels or {}), "matchExpressions": list(expressions)}
    return {"topologyKey": key, "labelSelector": selector}


def spec(**fields: object) -> bytes:
    """A request for one CPU at priority 0, and the fields that are given."""
    return json.dumps({"priority": 0, "resources": {"cpu": "1"}, **fields}, sort_keys=True).encode()


def demand(**fields: object) -> TranslatedDemand:
    found = translate(spec(**fields))
    assert isinstance(found, TranslatedDemand), found
    return found


def refusal(**fields: object) -> Untranslatable:
    found = translate(spec(**fields))
    assert isinstance(found, Untranslatable), found
    return found
