"""Our own services beside the frozen contract."""
