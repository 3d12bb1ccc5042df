"""Flips in the choice of a gang's domain (2.3 step 3): one for each rule of the comparison."""

from tests.mutants.mutant import Mutant

_FILE = "kernels/domains.py"

DOMAINS = (
    Mutant(
        "rule 1: a domain that cannot hold the gang beats one that can",
        _FILE,
        "_signed(np.int64(1), a_fits)",
        "_signed(np.int64(1), b_fits)",
    ),
    Mutant(
        "rule 2: of domains that fit the one with least credited wins",
        _FILE,
        "_signed(np.int64(2), a_credit > b_credit)",
        "_signed(np.int64(2), a_credit < b_credit)",
    ),
    Mutant(
        "rules 3 and E34: of domains alike the one with least of the gang's own wins",
        _FILE,
        "_signed(np.int64(3), a_own > b_own)",
        "_signed(np.int64(3), a_own < b_own)",
    ),
    Mutant(
        "rule 4: of domains that fit the largest wins",
        _FILE,
        "_signed(np.int64(4), a_size < b_size)",
        "_signed(np.int64(4), a_size > b_size)",
    ),
    Mutant(
        "rule 4: of domains too small the smallest wins",
        _FILE,
        "_signed(np.int64(5), a_share > b_share)",
        "_signed(np.int64(5), a_share < b_share)",
    ),
    Mutant(
        "rule 5: of domains too small the one with least credited wins",
        _FILE,
        "_signed(np.int64(6), a_credit > b_credit)",
        "_signed(np.int64(6), a_credit < b_credit)",
    ),
    Mutant(
        "rule E34: what is the gang's own counts only where the gang fits",
        _FILE,
        "if a_own != b_own:",
        "if a_fits and a_own != b_own:",
    ),
    Mutant(
        "rule 6: fewer machines win",
        _FILE,
        "_signed(np.int64(7), count[a] > count[b])",
        "_signed(np.int64(7), count[a] < count[b])",
    ),
    Mutant(
        "rule 7: the greater domain value wins",
        _FILE,
        "_signed(np.int64(8), domains[a] < domains[b])",
        "_signed(np.int64(8), domains[a] > domains[b])",
    ),
    Mutant(
        "what a domain has beyond the need counts for it",
        _FILE,
        "if share > most:",
        "if share > most * 1e300:",
    ),
    Mutant(
        "an empty label is a domain (U9)",
        "kinds.py",
        "position[w] if w else -1",
        "position[w]",
    ),
)
