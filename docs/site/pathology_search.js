// The page of pathologies: entries that have all words, in any order. The words are in the address, so that a search can be linked to.
(() => {
  const form = document.querySelector(".pathology-search");
  if (!form) return;
  const entries = [...document.querySelectorAll(".pathologies > p")];
  const texts = entries.map((entry) => `${entry.dataset.words} ${entry.textContent}`.toLowerCase());
  const query = form.elements.q, area = form.elements.area, output = form.querySelector("output");
  const asked = new URLSearchParams(location.search);
  query.value = asked.get("q") ?? "";
  area.value = asked.get("area") ?? "";
  if (area.selectedIndex < 0) area.value = "";

  const filter = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    entries.forEach((entry, at) => {
      const fits = (!area.value || entry.dataset.area === area.value) && words.every((word) => texts[at].includes(word));
      entry.hidden = !fits;
      shown += fits;
    });
    output.value = `${shown} of ${entries.length}`;
    const kept = new URLSearchParams(Object.entries({ q: query.value, area: area.value }).filter(([, value]) => value));
    history.replaceState(null, "", `${location.pathname}${kept.size ? `?${kept}` : ""}`);
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
