"""The cloud of a made-up vendor, as its client library shows it."""

from dataclasses import dataclass, field


class AcmeNoStock(Exception):
    """None left of that type in that zone."""


@dataclass(slots=True)
class Vm:
    id: str
    hostname: str
    tags: dict[str, str]
    state: str = "on"


@dataclass(slots=True)
class AcmeClient:
    token: str
    region: str
    vms: dict[str, Vm] = field(default_factory=dict)
    stock: int = 2

    async def list(self, tag: str) -> list[Vm]:
        return [vm for vm in self.vms.values() if tag in vm.tags]

    async def launch(
        self, *, type: str, zone: str, image: str, client_token: str, tags: dict[str, str]
    ) -> Vm:
        if len(self.vms) == self.stock:
            raise AcmeNoStock(f"no {type} left in {zone} for {image}")
        name = f"vm-{client_token}"
        return self.vms.setdefault(client_token, Vm(name, f"{name}.{self.region}", tags))

    async def wait_on(self, vm_id: str) -> None:
        assert any(vm.id == vm_id for vm in self.vms.values())

    async def destroy(self, vm_id: str, *, missing_ok: bool) -> None:
        self.vms = {token: vm for token, vm in self.vms.items() if vm.id != vm_id}
        assert missing_ok
