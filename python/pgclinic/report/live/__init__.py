"""A run while it goes on: the lines of a terminal and the pages that follow its events."""
