"""Launch, watch and steer tasks and pipelines."""
