"""Logs, metrics and traces of tasks: nothing here is loaded, or costs anything, unless somebody asks for it."""
