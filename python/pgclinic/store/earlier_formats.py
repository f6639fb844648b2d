"""Records that earlier versions of pgclinic wrote, in today's terms."""

from __future__ import annotations

from typing import Any

import msgspec

from pgclinic.model.run import RunInfo
from pgclinic.model.trial import TrialRecord


class _Format(msgspec.Struct):
    format: int = 1


def decode_info(content: bytes) -> RunInfo:
    """A run.json of any format. Raises msgspec.MsgspecError where it is none."""
    info = msgspec.json.decode(content)
    if isinstance(info, dict) and "prelude_s" in info:
        info = {key: value for key, value in info.items() if key != "prelude_s"} | {"calibration_s": info["prelude_s"]}
    return msgspec.convert(info, RunInfo)


def decode_trial(content: bytes) -> TrialRecord:
    """A record.json of any format. Raises msgspec.MsgspecError where it is none."""
    if msgspec.json.decode(content, type=_Format).format >= 2:
        return msgspec.json.decode(content, type=TrialRecord)
    return msgspec.convert(_from_format_1(msgspec.json.decode(content)), TrialRecord)


def _from_format_1(record: Any) -> Any:
    """Format 1 had the statements of the fill in the spec, and the scripts or TPC-C in the engine's order."""
    spec = record.get("spec") if isinstance(record, dict) else None
    load = spec.get("load") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(load, dict):
        return record
    spec, load = dict(spec), dict(load)
    spec["custom_metrics"] = spec.pop("gauges", {})
    fill, scripts, tpcc = spec.pop("fill", ""), load.pop("scripts", []), load.pop("tpcc", None)
    if isinstance(tpcc, dict):
        tpcc = dict(tpcc)
        spec["dataset"] = {"kind": "tpcc", "warehouses": tpcc.pop("warehouses", None)}
        spec["traffic"] = {"kind": "tpcc", **tpcc}
    else:
        existing = isinstance(spec.get("server"), dict) and spec["server"].get("existing")
        spec["dataset"] = {"kind": "attached"} if existing else {"kind": "sql", "statements": fill}
        spec["traffic"] = {"kind": "scripts", "scripts": scripts}
    return {**record, "spec": {**spec, "load": load}, "format": 2}
