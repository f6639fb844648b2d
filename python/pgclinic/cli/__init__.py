"""The verbs. The only layer that prints or exits."""
