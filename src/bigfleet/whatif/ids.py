"""The ids of machines that an overlay adds."""

from bigfleet.model.counted_ids import counted_id, is_counted
from bigfleet.model.what_if import AddMachines


def ids_of(edit: AddMachines) -> list[str]:
    """`od-{00}` becomes od-00, od-01 and so on, as in a fleet file; else the number follows."""
    pattern = edit.id_pattern or edit.template.id
    if is_counted(pattern):
        return [counted_id(pattern, number) for number in range(edit.count)]
    return [pattern] if edit.count == 1 else [f"{pattern}{i:05d}" for i in range(edit.count)]
