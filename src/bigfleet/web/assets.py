"""The built files of the page, from memory: they are few, and small.

Files below `assets/` carry a hash of their content in their names: browsers keep them for ever. Any
other is asked for again, and not sent again while it is the same. A path that is no file is a page
of the application, which finds out itself what the address means.
"""

import gzip
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import Response

_INDEX = "index.html"
_HASHED = "assets/"
_FOR_EVER = "public, max-age=31536000, immutable"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    #: The same, compressed; None: it would not be smaller.
    packed: bytes | None
    kind: str
    tag: str
    kept: str


class Assets:
    def __init__(self, folder: Path) -> None:
        """Reads all of them; `x.js.gz` is `x.js` compressed."""
        packed = {_name(folder, path): path for path in folder.rglob("*.gz")}
        plain = {
            _name(folder, path): path
            for path in folder.rglob("*")
            if path.is_file() and path.suffix in _TYPES
        }
        self._files = {
            name: _read(name, path, packed.get(f"{name}.gz")) for name, path in plain.items()
        }

    def __len__(self) -> int:
        return len(self._files)

    def sizes(self) -> dict[str, int]:
        """Bytes on their way to a browser, by name."""
        return {
            name: len(each.content if each.packed is None else each.packed)
            for name, each in self._files.items()
        }

    def answer(self, request: Request) -> Response:
        """A file, or the page for every other path."""
        name = request.path_params.get("path", "") or _INDEX
        found = self._files.get(name)
        if found is None and (name.startswith(_HASHED) or PurePosixPath(name).suffix in _TYPES):
            return Response("no such file\n", 404, media_type="text/plain")
        found = found or self._files.get(_INDEX)
        if found is None:
            return Response("the page's files are not installed\n", 503, media_type="text/plain")
        headers = {"cache-control": found.kept, "etag": found.tag, "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == found.tag:
            return Response(None, 304, headers)
        body = found.content
        if found.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            body, headers["content-encoding"] = found.packed, "gzip"
        return Response(body, 200, {**headers, "content-type": found.kind})


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _read(name: str, path: Path, packed: Path | None) -> Asset:
    content = path.read_bytes()
    small = packed.read_bytes() if packed is not None else gzip.compress(content, 6, mtime=0)
    return Asset(
        content,
        small if len(small) < len(content) else None,
        _TYPES[path.suffix],
        f'"{sha256(content).hexdigest()[:32]}"',
        _FOR_EVER if name.startswith(_HASHED) else "no-cache",
    )
