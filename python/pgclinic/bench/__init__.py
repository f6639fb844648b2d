"""``pgclinic bench``: pgbench's command lines, and what they cannot ask for.

options -> request -> (initialize | prepare -> run -> judge). Nothing here prints: what a user sees is in ``report``.
"""
