"""The rules of the house, without clock, thread, file or log: what a record is, and how it may change."""
