"""Who runs an attempt: a thread, a process, or the caller itself."""
