"""A verb loads what it uses and nothing else: what is loaded is what a command costs.

Each verb runs in a child of its own that inherits nothing but the frame of the command line; what
it has loaded afterwards is compared with what it may load. No time is measured.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from tempfile import TemporaryDirectory

import pytest

from bigfleet.cli.main import VERBS

#: Runs every line of words in a forked child and prints what that child has loaded.
PROBE = """
import json, os, sys
import bigfleet.cli.main as frame

for words in json.load(sys.stdin):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        for number in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        try:
            if words[0] == "complete:":
                typed = " ".join(["bigfleet", *words[1:-1], words[-1] or "''"])
                os.environ |= {"_BIGFLEET_COMPLETE": "bash_complete", "COMP_WORDS": typed}
                os.environ["COMP_CWORD"] = str(len(words) - 1)
                words = []
            given = [each for each in words if not each.startswith("import:")]
            frame.cli.main(given, prog_name="bigfleet")
        except SystemExit:
            pass
        for each in words:
            if each.startswith("import:"):
                __import__(each.removeprefix("import:"))
        loaded = set()
        for name in sys.modules:
            top, _, rest = name.partition(".")
            if top not in sys.stdlib_module_names and not top.startswith("_"):
                loaded.add(f"bigfleet.{rest.partition('.')[0]}" if top == "bigfleet" else top)
        # Of the standard library, what costs as much as a library of others.
        loaded |= {"asyncio", "ssl"} & set(sys.modules)
        os.write(writing, json.dumps(sorted(loaded)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        print(said.read() or "null", flush=True)
    os.waitpid(child, 0)
"""
FRAME = {"bigfleet.", "bigfleet.cli", "bigfleet.model", "click"}
DAEMONS = ("shard", "coordinator", "operator", "podwatch")
#: The flags of a daemon are made from its settings.
HELP = {
    **{key: {"bigfleet.edge", *(f"bigfleet.{each}" for each in DAEMONS)} for key in DAEMONS},
    "up": {"bigfleet.up"},
}
#: A line to a server: gRPC, protobuf, and what gRPC itself brings along.
WIRE = {
    *("asyncio", "ssl"),
    *("bigfleet.admin", "bigfleet.v1alpha1", "bigfleet.wire", "google", "grpc", "orjson"),
    *("cython_runtime", "grpc_health", "grpc_reflection", "grpc_tools", "typing_extensions"),
}
#: Functions that write answers of any kind.
WRITERS = ("import:bigfleet.cli.tables", "import:bigfleet.cli.listings")
SHARD_ANSWERS = (*WRITERS, "import:bigfleet.wire.machine_views", "import:bigfleet.wire.shard_read")
COORDINATOR_ANSWERS = (*WRITERS, "import:bigfleet.wire.coordination")
NOWHERE = "127.0.0.1:1"
READING = {
    **{
        verb: [*verb.split(), "--shard", NOWHERE, *SHARD_ANSWERS]
        for verb in (
            *("status", "needs", "clusters", "machines", "machines story x"),
            *("machines reservations", "quarantines", "pause list", "reports"),
            *(
                "reports offerings",
                "reports thrash",
                "reports regret",
                "reports isolated",
                "reports invoices",
                "clusters show x",
                "top clusters",
                "top shards",
            ),
            *("describe machine x", "describe need x", "describe cluster x", "describe shard x"),
        )
    },
    **{
        f"provider {verb}": ["provider", verb, "--addr", NOWHERE, *WRITERS]
        for verb in ("machines", "ops", "failed", "fences")
    },
    **{
        verb: [*verb.split(), "--coordinator", NOWHERE, *COORDINATOR_ANSWERS]
        for verb in (
            *("shards", "shards transfers", "shards instructions", "shards shortfalls"),
            *("domains", "quotas", "providers"),
        )
    },
}


def loaded_by(lines: Iterable[list[str]]) -> list[set[str]]:
    """Bytecode is kept beside, so that not every child compiles the same modules."""
    asked = list(lines)
    with TemporaryDirectory() as folder:
        return _probed(asked, {**os.environ, "PYTHONPYCACHEPREFIX": folder})


def _probed(asked: list[list[str]], environment: dict[str, str]) -> list[set[str]]:
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=environment,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(asked), done.stderr
    return [set(each) for each in found]


@pytest.fixture(scope="module")
def helped() -> dict[str, set[str]]:
    return dict(zip(VERBS, loaded_by([verb, "--help"] for verb in VERBS), strict=True))


@pytest.fixture(scope="module")
def asked() -> dict[str, set[str]]:
    return dict(zip(READING, loaded_by(READING.values()), strict=True))


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_needs_no_library_but_the_one_for_flags(
    helped: dict[str, set[str]], verb: str
) -> None:
    assert sorted(helped[verb] - FRAME - HELP.get(verb, set())) == []


def test_completing_a_line_loads_the_frame_only() -> None:
    (found,) = loaded_by([["completion", "bash"]])
    assert sorted(found - FRAME) == []


@pytest.mark.parametrize("verb", READING)
def test_a_verb_that_reads_loads_the_wire_and_no_process(
    asked: dict[str, set[str]], verb: str
) -> None:
    """No engine, no arrays, no Kubernetes client, no terminal library, nothing of a daemon."""
    assert sorted(asked[verb] - FRAME - WIRE) == []


def test_protobuf_in_pure_python_stays_unloaded() -> None:
    code = (
        "import sys; from bigfleet.wire.light_imports import load_python_messages_late as late;"
        "late(); from bigfleet.admin.v1alpha1 import shard_admin_pb2 as pb;"
        "assert pb.ShardStatus(shard_id='a').SerializeToString();"
        "print('google.protobuf.text_format' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("False", "")
