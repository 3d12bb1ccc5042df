"""What a provider decides, as pure functions over immutable records: no clock, no I/O."""
