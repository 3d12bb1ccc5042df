"""The catalogue: every decision that is flipped, phase by phase."""

from tests.mutants.catalogue.acquisition import ACQUISITION
from tests.mutants.catalogue.demand import DEMAND
from tests.mutants.catalogue.domains import DOMAINS
from tests.mutants.catalogue.inventory import INVENTORY
from tests.mutants.catalogue.memory import MEMORY
from tests.mutants.catalogue.preemption import PREEMPTION
from tests.mutants.catalogue.prepass import PREPASS
from tests.mutants.catalogue.release import RELEASE
from tests.mutants.catalogue.reservations import RESERVATIONS
from tests.mutants.mutant import Mutant

CATALOGUE: tuple[Mutant, ...] = (
    *DEMAND,
    *PREPASS,
    *DOMAINS,
    *ACQUISITION,
    *PREEMPTION,
    *RESERVATIONS,
    *RELEASE,
    *MEMORY,
    *INVENTORY,
)
