"""Real servers of any version, in about a second, without root and without containers.

``sources`` finds binaries, ``cluster`` makes an empty data directory per version, ``template`` fills one, ``instance``
runs a copy of it, ``registry`` remembers what runs, ``reaper`` and ``orphan_cleanup`` leave nothing behind.
"""
