"""Words of SQL that are no plain names: PostgreSQL's grammar does not take them as the name of any column or type.

From src/include/parser/kwlist.h of PostgreSQL 18; a test compares them with what the parser itself says.
"""

from __future__ import annotations

_RESERVED = """
all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc
distinct do else end except false fetch for foreign from grant group having in initially intersect into
lateral leading limit localtime localtimestamp not null offset on only or order placing primary references
returning select session_user some symmetric system_user table then to trailing true union unique user using
variadic when where window with
"""
_FUNCTIONS_AND_TYPES = """
authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join left
like natural notnull outer overlaps right similar tablesample verbose
"""
_COLUMNS = """
between bigint bit boolean char character coalesce dec decimal exists extract float greatest grouping inout
int integer interval json json_array json_arrayagg json_exists json_object json_objectagg json_query
json_scalar json_serialize json_table json_value least merge_action national nchar none normalize nullif
numeric out overlay position precision real row setof smallint substring time timestamp treat trim values
varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
xmlserialize xmltable
"""
#: A name that is one of these stands in quotes, as quote_ident() has it.
TAKEN_WORDS = frozenset((_RESERVED + _FUNCTIONS_AND_TYPES + _COLUMNS).split())
