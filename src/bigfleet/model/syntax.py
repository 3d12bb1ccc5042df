"""Which texts of clusters and providers are taken: one rule for each kind of name.

A requirement's key and values end up in bootstrap templates, in labels and on pages. A machine's id
and attributes end up in object names, metrics and terminals. So each must be a name before anything
reads it: no line break, no quote, no escape sequence, no path that leads upwards.

What must be printed into a script or a document all the same goes through `yaml_text` or
`shell_word`, which make one text or one word of anything.

Every check returns why a text is refused, or None where nothing is against it; the sentence says
what to write instead. Texts of few distinct values are remembered, so a text that was seen before
costs one look into a bounded cache; texts that are too long are refused before they are remembered.

Caches by texts that clusters and providers chose.

Each is bounded in entries. All are emptied when a process gives memory back: a few thousand texts
of a cluster that has gone lie spread over all the memory it once took, and keep its pages.

Addresses as settings and people write them: a host, a colon, and a port.

Names in certificates: which of them are an administrator's, and how people are told apart.

`bigfleet://admin/<name>` is the administrator of that name, `bigfleet://admin` one without a name;
both may do the same. The owner that a caller writes into a request is free text: it is shown beside
the name that the certificate proves, never instead of it.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper


T = TypeVar("T")

_caches: "list[_lru_cache_wrapper[Any]]" = []


def cached_by_text(most: int) -> "Callable[[Callable[..., T]], _lru_cache_wrapper[T]]":
    """As `lru_cache`; `forget_texts` empties it."""

    def decorated(function: Callable[..., T]) -> "_lru_cache_wrapper[T]":
        cached = lru_cache(most)(function)
        _caches.append(cached)
        return cached

    return decorated


def forget_texts() -> None:
    for cache in _caches:
        cache.cache_clear()


LONGEST_LABEL_NAME = 63
LONGEST_PREFIX = 253
#: A prefix, the slash and a name.
LONGEST_LABEL_KEY = LONGEST_PREFIX + 1 + LONGEST_LABEL_NAME
LONGEST_LABEL_VALUE = 63
LONGEST_ID = 253
#: A provider's own name for a host: those of large clouds have more than two hundred characters.
LONGEST_REFERENCE = 1024

#: An error text of a provider; the rest is cut off.
LONGEST_ERROR = 2048

#: The patterns of the custom resources, where `$` is the very end of a text.
LABEL_KEY_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)
LABEL_VALUE_PATTERN = r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"

#: Distinct keys and values remembered; a fleet has a few thousand.
_REMEMBERED = 16_384
_SHOWN = 80

_LABEL_KEY = re.compile(LABEL_KEY_PATTERN[1:-1])
_LABEL_VALUE = re.compile(LABEL_VALUE_PATTERN[1:-1])
_NODE_NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]*[A-Za-z0-9]")
_GRAPHIC = re.compile(r"[!-~]+")
_UPWARDS = re.compile(r"(?:.*[/\\])?\.\.(?:[/\\].*)?", re.DOTALL)

_KEY_FORM = (
    "write a Kubernetes label key: letters, digits, '-', '_' and '.', at most 63, "
    "with a DNS name and '/' before it if need be"
)
_VALUE_FORM = (
    "write a Kubernetes label value: letters, digits, '-', '_' and '.', "
    "beginning and ending with a letter or digit, at most 63"
)


def shown(text: str) -> str:
    """The text in quotes, printable and short, for a message or a terminal."""
    if len(text) <= _SHOWN:
        return ascii(text)
    return f"{text[:_SHOWN]!a} and {len(text) - _SHOWN} more characters"


def printable(text: str, longest: int = LONGEST_ERROR) -> str:
    """A free text as one line that a terminal shows as it is: what is not printable is escaped."""
    if len(text) > longest:
        text = f"{text[:longest]}..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """With `_` for every character that is not printable."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "_" for c in text)


def yaml_text(text: str) -> str:
    """As one text of YAML and of JSON, in quotes and on one line."""
    return json.dumps(text)


def shell_word(text: str) -> str:
    """As one word of a POSIX shell, in quotes and on one line."""
    return "'" + one_line(text).replace("'", "'\"'\"'") + "'"


def why_not_label_key(text: str) -> str | None:
    if len(text) > LONGEST_LABEL_KEY:
        return f"{shown(text)} is too long for a label key; {_KEY_FORM}"
    return _why_not_label_key(text)


def why_not_label_value(text: str) -> str | None:
    """An empty value is one."""
    if len(text) > LONGEST_LABEL_VALUE:
        return f"{shown(text)} has {len(text)} characters; {_VALUE_FORM}"
    return _why_not_label_value(text)


