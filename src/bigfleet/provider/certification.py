"""assert_backend: an author's Backend in this process, judged by the conformance suite.

The suite speaks to it over the wire and knows nothing of it, so it runs as the command it is, in a
process of its own.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson

from bigfleet.provider.backend import Backend
from bigfleet.provider.options import ProviderOptions
from bigfleet.provider.server import ProviderServer

#: Broker and rows need no more where Delete gives slots back.
SLOTS = 256
_INCOMPLETE = 5
_SUITE = "from bigfleet.cli.main import main; main()"


def assert_backend(
    backend: Callable[[], Backend],
    profile: str = "core",
    *,
    options: ProviderOptions | None = None,
    only: str = "",
    seed_count: int = SLOTS,
) -> None:
    """Raises AssertionError with every row that failed; `backend` is its class, or makes one.

    Limits of the substrate's API are lifted, as there is no substrate to protect.
    """
    asyncio.run(_asserted(backend(), profile, options or ProviderOptions(), only, seed_count))


async def _asserted(
    backend: Backend, profile: str, options: ProviderOptions, only: str, seed_count: int
) -> None:
    server = ProviderServer(
        backend,
        options=replace(options, address="127.0.0.1:0", limits=options.limits or {}),
        seed_count=seed_count,
        use_fake_backend=True,
    )
    port = await server.start()
    try:
        with tempfile.TemporaryDirectory(prefix="bigfleet-certify-") as folder:
            arguments = ["--target", f"127.0.0.1:{port}", "--profile", profile, "--out", folder]
            if only:
                arguments += ["--only", only]
            code, said = await _suite(arguments)
            if why := _why(Path(folder), code, said):
                raise AssertionError(f"{type(backend).__name__} {why}")
    finally:
        await server.stop(0.0)


async def _suite(arguments: list[str]) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _SUITE, "conformance"),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, said.decode(errors="replace")


def _why(folder: Path, code: int, said: str) -> str:
    """What stands against it, empty where nothing does; only selected rows count."""
    report = folder / "report.json"
    if not report.exists():
        return f"could not be judged: {said[-2000:]}"
    document = orjson.loads(report.read_bytes())
    lines = [
        f"{row['id']} {row['status']}: {row.get('reason') or row['title']}"
        for row in document["behaviors"]
        if row["status"] in ("failed", "not_implemented") and row.get("reason") != "not selected"
    ]
    if not lines and code in (0, _INCOMPLETE):
        return ""
    return "\n  ".join([f"is {document['verdict']} for {document['profiles']}:", *lines])
