"""No clock and no chance outside drivers and faces: time and draws come in as arguments."""

import pytest

from tests.architecture.clock_lint import findings
from tests.architecture.tree import PACKAGE, TESTS, name_of, python_files

#: The edges of the system: drivers, the command line, and benches, whose business is the clock.
#: The compiler is one of them: how long it took is told to people and decides nothing.
EDGES = ("src/bigfleet/bench/", "src/bigfleet/cli/", "src/bigfleet/compiling.py")

CLOCKED = {
    "time.time()": "import time\nnow = time.time()",
    "a sleep": "from time import sleep",
    "a renamed clock": "import time as t\nt.monotonic()",
    "datetime.now": "from datetime import datetime\ndatetime.now()",
    "datetime.now of the module": "import datetime\ndatetime.datetime.now()",
    "date.today": "from datetime import date\nstamp = date.today",
    "a module-level draw": "import random\nrandom.choice([1, 2])",
    "an imported draw": "from random import shuffle",
    "a draw from numpy's global state": "import numpy as np\nnp.random.rand(3)",
    "a seed of the global state": "import random\nrandom.seed(0)",
    "a random name": "import uuid\nuuid.uuid4()",
}
PURE = {
    "an instant parsed": "from datetime import datetime\ndatetime.fromisoformat('2026-01-01')",
    "a seeded generator": "import random\nchance = random.Random(7)",
    "a seeded generator of numpy": "import numpy as np\nchance = np.random.default_rng(7)",
    "a draw from a generator passed in": "def draw(chance):\n    return chance.random()",
    "a field named time": "def age(event):\n    return event.time.now",
}


@pytest.mark.parametrize("source", CLOCKED.values(), ids=CLOCKED)
def test_a_clock_or_an_unseeded_draw_is_found(source: str) -> None:
    assert findings(source)


@pytest.mark.parametrize("source", PURE.values(), ids=PURE)
def test_what_only_handles_instants_and_generators_passes(source: str) -> None:
    assert findings(source) == []


def test_only_the_edges_read_clocks_and_draw_numbers() -> None:
    inside = [
        path
        for path in python_files(PACKAGE)
        if path.name != "driver.py" and not name_of(path).startswith(EDGES)
    ]
    found = {name_of(path): findings(path.read_text()) for path in inside}
    assert {name: where for name, where in found.items() if where} == {}


def test_no_test_sleeps() -> None:
    texts = {name_of(path): path.read_text() for path in python_files(TESTS)}
    found = {name: findings(text) for name, text in texts.items() if "sleep" in text}
    sleeping = {n: [f for f in where if f.endswith("sleep")] for n, where in found.items()}
    assert {name: where for name, where in sleeping.items() if where} == {}
