"""Flips in what a reservation permits and when it ends (U2, U19, U21, rulings E3 to E6)."""

from tests.mutants.mutant import Mutant

_VECTORS = "kernels/vectors.py"
_FILE = "reservations.py"

RESERVATIONS = (
    Mutant(
        "any Need takes a machine freed for another",
        _VECTORS,
        "return bool(needs.identity[n] == pool.guard_identity[g])",
        "return True",
    ),
    Mutant(
        "not even its holder takes the machine freed for it",
        _VECTORS,
        "return bool(needs.identity[n] == pool.guard_identity[g])",
        "return False",
    ),
    Mutant(
        "an equal precedence breaks a reservation",
        _VECTORS,
        "needs.precedence[n] > pool.guard_precedence[g]",
        "needs.precedence[n] >= pool.guard_precedence[g]",
    ),
    Mutant(
        "a higher precedence does not break a reservation",
        _VECTORS,
        "if needs.precedence[n] > pool.guard_precedence[g]:\n        return True",
        "if needs.precedence[n] > pool.guard_precedence[g]:\n        return False",
    ),
    Mutant(
        "a machine offered to another shard is taken",
        _VECTORS,
        "if kind == GUARD_OFFER:\n        return False",
        "if kind == GUARD_OFFER:\n        return True",
    ),
    Mutant(
        "what was transferred in is only for the holder's own group",
        _VECTORS,
        "return bool(needs.fingerprint[n] == pool.guard_fingerprint[g])",
        "return bool(needs.identity[n] == pool.guard_identity[g])",
    ),
    Mutant(
        "a preemption whose Need is withdrawn stays reserved",
        _FILE,
        "if lives or not s.is_preemption]",
        "if True]",
    ),
    Mutant(
        "an offer ends when its holder asks for nothing",
        _FILE,
        "if lives or not s.is_preemption]",
        "if lives]",
    ),
    Mutant(
        "a reservation outlives its use",
        _FILE,
        "if holder[s.row] >= 0 and state in",
        "if holder[s.row] >= 2**30 and state in",
    ),
    Mutant(
        "a victim that has not begun to drain is used up by its owner",
        _FILE,
        "if holder[s.row] >= 0 and state in (MachineState.IDLE, MachineState.SPECULATIVE):",
        "if holder[s.row] >= 0:",
    ),
    Mutant(
        "a victim stays reserved although its Need is covered",
        _FILE,
        "and idle and s.identity not in unsatisfied_identities:",
        "and idle and s.identity is None:",
    ),
    Mutant(
        "cover ends a reservation while the victim drains (U21)",
        _FILE,
        "and idle and s.identity not in unsatisfied_identities:",
        "and s.identity not in unsatisfied_identities:",
    ),
    Mutant(
        "cover ends an offer",
        _FILE,
        "if s.is_preemption and idle and s.identity not in",
        "if idle and s.identity not in",
    ),
    Mutant(
        "a reservation still holds in the instant it expires",
        _FILE,
        "now >= expires",
        "now > expires",
    ),
    Mutant(
        "a reservation expires while the victim drains",
        _FILE,
        "if expired and state != MachineState.DRAINING and not just_idle:",
        "if expired and not just_idle:",
    ),
    Mutant(
        "a reservation expires within the margin of its victim becoming Idle",
        _FILE,
        "state != MachineState.DRAINING and not just_idle:",
        "state != MachineState.DRAINING:",
    ),
    Mutant(
        "the margin includes its last instant",
        _FILE,
        "now - since < margin",
        "now - since <= margin",
    ),
    Mutant(
        "a new reservation lasts for the grace alone",
        "outcome.py",
        "round((grace + options.reservation_margin_seconds) * SECOND)",
        "round(grace * SECOND)",
    ),
    Mutant(
        "a holder whose fingerprint cannot be read is outranked by everybody",
        _FILE,
        "_NEVER_OUTRANKED = 2**62",
        "_NEVER_OUTRANKED = -(2**62)",
    ),
)
