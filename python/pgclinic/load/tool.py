"""The versions of this tool, for the records of its runs."""

from __future__ import annotations

import sys

from pgclinic import __version__
from pgclinic.load.engine import build_info
from pgclinic.model.run import Tool


def this_tool() -> Tool:
    """pgclinic, its engine and the Python that runs them."""
    engine = build_info()
    return Tool(
        pgclinic=__version__,
        engine=engine.version,
        engine_profile=engine.profile,
        python=".".join(str(part) for part in sys.version_info[:3]),
    )
