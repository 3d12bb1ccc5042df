"""What a Backend asks for holds unless a setting says otherwise: options, and limits of its API."""

from dataclasses import replace

from bigfleet.provider import Kind, Operation, ProviderServer, Rate
from bigfleet.provider.backend import Created
from bigfleet.provider.options import ProviderOptions, Timing
from bigfleet.provider.testing import FakeSubstrate, settle, slots
from tests.provider.rig import OPTIONS, running


class Hasty(FakeSubstrate):
    def tuned(self, options: ProviderOptions) -> ProviderOptions:
        timing = replace(options.timing, reconcile=1.0, create=7.0)
        return replace(options, timing=timing, miss_seconds=2.0, places={Kind.CREATE: 1})


def test_the_server_asks_the_backend_for_its_defaults() -> None:
    options = ProviderServer(Hasty()).options
    assert (options.timing.reconcile, options.timing.create) == (1.0, 7.0)
    assert (options.miss_seconds, options.places) == (2.0, {Kind.CREATE: 1})


def test_what_the_caller_said_wins_field_by_field() -> None:
    said = ProviderOptions(miss_seconds=9.0, timing=Timing(reconcile=30.0))
    options = ProviderServer(Hasty(), options=said).options
    assert (options.timing.reconcile, options.timing.create) == (30.0, 7.0)
    assert options.miss_seconds == 9.0


def test_options_that_are_final_are_left_alone() -> None:
    assert ProviderServer(Hasty(), options=OPTIONS, tune=False).options == OPTIONS


class Slow(FakeSubstrate):
    """One call a minute."""

    limits = {"write": Rate(1 / 60, burst=1)}

    async def create(self, op: Operation) -> Created:
        async with op.limit("write"):
            return await super().create(op)


async def created_at_once(substrate: Slow, options: ProviderOptions = OPTIONS) -> int:
    """How many of three creates get through before any time passes."""
    async with running(substrate=substrate, options=options) as rig:
        for number in range(3):
            await rig.create(f"m-{number}")
        await settle()
        return len(rig.substrate.hosts)


async def test_the_limits_of_the_class_hold() -> None:
    assert await created_at_once(Slow(slots(3))) == 1


async def test_an_instance_may_have_limits_of_its_own() -> None:
    substrate = Slow(slots(3))
    substrate.limits = {"write": Rate(1 / 60, burst=2)}
    assert await created_at_once(substrate) == 2


async def test_options_lift_the_limits_of_a_backend() -> None:
    assert await created_at_once(Slow(slots(3)), replace(OPTIONS, limits={})) == 3
