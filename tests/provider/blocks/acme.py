"""A cloud provider of forty lines, as a provider author would write it from the public surface."""

from bigfleet.provider import (
    Backend,
    CapacityUnavailable,
    Config,
    Created,
    Host,
    Inventory,
    KubeNodeReady,
    Offerings,
    OpenContext,
    Operation,
    PriceBook,
    Rate,
    Secret,
    SlotIndex,
    Ssh,
)
from tests.provider.blocks.acme_cloud import AcmeClient, AcmeNoStock


class AcmeConfig(Config):
    token: Secret
    region: str = "eu-1"
    image: str = "base"


class Acme(Backend):
    config = AcmeConfig
    cfg: AcmeConfig
    limits = {"write": Rate(10, burst=20), "read": Rate(50)}

    async def open(self, ctx: OpenContext) -> None:
        assert ctx.offerings is not None
        self.api = AcmeClient(self.cfg.token, self.cfg.region)
        self.offers = Offerings.load(ctx.offerings)
        self.slots = SlotIndex(ctx.provider, self.offers)
        self.book = PriceBook.seeded("acme.json")
        self.ready = KubeNodeReady.from_env()

    async def describe(self) -> Inventory:
        vms = await self.api.list(tag="bigfleet-machine")
        return Inventory(
            self.slots.merge(
                vms,
                machine=lambda v: v.tags["bigfleet-machine"],
                ref=lambda v: v.id,
                running=lambda v: v.state == "on",
                price=self.book.price,
                probability=self.book.risk,
            )
        )

    async def create(self, op: Operation) -> Created:
        async with op.limit("write"):
            try:
                vm = await self.api.launch(
                    type=op.machine.instance_type,
                    zone=op.machine.zone,
                    image=self.cfg.image,
                    client_token=op.operation_id,
                    tags={"bigfleet-machine": op.machine.id},
                )
            except AcmeNoStock as e:
                raise CapacityUnavailable(str(e), after=120) from e
        await self.api.wait_on(vm.id)
        return Created(Host(vm.id, node_name=vm.hostname))

    async def configure(self, op: Operation) -> None:
        await Ssh(op.host_ref).run_hook(op.bootstrap_blob, token=op.operation_id)

    async def confirm_ready(self, op: Operation) -> None:
        await self.ready.wait(op.cluster_id, provider_id=op.host_ref)

    async def drain(self, op: Operation) -> None:
        await Ssh(op.host_ref).stop_node(op.grace_period_seconds)

    async def delete(self, op: Operation) -> None:
        await self.api.destroy(op.host_ref, missing_ok=True)
