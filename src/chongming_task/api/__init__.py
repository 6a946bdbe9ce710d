"""What callers hold: tasks, the controller, handles."""
