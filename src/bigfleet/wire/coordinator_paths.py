"""What the coordinator's two services and the calls of shards are named on the line."""

SERVICE = "bigfleet.v1alpha1.Coordinator"
ADMIN_SERVICE = "bigfleet.admin.v1alpha1.CoordinatorAdmin"
REPORT_SHARD = f"/{SERVICE}/ReportShard"
SYNC_SHARD = f"/{ADMIN_SERVICE}/SyncShard"
#: Answered by every replica, leader or not.
GET_STATUS = f"/{ADMIN_SERVICE}/GetStatus"
JOIN_RAFT_CLUSTER = f"/{SERVICE}/JoinRaftCluster"
