#!/usr/bin/env python3
"""The documentation as a site: the documents, and pages made from the catalog, the records and the kept runs.

    build_site.py [--into FOLDER]

writes FOLDER/source, FOLDER/zensical.toml and FOLDER/site, and fails on a warning or a link that leads nowhere.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import tomlkit

from link_check import broken_links
from pathology_pages import pathology_page, search_page
from pgclinic.checkup.catalog import catalog
from pgclinic.study.read import read_study, shipped_studies
from record_pages import record_page, records_page
from repository_links import with_site_links
from study_pages import Evidence, evidence_part, study_facts
from terminal_pictures import Session, session_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: Documents outside docs that have a page, by that page.
BESIDE = {"BENCHMARKS.md": "benchmarks.md", "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md"}
BESIDE |= {"CHANGELOG.md": "changelog.md"}
#: Guides by the question that they answer, in the order of the first page.
SIX_WAYS = {
    "My server is slow": "guides/checkup.md",
    "Is this change faster?": "guides/compare.md",
    "Which indexes?": "guides/advise.md",
    "Upgrade": "guides/upgrade.md",
    "Repeat a claim": "guides/repeat-a-claim.md",
    "Write a study": "guides/write-a-study.md",
}
#: What stands in the navigation beside them.
START = {"Quickstart": "quickstart.md", "Managed services": "guides/managed-services.md"}
CHECKED = {
    "How pgclinic was checked": "concepts/checked.md",
    "How a verdict is reached": "concepts/verdicts.md",
    "Error rates": "concepts/error-rates.md",
    "Attribution": "concepts/attribution.md",
    "Benchmarks": "benchmarks.md",
    "Evidence": "evidence/kept-runs.md",
    "Threat model": "concepts/threat-model.md",
}
REFERENCE = {
    "JSON": "reference/json.md",
    "Findings beside findings": "reference/cross-fire.md",
    "Glossary": "glossary.md",
    "Architecture": "architecture.md",
    "Contributing": "contributing.md",
    "Changelog": "changelog.md",
}
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_SESSION = re.compile(r"^<!-- session (?P<archive>\S+) (?P<lines>\d+): (?P<command>.+?) -->$", re.MULTILINE)
_CASES = re.compile(r"^<!-- conformance -->$", re.MULTILINE)
_SECTIONS = re.compile(r"^<!-- sections (?P<document>\S+): (?P<headings>.+?) -->$", re.MULTILINE)
_FROM = re.compile(r"^<!-- from (?P<document>\S+): (?P<heading>.+?) -->$", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the documentation as a site.")
    parser.add_argument("--into", type=Path, default=ROOT / "build", help="the folder of what is made")
    folder = parser.parse_args().into.resolve()
    source = folder / "source"
    for old in (source, folder / "site"):
        shutil.rmtree(old, ignore_errors=True)
    documents = {path.relative_to(ROOT).as_posix(): page for path, page in _documents()}
    places = _places(documents)
    for document, page in documents.items():
        _write(source / page, _as_page(document, page, places, source))
    _copy_files(source)
    _write_studies(source)
    _write_pathologies(source)
    _write_records(source)
    _write_configuration(folder, source, list(documents.values()))
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(folder / "zensical.toml")]
    done = subprocess.run(command, check=False)
    if done.returncode:
        return done.returncode
    broken = broken_links(folder / "site")
    for line in broken:
        print(line, file=sys.stderr)
    pages = len(list((folder / "site").rglob("*.html")))
    print(f"{folder / 'site/index.html'}: {pages} pages, {len(broken)} broken links")
    print(f"To search in it: {Path(sys.executable).name} -m http.server --bind 127.0.0.1 --directory {folder / 'site'}")
    return 1 if broken else 0


def _documents() -> Iterator[tuple[Path, str]]:
    """Every document of the repository with the page that it becomes."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = path.relative_to(ROOT / "docs").as_posix()
        if not page.startswith(("site/", "reference/pathologies/")):
            yield path, page.replace("README.md", "kept-runs.md")
    for name, page in BESIDE.items():
        yield ROOT / name, page


def _places(documents: Mapping[str, str]) -> dict[str, str]:
    """Places of the site by paths of the repository."""
    places = {**documents, "README.md": "index.md", "docs/studies/": "studies/index.md"}
    places |= {"docs/evidence/": "evidence/kept-runs.md", "docs/reference/": "reference/json.md"}
    places |= {
        f"docs/reference/{name}.schema.json": f"reference/{name}.schema.json"
        for name in _tool("write-reference").SCHEMAS
    }
    kept = [*(ROOT / "docs/evidence").rglob("*.*"), *(ROOT / "docs/images").rglob("*.*")]
    places |= {
        path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "docs").as_posix()
        for path in kept
        if path.suffix != ".md"
    }
    return places


def _as_page(document: str, page: str, places: Mapping[str, str], source: Path) -> str:
    """The document with links of the site, its sessions as pictures, and what it takes from others."""
    text = with_site_links((ROOT / document).read_text(encoding="utf-8"), document, page, places)

    def taken(found: re.Match[str]) -> str:
        part = section_of((ROOT / found["document"]).read_text(encoding="utf-8"), found["heading"])
        return with_site_links(part, found["document"], page, places)

    def shown(found: re.Match[str]) -> str:
        session = session_of(ROOT / "docs/evidence" / found["archive"])
        return _session_part(session, found, page, source)

    def all_taken(found: re.Match[str]) -> str:
        parts = sections_of((ROOT / found["document"]).read_text(encoding="utf-8"), found["headings"])
        return with_site_links(parts, found["document"], page, places)

    text = _SECTIONS.sub(all_taken, _FROM.sub(taken, text))
    return _SESSION.sub(shown, _CASES.sub(lambda _: conformance_table(), text))


