"""A server's log, read: files -> spans that may be events -> entries -> events. Only ``follow`` touches a disk."""
