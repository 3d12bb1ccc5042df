"""Flips in what the inventory keeps between snapshots (1.2); one cycle alone shows none of them."""

from tests.mutants.mutant import Mutant

_ORDERS = "kernels/orders.py"
_FILE = "inventory.py"

INVENTORY = (
    Mutant(
        "a changed machine is merged behind cheaper ones the wrong way round",
        _ORDERS,
        "return bool(price_a < price_b)",
        "return bool(price_a > price_b)",
        "loop",
    ),
    Mutant(
        "a changed machine that is dear to give up is merged behind its equals",
        _ORDERS,
        "return bool(penalty_a > penalty_b)",
        "return bool(penalty_a < penalty_b)",
        "loop",
    ),
    Mutant(
        "a changed machine that is empty is merged before its busy equals",
        _ORDERS,
        "return bool(empty_of_row[b])",
        "return bool(empty_of_row[a])",
        "loop",
    ),
    Mutant(
        "what a cluster no longer calls empty stays so",
        _FILE,
        "self._live.empty[rows] = False",
        "self._live.empty[rows[:0]] = False",
        "loop",
    ),
    Mutant(
        "a cluster speaks for machines of others",
        _FILE,
        "serves &= self._live.cluster[rows] == self.tables.clusters.find(cluster)",
        "serves &= self._live.cluster[rows] >= 0",
        "loop",
    ),
    Mutant(
        "a machine that is empty counts as busy after a refresh of its price",
        _FILE,
        "empty = stays and bool(self._live.empty[row])",
        "empty = not stays and bool(self._live.empty[row])",
        "loop",
    ),
    Mutant(
        "what is told to be empty does not reach the next snapshot",
        _FILE,
        "            self._live.empty[rows] = True\n            self._dirty.update(rows.tolist())",
        "            self._live.empty[rows] = True",
        "loop",
    ),
    Mutant(
        "a changed machine is merged behind equal ones of greater id",
        _ORDERS,
        "return a < b",
        "return a > b",
        "loop",
    ),
    Mutant(
        "a machine that was and stays Idle starts its hold anew",
        _FILE,
        "elif before is not MachineState.IDLE:",
        "else:",
        "loop",
    ),
    Mutant(
        "a held machine is free again after a refresh of its price",
        _FILE,
        "if stays else None",
        "if not stays else None",
        "loop",
    ),
    Mutant(
        "a spent snapshot misses the latest changes when it is used again",
        _FILE,
        "*self._changed_in[version:]",
        "*self._changed_in[version + 1 :]",
        "loop",
    ),
    Mutant(
        "a spent snapshot is used again although rows have shifted since",
        _FILE,
        "if spare is None or spare[2] != self._generation:",
        "if spare is None:",
        "loop",
    ),
    Mutant(
        "a snapshot shares its columns with the live ones",
        _FILE,
        "return self._live.copy()",
        "return self._live",
        "loop",
    ),
    Mutant(
        "rows do not move up when a machine leaves",
        _FILE,
        "row_after[order[stays[order]]]",
        "order[stays[order]]",
        "loop",
    ),
    Mutant(
        "kinds are not told apart again when a new offering appears",
        "kinds.py",
        "mark = (len(columns.price), wanted)",
        "mark = (0, wanted)",
        "loop",
    ),
)
