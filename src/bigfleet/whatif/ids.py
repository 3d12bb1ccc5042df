"""The ids of machines that an overlay adds."""

import re

from bigfleet.model.what_if import AddMachines

_NUMBER = re.compile(r"\{(0+)\}")


def ids_of(edit: AddMachines) -> list[str]:
    """`od-{00}` becomes od-00, od-01 and so on, as in a fleet file; else the number follows."""
    pattern = edit.id_pattern or edit.template.id
    found = _NUMBER.search(pattern)
    if found is None:
        return [pattern] if edit.count == 1 else [f"{pattern}{i:05d}" for i in range(edit.count)]
    head, width, tail = pattern[: found.start()], len(found[1]), pattern[found.end() :]
    return [f"{head}{i:0{width}d}{tail}" for i in range(edit.count)]
