"""Who owns a machine: one pure function that every shard and the coordinator ask alike.

An override of the machine's id comes first, then the first partition key whose value is assigned,
then the default owner of the provider. A domain assigned to nobody is owned by nobody: it blocks
the default owner too, which is how a domain changes hands without ever having two owners.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from bigfleet.model.shard_views import OwnerSource

#: The value of an attribute key, None where the machine has none.
Attribute = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Owner:
    #: Empty: nobody.
    shard: str
    source: OwnerSource


NOBODY = Owner("", OwnerSource.DEFAULT)


@dataclass(frozen=True, slots=True)
class OwnershipView:
    """What a coordinator has assigned, as of one revision."""

    revision: int = 0
    #: Shards by (partition key, value); an empty shard owns nothing and lets nobody else.
    domains: Mapping[tuple[str, str], str] = field(default_factory=dict)
    #: Shards by machine id.
    overrides: Mapping[str, str] = field(default_factory=dict)
    #: Shards by address of the provider.
    default_owners: Mapping[str, str] = field(default_factory=dict)
    #: Every key of a domain, in the order in which they are asked.
    keys: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        revision: int,
        partition_keys: Iterable[str] = (),
        domains: Mapping[tuple[str, str], str] | None = None,
        overrides: Mapping[str, str] | None = None,
        default_owners: Mapping[str, str] | None = None,
    ) -> "OwnershipView":
        """Keys that are not listed come after the listed ones, by name."""
        assigned = dict(domains or {})
        listed = dict.fromkeys(partition_keys)
        others = sorted({key for key, _ in assigned} - listed.keys())
        return cls(
            revision,
            assigned,
            dict(overrides or {}),
            dict(default_owners or {}),
            (*listed, *others),
        )


def owner_of(machine_id: str, attribute: Attribute, provider: str, view: OwnershipView) -> Owner:
    """`provider` is the address under which the coordinator knows the machine's provider."""
    if (shard := view.overrides.get(machine_id)) is not None:
        return Owner(shard, OwnerSource.OVERRIDE)
    for key in view.keys:
        value = attribute(key)
        if value is not None and (shard := view.domains.get((key, value))) is not None:
            return Owner(shard, OwnerSource.DOMAIN)
    if (shard := view.default_owners.get(provider)) is not None:
        return Owner(shard, OwnerSource.DEFAULT)
    return NOBODY


@dataclass(frozen=True, slots=True)
class Ownership:
    """What one shard may act on: everything it is told of, or what its newest view gives it."""

    shard_id: str
    #: The setting `all`; otherwise `assigned`.
    everything: bool = True
    #: None: no view yet, so an assigned shard owns nothing.
    view: OwnershipView | None = None

    @property
    def known(self) -> bool:
        """Whether the shard knows what it owns; it is not ready before."""
        return self.everything or self.view is not None

    @property
    def revision(self) -> int:
        return self.view.revision if self.view else 0

    def owner(self, machine_id: str, attribute: Attribute, provider: str) -> Owner:
        if self.everything:
            return Owner(self.shard_id, OwnerSource.ALL)
        if self.view is None:
            return NOBODY
        return owner_of(machine_id, attribute, provider, self.view)

    def owns(self, machine_id: str, attribute: Attribute, provider: str) -> bool:
        return self.owner(machine_id, attribute, provider).shard == self.shard_id

    def newer(self, view: OwnershipView) -> "Ownership":
        """With the view, unless it is not newer than the one that is held."""
        if self.view is not None and view.revision <= self.view.revision:
            return self
        return Ownership(self.shard_id, self.everything, view)
