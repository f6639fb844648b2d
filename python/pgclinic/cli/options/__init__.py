"""The options that several commands share: each is said once, in the file of its group."""
