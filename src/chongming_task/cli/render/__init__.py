"""Records as text for people and as JSON for scripts. Pure: whoever asks says what time it is."""
