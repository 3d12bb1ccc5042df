"""Generated from protos/bigfleet/v1alpha1 by `make protos`: the frozen contract, byte for byte."""
