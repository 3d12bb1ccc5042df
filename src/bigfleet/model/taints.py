"""Taints of Nodes and tolerations of pods, with the scheduler's rule between them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    #: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    effect: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """As a pod's spec has it."""

    #: Empty with Exists: every key.
    key: str = ""
    #: Equal or Exists; an empty one means Equal too.
    operator: str = "Equal"
    value: str = ""
    #: Empty: every effect.
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect not in ("", taint.effect):
            return False
        if self.operator == "Exists":
            return self.key in ("", taint.key)
        is_equal = (self.key, self.value) == (taint.key, taint.value)
        return is_equal and self.operator in ("", "Equal")
