"""Providers of the coordinator's list, for shards that attach all of them.

What was attached once is attached again at the next start, whether or not the coordinator is there:
machines that were bound through it must be known before anything is decided. A provider that leaves
the list stays attached until then; the coordinator lets none go that a shard still names.
"""

from collections.abc import Iterable, Mapping

import msgspec

from bigfleet.model.coordination import ProviderEntry
from bigfleet.shard.effects import Effects
from bigfleet.shard.instructions import AttachProvider
from bigfleet.shard.settings import CurrentShardSettings

KEY = "registry"


class Registry:
    def __init__(
        self, effects: Effects, providers: Mapping[str, str], settings: CurrentShardSettings
    ) -> None:
        """`providers`: addresses by name of those attached, as they are at any moment."""
        self._effects = effects
        self._providers = providers
        self._settings = settings
        #: Names that were complained about.
        self._strange: set[str] = set()

    @property
    def _is_wanted(self) -> bool:
        return self._settings.now.providers_from_registry

    def row_of(self, listed: Iterable[ProviderEntry]) -> bytes:
        """What is kept under KEY before `take`."""
        wanted = sorted(listed, key=lambda each: each.name) if self._is_wanted else []
        return msgspec.json.encode([(each.name, each.address) for each in wanted])

    def take(self, listed: Iterable[ProviderEntry]) -> None:
        if not self._is_wanted:
            return
        entries = tuple(listed)
        addresses = {each.name: each.address for each in entries}
        for name, address in providers_to_attach(addresses, self._providers).items():
            text = f"provider {name} at {address} is on the coordinator's list: attaching it"
            self._effects.log("info", "provider_attached", text, provider=name)
            self._effects.ask(AttachProvider(name, address))
        for name, address in addresses.items():
            known = self._providers.get(name, address)
            if known != address and name not in self._strange:
                self._strange.add(name)
                text = (
                    f"the coordinator lists provider {name} at {address}, this shard is attached"
                    f" to one of that name at {known}; it stays so until a restart"
                )
                self._effects.log("warning", "provider_elsewhere", text, provider=name)


def providers_to_attach(listed: Mapping[str, str], attached: Mapping[str, str]) -> dict[str, str]:
    """Addresses by name of what is new both by name and by address."""
    known = set(attached.values())
    return {n: a for n, a in listed.items() if a and n not in attached and a not in known}


def kept_providers(stored: Mapping[str, bytes]) -> dict[str, str]:
    """Of an earlier life; what cannot be read is nothing, and comes with the next sync."""
    row = stored.get(KEY)
    if row is None:
        return {}
    try:
        return dict(msgspec.json.decode(row, type=list[tuple[str, str]]))
    except msgspec.MsgspecError:
        return {}
