"""From a snapshot of a live server to findings: what is wrong, why, what it costs, and what cures it."""
