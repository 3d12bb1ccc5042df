"""A certificate authority for one row, and leaves that name who speaks."""

from dataclasses import dataclass
from pathlib import Path

from bigfleet.edge.certificates import Pair, authority, leaf
from bigfleet.model.machines import Instant
from bigfleet.wire.lines import TlsFiles

DAYS = 2


@dataclass(frozen=True, slots=True)
class Certificates:
    folder: Path
    signer: Pair
    now: Instant

    @classmethod
    def made(cls, folder: Path, now: Instant) -> "Certificates":
        signer = authority("conformance CA", now, DAYS)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ca.crt").write_bytes(signer.certificate)
        return cls(folder, signer, now)

    def issue(self, name: str, uri: str) -> TlsFiles:
        """A leaf for loopback that carries one URI name."""
        pair = leaf(self.signer, name, uri, self.now, DAYS)
        certificate, key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        return TlsFiles(certificate, key, self.folder / "ca.crt")
