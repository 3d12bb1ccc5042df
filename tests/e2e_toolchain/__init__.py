"""How the control plane of the e2e tests is pinned, found and made; without making it."""
