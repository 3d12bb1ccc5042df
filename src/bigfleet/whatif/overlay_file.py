"""Overlay files: a list of edits in YAML or JSON, each as on the command line or as a mapping.

    - zone-loss: b
    - demand: cluster=ml x1.4
    - price: capacity=Spot x2
    - machines-add: {id: "od-{00}", count: 4, state: Speculative, capacityType: OnDemand, ...}

`edits: [...]` with `version: 1` and `kind: Overlay` beside it is the same.
"""

from bigfleet.fleetfile.yaml_dialect import decode_yaml
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.what_if import Overlay
from bigfleet.whatif.overlay_text import edit_of

MOST_BYTES = 4 * 1024 * 1024
MOST_EDITS = 1_000
_HEAD = {"version": 1, "kind": "Overlay"}


def overlay_of(content: bytes) -> Overlay:
    """Raises BadInput with every problem, each with the place of its edit."""
    if len(content) > MOST_BYTES:
        raise BadInput([Problem("", f"an overlay file has at most {MOST_BYTES} bytes")])
    try:
        document = decode_yaml(content.decode())
    except Exception as error:  # noqa: BLE001 - whatever the parser dislikes is bad input
        raise BadInput([Problem("", f"neither YAML nor JSON: {error}")]) from None
    if isinstance(document, dict):
        document = _edits_in(document)
    if not isinstance(document, list):
        raise BadInput([Problem("", "an overlay is a list of edits, such as `- zone-loss: b`")])
    if len(document) > MOST_EDITS:
        raise BadInput([Problem("", f"at most {MOST_EDITS} edits; there are {len(document)}")])
    edits, problems = [], list[Problem]()
    for place, entry in enumerate(document):
        try:
            edits.append(edit_of(*_parts(entry)))
        except BadInput as problem:
            problems += [Problem(f"[{place}].{p.path}", p.text) for p in problem.problems]
    if problems:
        raise BadInput(problems)
    return tuple(edits)


def _edits_in(document: dict[object, object]) -> object:
    problems = [
        Problem(
            str(key), f"write {_HEAD[str(key)]}" if key in _HEAD else "no such key; write edits"
        )
        for key, value in document.items()
        if key != "edits" and _HEAD.get(str(key)) != value
    ]
    if problems:
        raise BadInput(problems)
    return document.get("edits")


def _parts(entry: object) -> tuple[str, object]:
    if isinstance(entry, str):
        operation, _, rest = entry.strip().partition(" ")
        return operation, rest
    if isinstance(entry, dict) and len(entry) == 1:
        ((operation, said),) = entry.items()
        return str(operation), said
    raise BadInput([Problem("", f"{entry!r:.80} is not one edit; write `- zone-loss: b`")])
