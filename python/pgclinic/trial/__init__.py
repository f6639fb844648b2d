"""One trial: a server, its data, its condition, the load and what was seen, in one straight function."""
