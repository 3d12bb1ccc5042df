"""A certificate authority for one row, made with openssl where that is installed."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from bigfleet.conformance.claims import NotServed
from bigfleet.wire.lines import TlsFiles

DAYS = "2"


@dataclass(frozen=True, slots=True)
class Certificates:
    folder: Path

    @classmethod
    async def made(cls, folder: Path) -> "Certificates":
        if shutil.which("openssl") is None:
            raise NotServed("certificates are made with openssl, which is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        await _openssl(
            *"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(),
            *("-subj", "/CN=conformance CA", "-days", DAYS),
            *("-keyout", str(folder / "ca.key"), "-out", str(folder / "ca.crt")),
        )
        return cls(folder)

    async def issue(self, name: str, uri: str) -> TlsFiles:
        """A leaf for loopback that carries one URI name."""
        key, request, leaf = (self.folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        await _openssl(
            *"req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(),
            *("-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request)),
        )
        names = self.folder / f"{name}.ext"
        names.write_text(f"subjectAltName=URI:{uri},IP:127.0.0.1,DNS:localhost\n")
        await _openssl(
            *("x509", "-req", "-in", str(request), "-out", str(leaf), "-days", DAYS),
            *("-CA", str(self.folder / "ca.crt"), "-CAkey", str(self.folder / "ca.key")),
            *("-CAcreateserial", "-extfile", str(names)),
        )
        return TlsFiles(leaf, key, self.folder / "ca.crt")


async def _openssl(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        "openssl",
        *arguments,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    if process.returncode:
        raise NotServed(f"openssl {arguments[0]}: {said.decode(errors='replace').strip()}")