def why_not_resource_name(text: str) -> str | None:
    """Resources are named as labels are: `cpu`, `nvidia.com/gpu`."""
    wrong = why_not_label_key(text)
    return None if wrong is None else wrong.replace("label key", "resource name")


def why_not_machine_id(text: str) -> str | None:
    return _why_not_graphic(text, LONGEST_ID)


def why_not_cluster_id(text: str) -> str | None:
    return _why_not_graphic(text, LONGEST_ID)


def why_not_request_id(text: str) -> str | None:
    return _why_not_graphic(text, LONGEST_ID)


def why_not_node_name(text: str) -> str | None:
    """Of the label that names a machine's Node: as a label value, and as long as a DNS name."""
    if len(text) <= LONGEST_LABEL_VALUE:
        return why_not_label_value(text)
    if len(text) <= LONGEST_ID and _NODE_NAME.fullmatch(text):
        return None
    return f"{shown(text)} is not a node name; write a DNS name of at most {LONGEST_ID} characters"


def why_not_reference(text: str) -> str | None:
    """What a provider calls a host; empty where there is none."""
    return _why_not_graphic(text, LONGEST_REFERENCE) if text else None


def are_machine_ids(texts: Sequence[str]) -> bool:
    """Whether all of them are; one look at all characters together, for Lists of many machines.

    False where one might not be: then each is asked by itself.
    """
    together = "".join(texts)
    return (
        together.isascii()
        and together.isprintable()
        and " " not in together
        and ".." not in together
        and all(texts)
        and max(map(len, texts), default=0) <= LONGEST_ID
    )


def why_not_requirement(key: str, values: Sequence[str]) -> tuple[str, str] | None:
    """The part that is wrong (`key`, `values[2]`) and why, or None."""
    if wrong := why_not_label_key(key):
        return "key", wrong
    for place, value in enumerate(values):
        if wrong := why_not_label_value(value):
            return f"values[{place}]", wrong
    return None


def first_wrong(texts: Sequence[str], why_not: Callable[[str], str | None]) -> str | None:
    """Why the first text that is refused is refused."""
    return next((wrong for text in texts if (wrong := why_not(text))), None)


@cached_by_text(_REMEMBERED)
def _why_not_label_key(text: str) -> str | None:
    prefix, _, _ = text.rpartition("/")
    if _LABEL_KEY.fullmatch(text) and len(prefix) <= LONGEST_PREFIX:
        return None
    what = f"{shown(text)} is not a label key" if text else "it is empty"
    return f"{what}; {_KEY_FORM}"


@cached_by_text(_REMEMBERED)
def _why_not_label_value(text: str) -> str | None:
    if _LABEL_VALUE.fullmatch(text):
        return None
    return f"{shown(text)} is not a label value; {_VALUE_FORM}"


def _why_not_graphic(text: str, longest: int) -> str | None:
    """Printable ASCII without spaces, and no `..` between slashes."""
    if not text:
        return "it is empty; name it"
    if len(text) > longest:
        return f"{shown(text)} has {len(text)} characters; write at most {longest}"
    if not _GRAPHIC.fullmatch(text):
        return f"{shown(text)} is not plain text; write printable ASCII without spaces"
    if _UPWARDS.fullmatch(text):
        return f"{shown(text)} has a '..' between slashes; leave that part out"
    return None


_LAST_PORT = 65_535


def is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isascii() and port.isdecimal() and int(port) <= _LAST_PORT


ADMIN = "bigfleet://admin"
READONLY = "bigfleet://readonly"
#: What may follow `bigfleet://admin/`; it is compared letter by letter.
_ADMIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,252}")


def why_not_admin_name(name: str) -> str | None:
    if _ADMIN_NAME.fullmatch(name):
        return None
    return "write letters, digits, '.', '_', '-' and '@', beginning with a letter or digit"


def admin_identity(name: str = "") -> str:
    return f"{ADMIN}/{name}" if name else ADMIN


def is_admin(identity: str | None) -> bool:
    if identity is None or not identity.startswith(ADMIN):
        return False
    rest = identity.removeprefix(ADMIN)
    return not rest or (rest[0] == "/" and why_not_admin_name(rest[1:]) is None)


def who_text(owner: str, identity: str | None) -> str:
    """`ada (bigfleet://admin/ada)`; without a certificate only what the caller says of itself."""
    if identity and owner:
        return f"{owner} ({identity})"
    return owner or identity or "an unnamed caller"
