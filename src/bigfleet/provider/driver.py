"""Real chance, for processes; everything else gets it passed in."""

import random
import secrets


def fresh_incarnation() -> str:
    return secrets.token_hex(6)


def fresh_chance() -> random.Random:
    return random.Random(secrets.randbits(64))