def section_of(text: str, heading: str) -> str:
    """The section with this heading of the second level without it, its own headings one level lower."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit(f"no section is called {heading!r}")
    return re.sub(r"^(#+ )", r"#\1", found[1].strip(), flags=re.MULTILINE)


def sections_of(text: str, headings: str) -> str:
    """The sections of the second level whose headings match, one level lower; nothing where none does."""
    names = [name for name in re.findall(r"^## (.+)$", text, re.MULTILINE) if re.search(headings, name)]
    return "\n\n".join(f"### {name}\n\n{section_of(text, name)}" for name in names)


def conformance_table() -> str:
    """How many cases each file has."""
    files = sorted((ROOT / "tests/fixtures/conformance").glob("*.cases"))
    counts = {path.stem: path.read_text(encoding="utf-8").count("\n## ") for path in files}
    rows = [f"| {name} | {cases} |" for name, cases in (counts | {"all": sum(counts.values())}).items()]
    return "\n".join(["| about | cases |", "|---|---|", *rows])


def _session_part(session: Session, found: re.Match[str], page: str, source: Path) -> str:
    """A picture of the terminal and a link to the report."""
    name = Path(found["archive"]).name.removesuffix(".tar.xz")
    up = "../" * page.count("/")
    _write(source / f"sessions/{name}.svg", session.picture(found["command"], int(found["lines"])))
    _write(source / f"sessions/{name}.html", session.report)
    words = f"{found['command']}: {session.answer}".replace('"', "'").replace("<", "&lt;")
    return (
        f'<div class="session"><img src="{up}sessions/{name}.svg" alt="{words}"></div>\n\n'
        f"[The report of this session, as the command wrote it]({up}sessions/{name}.html)"
    )


def _copy_files(source: Path) -> None:
    """Pictures, the kept runs, and what the pages are drawn and filtered with."""
    for name in ("evidence", "images"):
        shutil.copytree(ROOT / "docs" / name, source / name, ignore=shutil.ignore_patterns("*.md"), dirs_exist_ok=True)
    for name in ("site.css", "pathology_search.js"):
        shutil.copy(HERE / name, source / name)


def _write_studies(source: Path) -> None:
    tables = _tool("write-claims-table")
    runs: dict[str, list[Evidence]] = {}
    kept = tables.kept_runs(ROOT / "docs/evidence")
    for run in kept:
        report = f"{run.archive.removesuffix('.tar.xz')}.html"
        _write(source / "studies/reports" / report, session_of(ROOT / "docs/evidence" / run.archive).report)
        one = Evidence(run.info, run.study, run.verdict, run.archive, f"reports/{report}")
        runs.setdefault(run.study.name, []).append(one)
    for name in shipped_studies():
        page = source / f"studies/{name}.md"
        text = page.read_text(encoding="utf-8") if page.is_file() else f"# {name}\n"
        _write(page, text + study_facts(read_study(name)[0]) + evidence_part(runs.get(name, ())))
    table = tables.studies_table(kept).replace("](docs/studies/", "](")
    words = (
        "Published claims and expectations, repeated on real servers. Each page has the latest kept run, judged by the "
    )
    words += "claims of today."
    _write(source / "studies/index.md", f"# Studies\n\n{words}\n\n{table}\n")


def _write_pathologies(source: Path) -> None:
    known = catalog()
    _write(source / "pathologies/index.md", search_page(known))
    for name, one in known.items():
        _write(source / f"pathologies/{name}.md", pathology_page(one, known))


def _write_records(source: Path) -> None:
    reference = _tool("write-reference")
    texts = {name: reference.schema_text(record) for name, record in reference.SCHEMAS.items()}
    schemas: dict[str, Any] = {name: json.loads(text) for name, text in texts.items()}
    _write(source / "reference/json.md", records_page(schemas))
    for name, schema in schemas.items():
        _write(source / f"reference/{name}.schema.json", texts[name])
        _write(source / f"reference/{name}.md", record_page(name, schema))


def _write_configuration(folder: Path, source: Path, pages: Sequence[str]) -> None:
    """The navigation: the six ways first, and every document that no other part names."""
    named = {*SIX_WAYS.values(), *START.values(), *CHECKED.values(), *REFERENCE.values(), "index.md"}
    guides = {_title(source / page): page for page in pages if page.startswith("guides/") and page not in named}
    studies = {name: f"studies/{name}.md" for name in shipped_studies()}
    left = set(pages) - named - set(guides.values()) - set(studies.values())
    if left:
        sys.exit(f"no part of the navigation has {', '.join(sorted(left))}")
    configuration = tomlkit.parse((HERE / "zensical.toml").read_text(encoding="utf-8"))
    project: Any = configuration["project"]
    project["nav"] = [
        {"Start": ["index.md", *_entries(START)]},
        {"Guides": [*_entries(SIX_WAYS), {"More": _entries(guides)}]},
        {"Studies": ["studies/index.md", *_entries(studies)]},
        {"Pathologies": [{"Search": "pathologies/index.md"}]},
        {"Trust": _entries(CHECKED)},
        {"Reference": _entries(REFERENCE)},
    ]
    _write(folder / "zensical.toml", tomlkit.dumps(configuration))


def _entries(pages: Mapping[str, str]) -> list[dict[str, str]]:
    return [{title: page} for title, page in pages.items()]


def _title(page: Path) -> str:
    found = _TITLE.search(page.read_text(encoding="utf-8"))
    return found[1].partition(":")[0] if found is not None else page.stem


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _tool(name: str) -> ModuleType:
    """A program of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "tools" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up.
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
