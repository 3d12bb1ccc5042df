"""Label and field selectors, as far as our processes use them."""

import re
from collections.abc import Callable
from typing import Any

from tests.kube_api.refusals import Refusal

Object = dict[str, Any]
_SET = re.compile(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)")
_FIELDS = (
    *("metadata.name", "metadata.namespace", "status.phase", "spec.nodeName", "type"),
    "involvedObject.uid",
)


def selecting(label_selector: str, field_selector: str) -> Callable[[Object], bool]:
    tests = [_label_test(term.strip()) for term in _terms(label_selector)]
    tests += [_field_test(term.strip()) for term in _terms(field_selector)]
    return lambda found: all(test(found) for test in tests)


def _terms(selector: str) -> list[str]:
    """Split at commas that are not within parentheses."""
    return [term for term in re.split(r",(?![^(]*\))", selector) if term.strip()]


def _label_test(term: str) -> Callable[[Object], bool]:
    def labels(found: Object) -> dict[str, str]:
        return found["metadata"].get("labels") or {}

    if match := _SET.fullmatch(term):
        key, word, listed = match.groups()
        values = {value.strip() for value in listed.split(",")}
        if word == "in":
            return lambda found: labels(found).get(key) in values
        return lambda found: labels(found).get(key) not in values
    if "!=" in term:
        key, value = (part.strip() for part in term.split("!=", 1))
        return lambda found: labels(found).get(key) != value
    if "=" in term:
        key, value = (part.strip() for part in term.replace("==", "=").split("=", 1))
        return lambda found: labels(found).get(key) == value
    if term.startswith("!"):
        return lambda found: term[1:] not in labels(found)
    return lambda found: term in labels(found)


def _field_test(term: str) -> Callable[[Object], bool]:
    differs = "!=" in term
    path, value = (part.strip() for part in term.replace("!=", "=").replace("==", "=").split("="))
    if path not in _FIELDS:
        raise Refusal(400, "BadRequest", f"field label not supported: {path}")

    def test(found: Object) -> bool:
        here: Any = found
        for step in path.split("."):
            here = (here or {}).get(step)
        return ((here or "") == value) != differs

    return test
