"""What the samples of a server say: differences of counters, statements, waits, work of a transaction. Pure.

``observe`` and ``capture`` take samples; this is all that is made of them, below every layer that reads or words them.
"""
