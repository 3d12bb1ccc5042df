"""One mutant per row of the suite, in modules by area: each bends one decision of the reference."""

from collections.abc import Callable

from bigfleet.conformance.reference.provider import Reference

MUTANTS: dict[str, type[Reference]] = {}


def breaks(name: str) -> Callable[[type[Reference]], type[Reference]]:
    def register(mutant: type[Reference]) -> type[Reference]:
        if name in MUTANTS:
            raise ValueError(f"mutant {name!r} is defined twice")
        MUTANTS[name] = mutant
        return mutant

    return register
