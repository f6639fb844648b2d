// All charts over time of a page share one axis: one second that is pointed at, and one stretch that is zoomed into.
(function () {
  "use strict";

  const { draw, element, upright, named, worded, said } = timeDrawing;
  const scripts = document.querySelectorAll('script[type="application/json"][id^="charts-"]');
  const found = [...scripts].map((one) => JSON.parse(one.textContent));
  const charts = new Map(found.flatMap((one) => one.charts).map((chart) => [chart.id, chart]));
  const marks = Object.assign({}, ...found.map((one) => one.marks));
  const spans = [...charts.values()].map((chart) => chart.span_s);
  const whole = [Math.min(...spans.map((span) => span[0])), Math.max(...spans.map((span) => span[1]))];
  const LEAST_S = 2;
  let shown = whole;
  let second = null;

  // --- what a chart has at a second

  const marksOf = (chart) => marks[chart.trial] || [];
  const sampleAt = (chart, at) => chart.from_s.findIndex((from, place) => from <= at && at < chart.to_s[place]);
  const isWhole = () => shown[0] === whole[0] && shown[1] === whole[1];

  // A second begins where it says; marks belong to the sample, or the second, in which they were seen.
  function spanAt(chart, at) {
    const place = chart.shape === "lines" || chart.heat ? sampleAt(chart, at) : -1;
    return place < 0 ? [Math.floor(at), Math.floor(at) + 1] : [chart.from_s[place], chart.to_s[place]];
  }

  function happened(chart, at) {
    const [begin, end] = spanAt(chart, at);
    return marksOf(chart).filter((mark) => mark.at_s > begin && mark.at_s <= end).map(said);
  }

  function heatWords(chart, at) {
    const cells = (chart.heat.cells[sampleAt(chart, at)] || []).slice().sort((one, other) => other[1] - one[1]);
    const all = cells.reduce((sum, cell) => sum + cell[1], 0);
    const edges = chart.heat.edges;
    const share = (count) => Math.round((100 * count) / all) + " %";
    return cells.slice(0, 3).map(([edge, count]) => edges[edge] + " to " + edges[edge + 1] + " ms " + share(count));
  }

  function valueWords(chart, line, at) {
    const value = line.values[sampleAt(chart, at)];
    return value === null || value === undefined ? "-" : worded(value, chart.unit);
  }

  function words(chart, at) {
    const span = spanAt(chart, at);
    const values = named(chart).map((line) => line.name + " " + valueWords(chart, line, at));
    const published = chart.steps.flatMap((one) => {
      const value = one.values[Math.floor(at / one.window_s)];
      return at >= 0 && value !== undefined ? [one.name + " " + worded(value, chart.unit)] : [];
    });
    const parts = chart.heat ? heatWords(chart, at) : values.concat(published);
    return "second " + span[0] + " to " + span[1] + ": " + parts.concat(happened(chart, at)).join(" · ");
  }

  // --- drawing

  const figures = [...document.querySelectorAll("[data-chart]")].map((place) => ({
    place: place,
    chart: charts.get(place.dataset.chart),
    figure: place.closest("figure"),
    readouts: [...document.querySelectorAll('[data-readout="' + place.dataset.chart + '"]')],
  }));

  function paint(one) {
    const { place, chart } = one;
    one.width = place.clientWidth;
    if (!one.width) return;
    const size = { width: one.width, height: place.clientHeight };
    const { svg, box } = draw(chart, marksOf(chart), { ...size, shown, axis: place.dataset.axis });
    const tall = { y: box.top, height: box.bottom - box.top };
    const pen = { stroke: "var(--soft)", "stroke-dasharray": "3 3", class: "cursor" };
    one.box = box;
    one.picked = element("rect", { ...tall, width: 0, fill: "var(--link)", opacity: 0.18 });
    one.cursor = upright(0, box.top, box.bottom, { ...pen, visibility: "hidden" });
    svg.append(one.picked, one.cursor);
    place.replaceChildren(svg);
    point(one);
  }

  const placeOf = ({ box }, at) => box.left + ((at - shown[0]) / (shown[1] - shown[0])) * (box.right - box.left);

  function point(one) {
    const { chart, box } = one;
    const seen = box && second !== null && second >= shown[0] && second <= shown[1];
    if (box) one.cursor.setAttribute("visibility", seen ? "visible" : "hidden");
    if (seen) {
      one.cursor.setAttribute("x1", placeOf(one, second));
      one.cursor.setAttribute("x2", placeOf(one, second));
    }
    one.figure.querySelectorAll("[data-line]").forEach((out) => {
      const line = chart.lines[Number(out.dataset.line)];
      out.textContent = second === null ? line.mean : valueWords(chart, line, second);
    });
    one.readouts.forEach((out) => {
      if (out.dataset.still) {
        const what = second === null ? "" : happened(chart, second).join(" · ");
        const at = second === null ? "" : "Figures at second " + second.toFixed(1) + (what && ": " + what) + ".";
        out.textContent = at || out.dataset.still;
      } else out.textContent = second === null ? "\u00a0" : words(chart, second);
    });
  }

  const visible = () => figures.filter((one) => one.place.clientWidth);
  const paintAll = () => visible().forEach(paint);

  function pointAt(at) {
    second = at === null ? null : Math.min(whole[1] - 1e-6, Math.max(whole[0], at));
    visible().forEach(point);
  }

  function zoom(begin, end) {
    const length = Math.min(whole[1] - whole[0], Math.max(LEAST_S, end - begin));
    const from = Math.min(Math.max(whole[0], (begin + end - length) / 2), whole[1] - length);
    shown = length >= whole[1] - whole[0] ? whole : [from, from + length];
    document.documentElement.classList.toggle("zoomed", !isWhole());
    paintAll();
  }
  const middle = () => (second === null ? (shown[0] + shown[1]) / 2 : second);
  const zoomBy = (factor) => {
    const [at, length] = [middle(), (shown[1] - shown[0]) * factor];
    zoom(at - length / 2, at + length / 2);
  };
  const reset = () => zoom(...whole);

  // --- pointer and keys

  // What a reader hears who moves the second by keys.
  const spoken = document.createElement("p");
  spoken.className = "spoken";
  spoken.setAttribute("aria-live", "polite");

  function listen(one) {
    const { place, chart } = one;
    const at = (event) => {
      const inner = event.clientX - place.getBoundingClientRect().left;
      const share = (inner - one.box.left) / (one.box.right - one.box.left);
      return shown[0] + Math.min(1, Math.max(0, share)) * (shown[1] - shown[0]);
    };
    let start = null;
    const dragged = (event) => [Math.min(start, at(event)), Math.max(start, at(event))];
    place.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pointAt(at(event));
      if (event.pointerType === "mouse") start = at(event);
      if (start !== null) place.setPointerCapture(event.pointerId);
    });
    place.addEventListener("pointermove", (event) => {
      pointAt(at(event));
      if (start === null) return;
      const [left, right] = dragged(event).map((each) => placeOf(one, each));
      one.picked.setAttribute("x", left);
      one.picked.setAttribute("width", right - left);
    });
    place.addEventListener("pointerup", (event) => {
      if (start === null) return;
      const [from, to] = dragged(event);
      start = null;
      one.picked.setAttribute("width", 0);
      if (placeOf(one, to) - placeOf(one, from) > 8) zoom(from, to);
    });
    place.addEventListener("pointercancel", () => (start = null));
    place.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse" && start === null) pointAt(null);
    });
    place.addEventListener("dblclick", reset);
    place.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? 10 : 1;
      const from = second === null ? Math.floor(shown[0]) - 0.5 : Math.floor(second) + 0.5;
      const moves = { ArrowLeft: from - step, ArrowRight: from + step, Home: shown[0], End: shown[1] - 1e-6 };
      const [closer, farther, away] = [() => zoomBy(0.5), () => zoomBy(2), () => (reset(), pointAt(null))];
      const acts = { "+": closer, "=": closer, "-": farther, Escape: away };
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in moves || event.key in acts)) return;
      event.preventDefault();
      if (event.key in acts) return acts[event.key]();
      pointAt(moves[event.key]);
      // What is looked at stays in sight.
      const half = (shown[1] - shown[0]) / 2;
      if (second < shown[0] || second > shown[1]) zoom(second - half, second + half);
      spoken.textContent = words(chart, second);
    });
  }

  // --- buttons

  function button(name, label, act, className) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = className;
    made.textContent = name;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  }

  function equip(one) {
    one.place.tabIndex = 0;
    const title = one.chart.title;
    one.figure.querySelector("[data-tools]").append(
      button("Zoom in", "Zoom in: " + title, () => zoomBy(0.5), "tool touch"),
      button("Whole run", "Whole run: " + title, reset, "tool back"),
      button("SVG", "Download as SVG: " + title, () => chartFiles.svg(one.chart, marksOf(one.chart), shown), "tool"),
      button("CSV", "Download as CSV: " + title, () => chartFiles.csv(one.chart, marksOf(one.chart)), "tool")
    );
    listen(one);
  }

  figures.forEach(equip);
  paintAll();
  const help = document.createElement("p");
  help.className = "about hint";
  help.textContent =
    "All charts share the axis. Drag to zoom in; double click or Escape shows the whole run. " +
    "Keys: arrows move the second (with Shift by 10), Home, End, + and -.";
  if (figures.length) figures[0].figure.after(help, spoken);

  document.addEventListener("themed", paintAll);
  document.querySelectorAll(".tabbed > input").forEach((input) => input.addEventListener("change", paintAll));
  const resized = new ResizeObserver(() => visible().filter((one) => one.place.clientWidth !== one.width).forEach(paint));
  resized.observe(document.body);
})();
