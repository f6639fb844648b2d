"""The page of a process's memory in a real Chromium: drawn without scripts or network, it fits."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from fixtures.chromium import needs_chromium
from fixtures.drawn import drawn_of
from pgclinic.model.memory import MemoryContext, MemorySnapshot, MemorySource
from pgclinic.observe.log_tail import LogDestination, messages
from pgclinic.report.sections.memory.view import render_memory
from pgclinic.samples.memory_dump import last_dump

FIXTURES = Path(__file__).parents[1] / "fixtures" / "memory"

if TYPE_CHECKING:
    from playwright import sync_api

pytestmark = needs_chromium()


def recorded() -> MemoryContext:
    lines = messages((FIXTURES / "18.txt").read_bytes(), LogDestination.STDERR, pid=19453, prefix="%m [%p] ")
    found = last_dump(lines)
    assert found is not None
    return found[0]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two looks, between which the cache grew and something else went away."""
    root = recorded()
    grown = msgspec.structs.replace(
        root,
        children=tuple(
            msgspec.structs.replace(child, total_bytes=child.total_bytes * 2)
            if child.name == "CacheMemoryContext"
            else child
            for child in root.children
            if child.name != "TopPortalContext"
        ),
    )
    looks = [
        MemorySnapshot(pid=4711, at_s=1_795_258_400.0 + number, source=MemorySource.LOG, root=each)
        for number, each in enumerate((root, grown))
    ]
    path = tmp_path_factory.mktemp("memory") / "memory.html"
    path.write_text(render_memory(looks, "18.6"), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", drawn_of("memory page", ["light", "dark"]))
@pytest.mark.parametrize("width", [320, 1100])
def test_the_icicle_is_drawn_and_fits(browser: "sync_api.Browser", page_file: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page = context.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(page_file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    picture = page.locator(".icicle .frame > svg")
    assert "CacheMemoryContext" in (picture.get_attribute("aria-label") or "")
    boxes = page.locator(".icicle svg svg rect").evaluate_all(
        "all => all.map(one => [one.getBoundingClientRect().width, getComputedStyle(one).fill])"
    )
    assert len(boxes) > 10
    assert min(box[0] for box in boxes) > 0.3
    assert len({box[1] for box in boxes}) >= 2, "what grew has another colour than what did not"
    labels = page.locator(".icicle text:not(.amount)").all_text_contents()
    assert {"TopMemoryContext", "CacheMemoryContext"} <= set(labels)
    assert page.get_by_text("Shrank, by name of the context").is_visible()
    assert requests == [page_file.as_uri()]
    assert complaints == []
    context.close()
