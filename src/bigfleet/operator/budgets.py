"""PodDisruptionBudgets: which pods each covers, and how many it lets go now.

The server refuses what a budget forbids in any case. Here it is only read, so that no Node is
cordoned whose pods may not go.
"""

from dataclasses import dataclass

from bigfleet.kube.label_selectors import selects
from bigfleet.kube.objects import LabelSelector, ObjectKey, PodDisruptionBudget
from bigfleet.operator.pods_on_nodes import PodsOnNodes
from bigfleet.placement.admission import Budget
from bigfleet.placement.records import PodView


@dataclass(frozen=True, slots=True)
class HeldBudget:
    """What is kept of one."""

    selector: LabelSelector | None
    allowed: int


def held_budget(budget: PodDisruptionBudget) -> HeldBudget:
    return HeldBudget(budget.spec.selector, budget.status.disruptions_allowed)


class DisruptionBudgets:
    def __init__(self, pods: PodsOnNodes) -> None:
        self._pods = pods
        #: By namespace, then by name; of no namespace without one.
        self._in_namespace: dict[str, dict[str, HeldBudget]] = {}

    def put(self, key: ObjectKey, budget: HeldBudget) -> None:
        self._in_namespace.setdefault(key.namespace, {})[key.name] = budget

    def remove(self, key: ObjectKey) -> None:
        names = self._in_namespace.get(key.namespace, {})
        names.pop(key.name, None)
        if not names:
            self._in_namespace.pop(key.namespace, None)

    def budget_of(self, pod: PodView) -> Budget | None:
        """The tightest budget over this pod; None: it has none, or is not known."""
        namespace, _, name = pod.key.partition("/")
        budgets = self._in_namespace.get(namespace)
        known = self._pods.get(ObjectKey(namespace, name)) if budgets else None
        if not budgets or known is None:
            return None
        covering = [
            Budget(f"{namespace}/{name}", each.allowed)
            for name, each in sorted(budgets.items())
            if each.selector is not None and selects(each.selector, known.labels)
        ]
        return min(covering, key=lambda each: each.allowed, default=None)
