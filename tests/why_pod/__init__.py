"""Why a pod waits, or where it runs and what it costs."""
