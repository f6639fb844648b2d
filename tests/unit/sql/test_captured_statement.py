"""Of a twin's statements only those are let through that a capture writes."""

from __future__ import annotations

import pytest

from pgclinic.capture.statements import create_role
from pgclinic.model.twin import ObjectKind
from pgclinic.model.twin_refusal import ObjectRefusal
from pgclinic.sql.captured_statement import extension_of, is_name, refused, role_named


@pytest.mark.parametrize(
    ("kind", "statement"),
    [
        (ObjectKind.ROLE, create_role('"O\'Neil ""x"')),
        (ObjectKind.EXTENSION, 'create extension if not exists "uuid-ossp" schema public'),
        (ObjectKind.SCHEMA, "create schema audit"),
        (ObjectKind.TYPE, "create type public.r as range (subtype = int4)"),
        (ObjectKind.COLLATION, "create collation public.c (provider = icu, locale = 'und')"),
        (ObjectKind.FUNCTION, "create aggregate public.a (int) (sfunc = int4pl, stype = int)"),
        (ObjectKind.TABLE, "create table public.t (a int, b int generated always as (a + 1) virtual)"),
        (ObjectKind.COLUMN, "alter table only public.t alter column a set statistics 500"),
        (ObjectKind.COLUMN, "alter sequence public.s owned by public.t.a"),
        (ObjectKind.KEY, "alter table public.t add constraint k primary key (a, b without overlaps)"),
        (ObjectKind.INDEX, "alter index public.k set (fillfactor='80')"),
        (ObjectKind.VIEW, "create materialized view public.m as select 1"),
        (ObjectKind.POLICY, "alter table public.t enable row level security, force row level security"),
    ],
)
def test_what_a_capture_writes_is_let_through(kind: ObjectKind, statement: str) -> None:
    assert refused(kind, statement) is None


@pytest.mark.parametrize(
    ("kind", "statement", "refusal"),
    [
        (ObjectKind.ROLE, create_role("bob").replace("nologin", "superuser"), ObjectRefusal.STATEMENT),
        (ObjectKind.ROLE, create_role('x nologin; alter role y superuser; --"'), ObjectRefusal.STATEMENT),
        (ObjectKind.SCHEMA, "create schema s create table t (a int)", ObjectRefusal.STATEMENT),
        (ObjectKind.SCHEMA, "create schema s authorization postgres", ObjectRefusal.STATEMENT),
        (ObjectKind.EXTENSION, "create extension hstore version '1.0' cascade", ObjectRefusal.STATEMENT),
        (ObjectKind.EXTENSION, "create extension plpython3u", ObjectRefusal.EXTENSION),
        (ObjectKind.TABLE, "create table t as select 1", ObjectRefusal.STATEMENT),
        (ObjectKind.TABLE, "create table t (a int) tablespace x", ObjectRefusal.STATEMENT),
        (ObjectKind.KEY, "alter table t owner to postgres", ObjectRefusal.STATEMENT),
        (ObjectKind.FUNCTION, "create function f() returns int as 'a', 'b' language c", ObjectRefusal.LANGUAGE),
        (ObjectKind.FUNCTION, "create function f() returns int as 'a' language internal", ObjectRefusal.LANGUAGE),
        (ObjectKind.TABLE, "", ObjectRefusal.UNREADABLE),
        (ObjectKind.TABLE, "create table t (a int);; drop table t", ObjectRefusal.UNREADABLE),
    ],
)
def test_anything_else_is_named(kind: ObjectKind, statement: str, refusal: ObjectRefusal) -> None:
    found = refused(kind, statement)
    assert found is not None
    assert found.refusal is refusal


def test_names_are_names() -> None:
    assert all(is_name(name) for name in ("t", "public.t", 'public."Or""der; x"', "größe", "a$1"))
    assert not any(is_name(name) for name in ("t;", "t (a)", "t -- x", "1t", "", "a.b.c", 'a"b"', "t\n", "t /* */"))


def test_what_is_taken_from_statements_is_only_a_name() -> None:
    assert role_named(create_role('"a b"')) == '"a b"'
    assert role_named("do $$ begin end $$") is None
    assert extension_of('create extension if not exists citext schema "Ext"') == ("citext", "Ext")
