"""Addresses as settings and people write them: a host, a colon, and a port."""

_LAST_PORT = 65_535


def is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isascii() and port.isdecimal() and int(port) <= _LAST_PORT
