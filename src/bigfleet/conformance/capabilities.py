"""What a provider can do and which legal dialect it speaks, found out once per run."""

from dataclasses import dataclass, field
from typing import Literal

from bigfleet.conformance.rows import Gate

CursorDialect = Literal["none", "continuation", "head-echo"]


@dataclass(slots=True)
class Capabilities:
    create: bool = False
    delete: bool = False
    since_revision: bool = False
    fault: bool = False
    spot: bool = False
    restart: bool = False
    seed: bool = False
    cursor: CursorDialect = "none"
    negative_grace: str = "unknown"
    negative_token: str = "unknown"
    #: What was seen, per capability: the reason a row is skipped for.
    evidence: dict[str, str] = field(default_factory=dict)

    def has(self, gate: Gate) -> bool:
        return bool(getattr(self, gate))

    def why_not(self, gate: Gate) -> str:
        return self.evidence.get(gate, f"the provider does not show {gate.replace('_', ' ')}")

    def flags(self) -> dict[str, bool]:
        names = ("create", "delete", "since_revision", "fault", "spot", "restart", "seed")
        return {name: bool(getattr(self, name)) for name in names}

    def dialects(self) -> dict[str, str]:
        return {
            "cursor": self.cursor,
            "negative_grace": self.negative_grace,
            "negative_token": self.negative_token,
        }
