// Modules of which only the CustomResourceDefinitions are read, never the code.
module bigfleet.lucy.sh/e2e/crds

go 1.25.0

require (
	github.com/prometheus-operator/prometheus-operator v0.85.0
	k8s.io/autoscaler/cluster-autoscaler/apis v0.0.0-20240830133931-adfbe7e45277
)
