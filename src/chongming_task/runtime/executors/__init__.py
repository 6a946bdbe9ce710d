"""Who runs an attempt: a thread, or the caller itself."""
