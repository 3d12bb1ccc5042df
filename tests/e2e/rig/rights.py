"""Whether rights that were given are in force: an API server's authoriser learns of them late.

It reads roles and bindings through watches of its own, so a client that starts as soon as they are
written may be refused what it has just been given. Pure; `Cluster.apply` asks.
"""

from collections.abc import Iterable, Iterator

from tests.e2e.rig.api import Object

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")


def reviews_of(objects: Iterable[Object], home: str) -> list[Object]:
    """One question per account and rule: a no to any of them, and not all is known yet.

    `home` is the namespace of what names none. Roles that are not among the objects are not asked
    for: what they allow is not known here.
    """
    given = list(objects)
    rules = {_key(each, home): each.get("rules", []) for each in given if "rules" in each}
    return [
        _review(account, rule, where)
        for binding in given
        if binding["kind"] in _BINDINGS
        for where in [_home(binding, home)]
        for account in _accounts(binding, where)
        for rule in rules.get(_role(binding, where), [])
        if "resources" in rule
    ]


def _home(each: Object, home: str) -> str:
    return "" if each["kind"].startswith("Cluster") else each["metadata"].get("namespace", home)


def _key(role: Object, home: str) -> tuple[str, str, str]:
    return role["kind"], _home(role, home), role["metadata"]["name"]


def _role(binding: Object, where: str) -> tuple[str, str, str]:
    ref = binding["roleRef"]
    return ref["kind"], "" if ref["kind"] == "ClusterRole" else where, ref["name"]


def _accounts(binding: Object, where: str) -> Iterator[str]:
    for subject in binding.get("subjects", []):
        if subject["kind"] == "ServiceAccount":
            yield f"system:serviceaccount:{subject.get('namespace', where)}:{subject['name']}"


def _review(account: str, rule: Object, where: str) -> Object:
    """Rules come whole: one verb on one resource tells for all of them."""
    resource, _, subresource = rule["resources"][0].partition("/")
    asked = {
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
        "verb": rule["verbs"][0],
        "name": rule.get("resourceNames", [""])[0],
        "namespace": where,
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": account, "resourceAttributes": asked},
    }
