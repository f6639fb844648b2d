"""The text of SQL: names and literals quoted, statements parsed, told apart, typed and written anew. No connection."""
