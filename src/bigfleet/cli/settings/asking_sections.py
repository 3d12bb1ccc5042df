"""The sections of every verb that asks a live process: whom, for how long, with which certificates.

They stand apart from those of the daemons, which pull in the settings of whole processes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bigfleet.cli.output import FORMATS
from bigfleet.cli.settings.keys import Section
from bigfleet.model.settings import Seconds, setting
from bigfleet.model.syntax import is_address

if TYPE_CHECKING:
    from bigfleet.wire.lines import TlsFiles


@dataclass(frozen=True, slots=True)
class TlsSettings:
    cert: str = setting("", "certificate of this process, PEM")
    key: str = setting("", "its private key, PEM")
    ca: str = setting("", "certificate authorities that are believed, PEM")
    required: bool = setting(False, "refuse to run without the three files")

    def files(self) -> "TlsFiles | None":
        """None: plaintext, and no identity is checked."""
        from bigfleet.wire.lines import TlsFiles

        if not self.cert:
            return None
        return TlsFiles(Path(self.cert), Path(self.key), Path(self.ca))


@dataclass(frozen=True, slots=True)
class CliSettings:
    shard: tuple[str, ...] = setting(
        ("127.0.0.1:7780",),
        "address of a shard, or its id where a coordinator knows it; some verbs take several",
    )
    coordinator: tuple[str, ...] = setting(
        ("127.0.0.1:7790",), "addresses of the coordinator; the leader is found from any of them"
    )
    context: str = setting("", "name of the fleet that is asked; see bigfleet context")
    timeout: Seconds = setting(10.0, "how long an answer may take", least=0.001)
    output: str = setting(
        "table", "wide has more columns; name only names the objects", choices=FORMATS
    )
    color: str = setting("auto", "auto: only on a terminal", choices=("auto", "always", "never"))

    def coordinators(self) -> tuple[str, ...]:
        return _listed(self.coordinator)

    def shards(self) -> tuple[str, ...]:
        """Addresses and ids; `shard/shard-0` is the id shard-0."""
        return tuple(word.removeprefix("shard/") for word in _listed(self.shard))


def _listed(words: tuple[str, ...]) -> tuple[str, ...]:
    """A flag may be repeated, or name several with commas between."""
    return tuple(name for word in words for part in word.split(",") if (name := part.strip()))


def cli_contradictions(cli: CliSettings) -> list[tuple[str, str]]:
    """An id of a shard has no colon."""
    said = [("shard", word) for word in cli.shards() if ":" in word]
    said += [("coordinator", word) for word in cli.coordinators()]
    return [(name, f"{word!r} is not host:port") for name, word in said if not is_address(word)]


def tls_contradictions(tls: TlsSettings) -> list[tuple[str, str]]:
    given = [name for name in ("cert", "key", "ca") if getattr(tls, name)]
    missing = [name for name in ("cert", "key", "ca") if name not in given]
    if given and missing:
        text = f"goes together with {' and '.join(missing)}: all three, or none for plaintext"
        return [(given[0], text)]
    if tls.required and not given:
        return [("required", "is set, but cert, key and ca are not: name the three files")]
    return []


TLS = Section("tls", TlsSettings, tls_contradictions, section_in_flag=True)
CLI = Section("cli", CliSettings, cli_contradictions)
