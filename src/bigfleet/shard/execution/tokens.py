"""Fencing tokens: one counter for the life of the process, a fresh number for every attempt."""

from bigfleet.model.provider_calls import Token


class FencingTokens:
    def __init__(self, shard_id: str, epoch: int) -> None:
        self._shard_id = shard_id
        self._epoch = epoch
        self._sequence = 0

    @property
    def epoch(self) -> int:
        return self._epoch

    def next(self) -> Token:
        self._sequence += 1
        return Token(self._shard_id, self._epoch, self._sequence)
