"""What the verbs do: each takes the options and the console, and gives an exit code."""
