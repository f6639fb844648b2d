"""What indexes could serve a statement, by its text alone: the columns that it searches, keys, names. Pure."""
