"""Study files of format 1, which runs recorded before format 2 contain: their claims in today's terms.

Format 1 had one field for what a source prints and for what the study's author expected. It does not say which, so its
ratio and its text are read as published, as they were when such a run was judged.
"""

from __future__ import annotations

from typing import Any

FORMAT = 1
_REASON = "the study file of format 1 names the region without a reason"


def from_format_1(raw: dict[str, Any]) -> dict[str, Any]:
    """The document with its claims as format 2 writes them; what has another shape is left for the reader to refuse."""
    claims = raw.get("claims")
    if not isinstance(claims, list):
        return raw
    return {**raw, "claims": [_claim(claim) if isinstance(claim, dict) else claim for claim in claims]}


def _claim(claim: dict[str, Any]) -> dict[str, Any]:
    known = dict(claim)
    ratio, text = known.pop("published_ratio", None), known.pop("published_text", None)
    value = known.pop("published_value", None)
    if not known.get("open"):
        known["published"] = {"ratio": ratio, "text": text}
    if value is not None:
        known["reference_value"] = value
    if "region" in known:
        known["region_reason"] = _REASON
    return known
