"""Generates the Python of every .proto file: `make protos`, and the drift test into a folder."""

import sys
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROTOS = ROOT / "src" / "bigfleet" / "protos"
SOURCES = sorted(path.relative_to(PROTOS).as_posix() for path in PROTOS.rglob("*.proto"))
PLUGINS = ("mypy", "mypy_grpc")


def generate(into: Path) -> None:
    """Writes `bigfleet/.../*_pb2*` below the folder; raises where protoc does not accept a file."""
    from grpc_tools import protoc  # a development tool: the drift test skips without it

    commands = Path(sys.executable).parent
    arguments = [
        "protoc",
        f"--proto_path={PROTOS}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        *(f"--plugin=protoc-gen-{name}={commands / f'protoc-gen-{name}'}" for name in PLUGINS),
        *(f"--{name}_out={into}" for name in ("python", "grpc_python")),
        *(f"--{name}_out=quiet:{into}" for name in PLUGINS),
        *SOURCES,
    ]
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc refused the sources")


if __name__ == "__main__":
    generate(ROOT / "src")
