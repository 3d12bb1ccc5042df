"""etcd's messages and our records: bytes out, records back. Nothing is decided here."""

from bigfleet.wire.etcd import kv_pb2, rpc_pb2
from bigfleet.wire.etcd.records import (
    Created,
    Delete,
    Guard,
    KeyChange,
    KeyValue,
    Lease,
    Operation,
    Put,
    RangePage,
    Read,
    Transaction,
    TransactionOutcome,
    Written,
)

RANGE = "/etcdserverpb.KV/Range"
TXN = "/etcdserverpb.KV/Txn"
WATCH = "/etcdserverpb.Watch/Watch"
GRANT = "/etcdserverpb.Lease/LeaseGrant"
REVOKE = "/etcdserverpb.Lease/LeaseRevoke"
KEEP_ALIVE = "/etcdserverpb.Lease/LeaseKeepAlive"
STATUS = "/etcdserverpb.Maintenance/Status"


def read_bytes(read: Read) -> bytes:
    return _range(read).SerializeToString()


def page_of(content: bytes) -> RangePage:
    return _page(rpc_pb2.RangeResponse.FromString(content))


def after_page(content: bytes) -> bytes | None:
    """The first key that may follow a page; None: it was the last."""
    message = rpc_pb2.RangeResponse.FromString(content)
    return message.kvs[-1].key + b"\0" if message.more else None


def transaction_bytes(transaction: Transaction) -> bytes:
    return rpc_pb2.TxnRequest(
        compare=[_compare(guard) for guard in transaction.guards],
        success=[_operation(each) for each in transaction.then],
        failure=[_operation(each) for each in transaction.otherwise],
    ).SerializeToString()


def outcome_of(content: bytes) -> TransactionOutcome:
    message = rpc_pb2.TxnResponse.FromString(content)
    pages = tuple(
        _page(each.response_range)
        for each in message.responses
        if each.WhichOneof("response") == "response_range"
    )
    return TransactionOutcome(message.succeeded, message.header.revision, pages)


def watch_bytes(key: bytes, first_revision: int) -> bytes:
    create = rpc_pb2.WatchCreateRequest(key=key, start_revision=first_revision)
    return rpc_pb2.WatchRequest(create_request=create).SerializeToString()


def changes_of(content: bytes) -> tuple[KeyChange, ...] | None:
    """None: etcd has ended the watch."""
    message = rpc_pb2.WatchResponse.FromString(content)
    if message.canceled:
        return None
    return tuple(_change(event) for event in message.events)


def grant_bytes(ttl_seconds: int) -> bytes:
    return rpc_pb2.LeaseGrantRequest(TTL=ttl_seconds).SerializeToString()


def lease_of(content: bytes) -> Lease:
    message = rpc_pb2.LeaseGrantResponse.FromString(content)
    return Lease(message.ID, message.TTL)


def revoke_bytes(lease: int) -> bytes:
    return rpc_pb2.LeaseRevokeRequest(ID=lease).SerializeToString()


def keep_alive_bytes(lease: int) -> bytes:
    return rpc_pb2.LeaseKeepAliveRequest(ID=lease).SerializeToString()


def ttl_of(content: bytes) -> int:
    """Seconds; 0 or less: the lease is gone."""
    return rpc_pb2.LeaseKeepAliveResponse.FromString(content).TTL


def version_of(content: bytes) -> str:
    return rpc_pb2.StatusResponse.FromString(content).version


def _range(read: Read) -> rpc_pb2.RangeRequest:
    return rpc_pb2.RangeRequest(
        key=read.key, range_end=read.end, limit=read.limit, revision=read.revision
    )


def _page(message: rpc_pb2.RangeResponse) -> RangePage:
    rows = tuple([_key_value(kv) for kv in message.kvs])
    return RangePage(rows, message.header.revision, message.more, message.count)


def _key_value(kv: kv_pb2.KeyValue) -> KeyValue:
    return KeyValue(kv.key, kv.value, kv.create_revision, kv.mod_revision, kv.lease)


def _change(event: kv_pb2.Event) -> KeyChange:
    gone = event.type == kv_pb2.Event.DELETE
    return KeyChange(None if gone else _key_value(event.kv), event.kv.mod_revision)


def _compare(guard: Guard) -> rpc_pb2.Compare:
    match guard:
        case Created(key, revision, end):
            return rpc_pb2.Compare(
                target=rpc_pb2.Compare.CREATE, key=key, create_revision=revision, range_end=end
            )
        case Written(key, revision):
            return rpc_pb2.Compare(target=rpc_pb2.Compare.MOD, key=key, mod_revision=revision)


def _operation(operation: Operation) -> rpc_pb2.RequestOp:
    match operation:
        case Read():
            return rpc_pb2.RequestOp(request_range=_range(operation))
        case Put(key, value, lease):
            put = rpc_pb2.PutRequest(key=key, value=value, lease=lease)
            return rpc_pb2.RequestOp(request_put=put)
        case Delete(key):
            return rpc_pb2.RequestOp(request_delete_range=rpc_pb2.DeleteRangeRequest(key=key))
