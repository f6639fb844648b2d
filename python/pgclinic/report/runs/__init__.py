"""Runs beside and after each other: the list, its filters, two of them, their history."""
