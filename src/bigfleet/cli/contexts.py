"""The context file: fleets by name, so that a verb need not be told where its fleet is.

`bigfleet context` writes it for people, `certs issue --context` adds certificates to it, and `up`
puts its own fleet into it for as long as it lives. A verb takes from a context what no flag,
variable or config file says. What people chose is never changed by `up`: the context that `up`
wrote is used only where nothing is chosen.

One file, contexts.json, in $XDG_CONFIG_HOME/bigfleet; only its owner can read it, and it is
replaced as a whole.
"""

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bigfleet.model.errors import BadInput, Problem

UP = "up"
_FILE = "contexts.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
#: A file of this size is not ours; a context has some hundred bytes.
_MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FleetContext:
    name: str
    #: Addresses, as for --coordinator.
    coordinator: tuple[str, ...] = ()
    #: Certificate files, all three or none.
    cert: str = ""
    key: str = ""
    ca: str = ""
    #: Where `up` keeps the state of the fleet; empty where it is temporary.
    data_dir: str = ""
    #: Process id of the `up` whose fleet it is; 0: a person wrote it.
    up_pid: int = 0

    def settings(self) -> dict[str, Any]:
        """What it says, by the names of settings."""
        said = {
            "cli.coordinator": list(self.coordinator),
            "tls.cert": self.cert,
            "tls.key": self.key,
            "tls.ca": self.ca,
        }
        return {name: value for name, value in said.items() if value}

    def document(self) -> dict[str, Any]:
        """As in the file, and as JSON for programs."""
        tls = {name: getattr(self, name) for name in ("cert", "key", "ca") if getattr(self, name)}
        return {
            "coordinator": list(self.coordinator),
            **({"tls": tls} if tls else {}),
            **({"dataDir": self.data_dir} if self.data_dir else {}),
            **({"upPid": self.up_pid} if self.up_pid else {}),
        }


@dataclass(frozen=True, slots=True)
class Contexts:
    by_name: Mapping[str, FleetContext] = field(default_factory=dict)
    #: What a person chose with `context use`; empty: nothing.
    chosen: str = ""

    def in_force(self) -> FleetContext | None:
        """What is chosen, else the fleet of an `up`; raises BadInput for a choice that is gone."""
        if self.chosen:
            return self.named(self.chosen)
        fleets = sorted(name for name, each in self.by_name.items() if each.up_pid)
        return self.by_name[fleets[0]] if fleets else None

    def named(self, name: str) -> FleetContext:
        """Raises BadInput with what there is."""
        if name in self.by_name:
            return self.by_name[name]
        from difflib import get_close_matches

        near = get_close_matches(name, list(self.by_name), n=1)
        there = ", ".join(sorted(self.by_name)) or "none yet: bigfleet context set NAME makes one"
        hint = f"did you mean {near[0]}?" if near else f"there are: {there}"
        raise BadInput([Problem("", f"no context is named {name}; {hint}")])

    def with_context(self, context: FleetContext) -> "Contexts":
        return replace(self, by_name={**self.by_name, context.name: context})

    def without(self, name: str) -> "Contexts":
        rest = {each: known for each, known in self.by_name.items() if each != name}
        return Contexts(rest, "" if self.chosen == name else self.chosen)


def why_not_a_name(name: str) -> str | None:
    if _NAME.fullmatch(name):
        return None
    return f"{name!r} is not a name; write letters, digits, '.', '_' and '-', 63 at most"


def context_file(environment: Mapping[str, str]) -> Path:
    """Raises BadInput where there is no home either."""
    base = environment.get("XDG_CONFIG_HOME", "")
    if not Path(base).is_absolute():
        try:
            base = str(Path.home() / ".config")
        except RuntimeError:
            text = "there is no home directory; XDG_CONFIG_HOME says where the file is to be"
            raise BadInput([Problem(_FILE, text)]) from None
    return Path(base) / "bigfleet" / _FILE


def read_contexts(path: Path) -> Contexts:
    """None at all where there is no file; raises BadInput for one that cannot be used."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Contexts()
    except OSError as problem:
        raise _unusable(path, f"cannot be read: {problem.strerror}") from None
    try:
        if len(content) > _MOST_BYTES:
            raise ValueError(f"has more than {_MOST_BYTES} bytes")
        return _contexts_of(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise _unusable(path, f"is not a context file: {problem}") from None


def change_contexts(path: Path, change: Callable[[Contexts], Contexts]) -> Contexts:
    """What is there now, changed, on disk; two processes wait for each other. Raises BadInput."""
    from bigfleet.edge.files import write_whole

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path.with_name(f".{_FILE}.lock")):
            changed = change(read_contexts(path))
            content = json.dumps(_document_of(changed), indent=2) + "\n"
            write_whole(path, content.encode())
            return changed
    except OSError as problem:
        raise _unusable(path, f"cannot be written: {problem.strerror}") from None


def with_up(contexts: Contexts, fleet: FleetContext) -> tuple[Contexts, str]:
    """The fleet of an `up` under the first name that is free, and that name.

    Free are also names of fleets of `up` that are gone: their process has ended, or their address
    is ours now. What a person wrote stays as it is.
    """
    number = 1
    while True:
        name = UP if number == 1 else f"{UP}-{number}"
        known = contexts.by_name.get(name)
        if known is None or (known.up_pid and _is_gone(known, fleet)):
            return contexts.with_context(replace(fleet, name=name)), name
        number += 1


def without_up(contexts: Contexts, name: str, pid: int) -> Contexts:
    """Only where it is still this process's own."""
    known = contexts.by_name.get(name)
    return contexts.without(name) if known is not None and known.up_pid == pid else contexts


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_gone(known: FleetContext, fleet: FleetContext) -> bool:
    return not is_alive(known.up_pid) or bool(set(known.coordinator) & set(fleet.coordinator))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _contexts_of(document: Any) -> Contexts:
    found = {str(name): _context_of(str(name), body) for name, body in document["contexts"].items()}
    return Contexts(found, str(document.get("chosen", "")))


def _context_of(name: str, body: dict[str, Any]) -> FleetContext:
    tls = body.get("tls", {})
    coordinator = body.get("coordinator", [])
    if not isinstance(coordinator, list):
        raise TypeError(f"the coordinator of context {name} is not a list of addresses")
    return FleetContext(
        name,
        tuple(map(str, coordinator)),
        str(tls.get("cert", "")),
        str(tls.get("key", "")),
        str(tls.get("ca", "")),
        str(body.get("dataDir", "")),
        int(body.get("upPid", 0)),
    )


def _document_of(contexts: Contexts) -> dict[str, Any]:
    chosen = {"chosen": contexts.chosen} if contexts.chosen else {}
    named = sorted(contexts.by_name.items())
    return {**chosen, "contexts": {name: each.document() for name, each in named}}


def _unusable(path: Path, text: str) -> BadInput:
    return BadInput([Problem(str(path), f"{text}; mend it, or remove the file")])
