"""Options of the engine by their names in a fleet file, checked as they are there."""

import json
from dataclasses import replace
from difflib import get_close_matches

from bigfleet.fleetfile import load_fleet
from bigfleet.fleetfile.yaml_dialect import decode_yaml
from bigfleet.model.errors import BadInput, Problem
from bigfleet.model.options import EngineOptions
from bigfleet.model.what_if import EngineOption

_PLAIN = {
    "clustersReady": "clusters_ready",
    "drainSeconds": "drain_seconds",
    "reservationMargin": "reservation_margin_seconds",
    "fold": "fold",
}
_PARTS = {"victimWeights": "victim_weights", "parking": "parking"}
_HOLDS = "releaseHolds"
NAMES = (
    *_PLAIN,
    "victimWeights.priority",
    "victimWeights.drain",
    "victimWeights.interruption",
    "victimWeights.reclamation",
    "parking.after",
    "parking.probe",
    f"{_HOLDS}.OnDemand",
    f"{_HOLDS}.Spot",
)


def with_option(options: EngineOptions, edit: EngineOption) -> EngineOptions:
    """Raises BadInput where there is no such option, or it cannot have this value."""
    path = f"option {edit.name}={edit.value}"
    if edit.name not in NAMES:
        close = get_close_matches(edit.name, NAMES, n=1)
        instead = f"did you mean {close[0]}?" if close else f"there are {', '.join(NAMES)}"
        raise BadInput([Problem(path, f"no such option of the engine; {instead}")])
    group, _, part = edit.name.partition(".")
    try:
        value = decode_yaml(edit.value)
        document = {group: {part: value} if part else value}
        content = json.dumps({"version": 1, "kind": "Fleet", "options": document}).encode()
        said = load_fleet(content, "option.json").options
    except BadInput as problem:
        raise BadInput([Problem(path, p.text) for p in problem.problems]) from None
    except Exception as error:  # noqa: BLE001 - whatever the parser dislikes is bad input
        raise BadInput([Problem(path, f"not a value: {error}")]) from None
    if group == _HOLDS:
        return replace(options, release_holds={**options.release_holds, **said.release_holds})
    if group in _PARTS:
        field = _PARTS[group]
        changed = replace(getattr(options, field), **{part: getattr(getattr(said, field), part)})
        return replace(options, **{field: changed})
    return replace(options, **{_PLAIN[group]: getattr(said, _PLAIN[group])})
