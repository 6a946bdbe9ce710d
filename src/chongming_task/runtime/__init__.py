"""What makes the rules run: one engine thread, its timers and queue, and the workers."""
