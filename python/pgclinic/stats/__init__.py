"""Pure mathematics on plain numbers: no records, no I/O, no clock. One concern a file."""
