"""The behaviours of the contract, one module per area; a row is data, its check a function."""
