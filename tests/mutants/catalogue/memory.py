"""Flips in what a cycle remembers and in the reasons it gives (2.7, U12, U19, section 3)."""

from tests.mutants.mutant import Mutant

_LEDGERS = "ledgers.py"

MEMORY = (
    Mutant(
        "a gang parks one cycle late",
        _LEDGERS,
        "age >= parking.after",
        "age > parking.after",
    ),
    Mutant(
        "a parked gang never tries again",
        _LEDGERS,
        " and age % parking.probe != 0",
        "",
    ),
    Mutant(
        "a gang that acquired something grows older",
        "outcome.py",
        "& (self.acquired.count[queue] == 0)",
        "& (self.acquired.count[queue] >= 0)",
    ),
    Mutant(
        "a gang whose domain could hold it grows older",
        "outcome.py",
        "& ~self.credit.satisfiable[queue]",
        "",
    ),
    Mutant(
        "a gang parks while its victims drain (U19)",
        "decide.py",
        "if awaited:",
        "if False:",
    ),
    Mutant(
        "a gang grows older while its victims drain (U19)",
        _LEDGERS,
        "if key in reserved:",
        "if False:",
    ),
    Mutant(
        "a plain Need is told to be parked",
        "decide.py",
        "return parked & is_gang",
        "return parked",
    ),
    Mutant(
        "a shortfall is forgotten while preemptions for it are in flight (U12)",
        _LEDGERS,
        "elif known is not None:",
        "elif False:",
    ),
    Mutant(
        "a shortfall does not age",
        _LEDGERS,
        "known.age + 1 if known else 1",
        "known.age if known else 1",
    ),
    Mutant(
        "victims that cover the whole deficit are told as exhausted",
        "decision.py",
        "if outcome.preempted.count_of_need[n] and outcome.preempted.unresolved[n].any():",
        "if outcome.preempted.count_of_need[n]:",
    ),
    Mutant(
        "a gang that wants nothing is parked (U25)",
        "decide.py",
        "return parked & is_gang & wants",
        "return parked & is_gang",
    ),
)
