"""What the program of the site makes of links, of sections and of pathologies; the built site is in tests/browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_site import conformance_table, section_of, sections_of
from fixtures.conformance_cases import read_cases
from link_check import broken_links
from pathology_pages import looked_at, search_page, setting_names, wait_events
from pgclinic.checkup import sampled_waits
from pgclinic.checkup.catalog import catalog
from record_pages import record_page
from repository_links import with_site_links

PLACES = {"BENCHMARKS.md": "benchmarks.md", "docs/guides/b.md": "guides/b.md", "docs/studies/": "studies/index.md"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[b](b.md#part)", "[b](b.md#part)"),
        ("[all](../../BENCHMARKS.md#x)", "[all](../benchmarks.md#x)"),
        ("[studies](../studies)", "[studies](../studies/index.md)"),
        ("[code](../../tools/keep-run)", "code"),
        ("[other](https://example.org/a.md) [here](#part)", "[other](https://example.org/a.md) [here](#part)"),
        ("```text\n[code](../../tools/keep-run)\n```\n", "```text\n[code](../../tools/keep-run)\n```\n"),
    ],
)
def test_links_of_the_repository_become_those_of_the_site(text: str, expected: str) -> None:
    assert with_site_links(text, "docs/guides/a.md", "guides/a.md", PLACES) == expected


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.html").write_text('<h1 id="top"><a href="sub/b.html#there"></a><a href="https://example.org"></a>')
    (tmp_path / "sub/b.html").write_text('<p id="there"><a href="../a.html#top"></a><a href="../../out.html"></a>')
    assert broken_links(tmp_path) == ["sub/b.html: ../../out.html"]
    (tmp_path / "c.html").write_text('<a href="a.html#gone"></a><img src="none.svg"><a href="#"></a>')
    assert broken_links(tmp_path)[:2] == ["c.html: a.html#gone", "c.html: none.svg"]


def test_a_section_is_taken_without_its_heading_and_one_level_lower() -> None:
    text = "# A\n\n## One\n\n### Part\n\nx\n\n## Two kills\n\ny\n"
    assert section_of(text, "One") == "#### Part\n\nx"
    assert sections_of(text, "kill") == "### Two kills\n\ny"
    assert sections_of(text, "chaos") == ""
    with pytest.raises(SystemExit, match="no section is called 'Three'"):
        section_of(text, "Three")


def test_the_table_counts_the_cases_that_are_run() -> None:
    assert f"| all | {len(read_cases())} |" in conformance_table()


def test_what_a_pathology_looks_at_is_read_from_its_code() -> None:
    known = catalog()
    assert {"IO:BuffileRead", "IO:BuffileWrite"} <= set(looked_at(known["work-mem-small"]).wait_events)
    assert "work_mem" in looked_at(known["work-mem-small"]).settings
    assert looked_at(known["row-lock-queue"]).wait_events == ("Lock:transactionid", "Lock:tuple")
    assert looked_at(known["standby-lags"]).wait_events == ("IPC:SyncRep",)
    assert all(set(looked_at(one).settings) <= setting_names() for one in known.values())
    page = search_page(known)
    assert all(f'href="{name}.html"' in page for name in known)


@pytest.mark.parametrize("name", ["WAL_SYNC", "WAL_WRITE", "TEMPORARY_FILES", "SLRU_READ", "WAL_WRITE_LOCK"])
def test_waits_have_the_names_of_postgresql_18_too(name: str) -> None:
    """Their capital letters changed with PostgreSQL 17, and a wait under another name is not seen."""
    names = getattr(sampled_waits, name)
    assert {one.lower() for one in names} == {one.lower() for one in set(names) & set(wait_events().values())}


def test_the_fields_of_a_record_have_types_links_and_defaults() -> None:
    inner = {
        "type": "object",
        "description": "An arm.",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
    outer = {
        "type": "object",
        "properties": {
            "arms": {"type": "array", "items": {"$ref": "#/$defs/Arm"}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
    }
    page = record_page("thing", {"$ref": "#/$defs/Whole", "$defs": {"Arm": inner, "Whole": outer}})
    assert page.index("## Whole") < page.index("## Arm")
    assert "| `arms` | array of [Arm](#arm) | `null` |" in page
    assert "| `note` | string or null | `null` |" in page
    assert "An arm." in page
    assert "| `name` | string | required |" in page
