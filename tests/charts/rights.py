"""What the specification lets an operator and a podwatch do in their cluster, verb by verb."""

READ = {"get", "list", "watch"}
#: (group, resource) -> verbs.
Rights = dict[tuple[str, str], set[str]]
FLEET, LEASES = "bigfleet.lucy.sh", ("coordination.k8s.io", "leases")
ALL = READ | {"create", "update", "patch", "delete"}

OPERATOR_IN_THE_CLUSTER: Rights = {
    (FLEET, "capacityrequests"): READ,
    (FLEET, "capacityrequests/status"): {"patch"},
    (FLEET, "upcomingnodes"): ALL,
    (FLEET, "upcomingnodes/status"): ALL,
    (FLEET, "availablecapacities"): ALL,
    (FLEET, "availablecapacities/status"): ALL,
    ("", "nodes"): READ | {"patch", "delete"},
    ("", "pods"): READ,
    ("policy", "poddisruptionbudgets"): READ,
    ("storage.k8s.io", "volumeattachments"): READ,
    ("", "pods/eviction"): {"create"},
    ("", "events"): {"create"},
}
PODWATCH_IN_THE_CLUSTER: Rights = {
    ("", "pods"): READ,
    (FLEET, "capacityrequests"): READ | {"create", "patch", "delete"},
    ("", "nodes"): READ,
    (FLEET, "upcomingnodes"): READ,
    (FLEET, "availablecapacities"): READ,
    ("", "persistentvolumeclaims"): READ,
    ("", "persistentvolumes"): READ,
    ("storage.k8s.io", "storageclasses"): READ,
    ("", "events"): {"create"},
}
FOR_BUFFERS: Rights = {
    ("autoscaling.x-k8s.io", "capacitybuffers"): READ,
    ("autoscaling.x-k8s.io", "capacitybuffers/status"): {"patch"},
    ("", "podtemplates"): {"get"},
    ("apps", "deployments"): {"get"},
    ("apps", "replicasets"): {"get"},
    ("apps", "statefulsets"): {"get"},
    ("batch", "jobs"): {"get"},
    ("scheduling.k8s.io", "priorityclasses"): {"get"},
}
FOR_PROVISIONING_REQUESTS: Rights = {
    ("autoscaling.x-k8s.io", "provisioningrequests"): READ,
    ("autoscaling.x-k8s.io", "provisioningrequests/status"): {"patch"},
    ("", "podtemplates"): {"get"},
    ("scheduling.k8s.io", "priorityclasses"): {"get"},
}
LEASE: Rights = {LEASES: {"create", "get", "update"}}
