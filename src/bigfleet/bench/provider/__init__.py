"""A provider on the SDK under load, on a substrate that does everything at once."""
