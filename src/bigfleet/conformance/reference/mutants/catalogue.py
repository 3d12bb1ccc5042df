"""Every mutant there is; importing the areas registers them."""

from bigfleet.conformance.reference.mutants import (
    MUTANTS,
    answers,
    marks,
    strict,
    survival,
    transitions,
)
from bigfleet.conformance.reference.provider import Reference

AREAS = (transitions, marks, answers, survival, strict)


def mutant_names() -> set[str]:
    return set(MUTANTS)


def provider_named(mutant: str) -> type[Reference]:
    """The provider with this switch on; the empty name is the sound one."""
    if not mutant:
        return Reference
    if mutant not in MUTANTS:
        raise KeyError(f"there is no mutant {mutant!r}")
    return MUTANTS[mutant]
