"""Where a provider's memory lies between two lives of the process."""
