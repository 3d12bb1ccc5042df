"""The six requests of a provider as call records and back.

Unknown states of a ListFilter read as UNSPECIFIED, a state no machine has: a filter that names
only those matches nothing, never everything.
"""

from typing import assert_never

from bigfleet.model.provider_calls import (
    ConfigureCall,
    CreateCall,
    DeleteCall,
    DrainCall,
    ListCall,
    Mutation,
    Token,
)
from bigfleet.v1alpha1 import provider_pb2 as pb
from bigfleet.wire.machines import state_number, state_of

SERVICE = "bigfleet.v1alpha1.CapacityProvider"

Fenced = pb.CreateRequest | pb.ConfigureRequest | pb.DrainRequest | pb.DeleteRequest


def create_call(request: bytes) -> CreateCall:
    message = pb.CreateRequest.FromString(request)
    return CreateCall(message.machine_id, _token_of(message))


def configure_call(request: bytes) -> ConfigureCall:
    message = pb.ConfigureRequest.FromString(request)
    return ConfigureCall(
        message.machine_id,
        message.cluster_id,
        message.bootstrap_blob,
        _token_of(message),
        dict(message.shard_metadata),
    )


def drain_call(request: bytes) -> DrainCall:
    message = pb.DrainRequest.FromString(request)
    return DrainCall(message.machine_id, message.grace_period_seconds, _token_of(message))


def delete_call(request: bytes) -> DeleteCall:
    message = pb.DeleteRequest.FromString(request)
    return DeleteCall(message.machine_id, _token_of(message))


def machine_id_of(request: bytes) -> str:
    return pb.MachineRef.FromString(request).id


def list_call(request: bytes) -> ListCall:
    message = pb.ListFilter.FromString(request)
    states = tuple(dict.fromkeys(state_of(number) for number in message.states))
    return ListCall(states, message.max_results, message.since_revision)


def mutation_bytes(call: Mutation) -> bytes:
    message: Fenced
    match call:
        case CreateCall():
            message = pb.CreateRequest(machine_id=call.machine_id)
        case ConfigureCall():
            message = pb.ConfigureRequest(
                machine_id=call.machine_id,
                cluster_id=call.cluster_id,
                bootstrap_blob=call.bootstrap_blob,
                shard_metadata=call.shard_metadata,
            )
        case DrainCall():
            message = pb.DrainRequest(
                machine_id=call.machine_id, grace_period_seconds=call.grace_period_seconds
            )
        case DeleteCall():
            message = pb.DeleteRequest(machine_id=call.machine_id)
        case _:
            assert_never(call)
    message.shard_id = call.token.shard_id
    message.shard_epoch = call.token.epoch
    message.sequence_number = call.token.sequence
    return message.SerializeToString(deterministic=True)


def get_bytes(machine_id: str) -> bytes:
    return pb.MachineRef(id=machine_id).SerializeToString()


def list_request_bytes(call: ListCall) -> bytes:
    return pb.ListFilter(
        states=[state_number(state) for state in call.states],
        max_results=call.max_results,
        since_revision=call.since_revision,
    ).SerializeToString()


def _token_of(message: Fenced) -> Token:
    return Token(message.shard_id, message.shard_epoch, message.sequence_number)
