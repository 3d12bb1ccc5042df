"""Run the mutation check: `python tests/mutants/run.py [words]` (words: only entries naming them).

Exit 1 if a mutant survives, an entry no longer fits the source, or the check itself goes wrong.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.mutants.check import main

    sys.exit(main(sys.argv[1:]))
