// The list of runs: exactly two can be compared, and it is fetched again when the server says that it has changed.
(function () {
  "use strict";

  const list = document.getElementById("runs");
  const compare = document.getElementById("compare");
  const boxes = () => [...list.querySelectorAll("input[type=checkbox]")];
  let revision = list.dataset.revision;

  function count() {
    const chosen = boxes().filter((box) => box.checked);
    compare.disabled = chosen.length !== 2;
    boxes().forEach((box) => (box.disabled = chosen.length >= 2 && !box.checked));
  }

  // What somebody has chosen, and where he is, outlasts the new list.
  async function renew() {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const chosen = new Set(boxes().filter((box) => box.checked).map((box) => box.value));
    const focused = document.activeElement;
    const at = focused && focused.closest("#rows") && (focused.value || focused.getAttribute("href"));
    ["rows", "amount", "cost"].forEach((id) => document.getElementById(id).replaceWith(page.getElementById(id)));
    boxes().forEach((box) => (box.checked = chosen.has(box.value)));
    count();
    if (!at) return;
    const again = [...list.querySelectorAll("#rows a, #rows input")].find((one) => (one.value || one.getAttribute("href")) === at);
    if (again) again.focus();
  }

  list.addEventListener("change", count);
  addEventListener("pageshow", count);
  count();
  const events = new EventSource("/events?seen=" + revision);
  events.addEventListener("changed", () => renew().catch(() => {}));
})();
