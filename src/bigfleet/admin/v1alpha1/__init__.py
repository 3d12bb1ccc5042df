"""Generated from protos/bigfleet/admin/v1alpha1 by `make protos`; released files only grow."""
