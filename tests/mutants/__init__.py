"""The mutation check: flip one decision of the engine at a time and see a test notice."""
