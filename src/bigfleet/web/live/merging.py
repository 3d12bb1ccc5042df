"""How two events of a topic that come close together become one."""

from typing import Any


def decisions(before: Any, after: Any) -> Any:
    """A row that came again, as its outcome is known now, stands for the earlier one."""
    rows = {row["id"]: row for row in (*before["rows"], *after["rows"])}
    return {**after, "rows": list(rows.values())}


def needs(before: Any, after: Any) -> Any:
    if before.get("reset") or after.get("reset"):
        return {"reset": True, "changed": [], "removed": []}
    changed = {row["needId"]: row for row in (*before["changed"], *after["changed"])}
    gone = {*before["removed"], *after["removed"]} - {row["needId"] for row in after["changed"]}
    rows = [row for need_id, row in changed.items() if need_id not in gone]
    return {**after, "changed": rows, "removed": sorted(gone)}


def alerts(before: Any, after: Any) -> Any:
    """What was raised and cleared in between is not told at all."""
    over = set(after["cleared"])
    raised = {each["code"]: each for each in before["raised"] if each["code"] not in over}
    raised |= {each["code"]: each for each in after["raised"]}
    again = {each["code"] for each in after["raised"]}
    cleared = [*(code for code in before["cleared"] if code not in again), *after["cleared"]]
    return {"raised": list(raised.values()), "cleared": list(dict.fromkeys(cleared))}


def fleet_map(before: Any, after: Any) -> Any:
    if after["reset"]:
        return after
    if before["reset"]:
        # Who loads the map anew has these changes too.
        return before
    legend = {**before.get("legend", {}), **after.get("legend", {})}
    told = {**after, "changes": [*before["changes"], *after["changes"]]}
    return {**told, "legend": legend} if legend else told
