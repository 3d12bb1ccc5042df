"""Where the coordinator's rows lie: one file, or an etcd cluster. Both keep the same contract."""
