// Draws what was sampled of each arm's trial: panels below each other on one axis of time, read out all at once.
// An arm is drawn when it is first looked at.
(function () {
  "use strict";

  const kit = chartKit;
  const trials = JSON.parse(document.getElementById("observed").textContent);
  const SIZES = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]];
  const STROKES = { checkpoint: ["--ink", [], 0.75], autovacuum: ["--part-2", [5, 3], 0.8], autoanalyze: ["--part-4", [2, 3], 0.8] };
  const stepped = uPlot.paths.stepped({ align: -1 });

  function bytes(value) {
    const [unit, size] = SIZES.find((one) => value >= one[1]) || ["bytes", 1];
    return kit.figure(value / size) + " " + unit;
  }
  const small = (value) => (value < 10 ? value.toLocaleString("en-US", { maximumFractionDigits: 2 }) : kit.figure(value));
  const worded = (value, unit) => (unit === "B/s" ? bytes(value) + "/s" : small(value) + unit);
  const ticked = (value, unit) => (unit === "B/s" && value >= 1000 ? bytes(value).replace(" ", "") : kit.tick(value));

  const inkOf = (trial, panel, line) => {
    if (line.part !== null) return kit.colour("--part-" + line.part);
    return panel.stacked ? kit.colour("--part-rest") : kit.armColour(trial.arm);
  };

  // What is drawn of a stack: each part on top of those before it, the topmost first, so that the lower ones cover it.
  function piled(panel) {
    let below = panel.x.map(() => 0);
    return panel.lines.map((line) => (below = line.values.map((value, at) => (value === null ? null : below[at] + value))));
  }

  function layers(trial, panel) {
    const columns = panel.stacked ? piled(panel) : panel.lines.map((line) => line.values);
    const all = panel.lines.map((line, at) => {
      const ink = () => inkOf(trial, panel, line);
      const series = { stroke: ink, width: panel.stacked ? 0.5 : 1.75, paths: stepped, points: { show: false } };
      return { values: columns[at], series: panel.stacked ? Object.assign(series, { fill: ink }) : series };
    });
    return panel.stacked ? all.reverse() : all;
  }

  function highest(columns) {
    const top = Math.max(0, ...columns.map((values) => values.reduce((most, value) => Math.max(most, value || 0), 0)));
    return top > 0 ? top * 1.08 : 1;
  }

  // The warm-up. Called before anything else is drawn.
  function shade(plot) {
    const { left, top, height } = plot.bbox;
    const ctx = plot.ctx;
    ctx.save();
    ctx.fillStyle = kit.colour("--faint");
    ctx.fillRect(left, top, Math.max(0, plot.valToPos(0, "x", true) - left), height);
    ctx.restore();
  }

  function drawMarks(plot, trial) {
    const ratio = devicePixelRatio || 1;
    const { top, height } = plot.bbox;
    const ctx = plot.ctx;
    ctx.save();
    trial.marks.forEach((mark) => {
      const [ink, dash, alpha] = STROKES[mark.kind];
      const x = Math.round(plot.valToPos(mark.at_s, "x", true)) + 0.5;
      ctx.strokeStyle = kit.colour(ink);
      ctx.globalAlpha = alpha;
      ctx.lineWidth = ratio;
      ctx.setLineDash(dash.map((length) => length * ratio));
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + height);
      ctx.stroke();
    });
    ctx.restore();
  }

  // A value holds from the point before it until its own.
  function valueAt(panel, line, at) {
    const next = panel.x.findIndex((x) => x >= at);
    return next < 0 || panel.x[0] > at ? null : line.values[next];
  }

  function tell(pane, trial, at) {
    const nowhere = at === null || at === undefined;
    pane.querySelector("[data-when]").textContent = nowhere ? "Figures are means while measuring." : "Figures at second " + at.toFixed(1) + ".";
    pane.querySelectorAll(".panel").forEach((place, number) => {
      const panel = trial.panels[number];
      place.querySelectorAll("[data-line]").forEach((out, index) => {
        const line = panel.lines[index];
        const value = nowhere ? null : valueAt(panel, line, at);
        out.textContent = nowhere ? line.mean : value === null ? "-" : worded(value, panel.unit);
      });
    });
  }

  function drawPanel(pane, trial, panel, place, isLast) {
    const drawn = layers(trial, panel);
    const key = "observed-" + trial.arm;
    const options = {
      width: place.clientWidth,
      height: place.clientHeight,
      padding: [8, 12, isLast ? 0 : 4, 0],
      legend: { show: false },
      cursor: { sync: { key: key }, drag: { x: false, y: false }, y: false, points: { show: false } },
      scales: { x: { time: false, range: trial.axis }, y: { range: [0, highest(drawn.map((one) => one.values))] } },
      axes: [
        kit.axis({ size: isLast ? 22 : 0, incrs: kit.WHOLE_SECONDS, values: (u, all) => all.map((one) => (isLast ? one : "")) }),
        kit.axis({ size: 56, space: 26, values: (u, all) => all.map((one) => ticked(one, panel.unit)) }),
      ],
      series: [{}].concat(drawn.map((one) => one.series)),
      hooks: {
        drawClear: [shade],
        draw: [(plot) => drawMarks(plot, trial)],
        setCursor: [(plot) => place.matches(":hover") && tell(pane, trial, plot.posToVal(plot.cursor.left, "x"))],
      },
    };
    const plot = new uPlot(options, [panel.x].concat(drawn.map((one) => one.values)), place);
    plot.over.addEventListener("mouseleave", () => tell(pane, trial, null));
    kit.plots.push({ plot: plot, place: place });
  }

  function drawPane(pane) {
    if (pane.dataset.drawn || !pane.clientWidth) return;
    pane.dataset.drawn = "yes";
    const trial = trials[Number(pane.dataset.observed)];
    const places = pane.querySelectorAll("[data-panel]");
    places.forEach((place, at) => drawPanel(pane, trial, trial.panels[at], place, at === places.length - 1));
  }

  const drawShown = () => document.querySelectorAll("[data-observed]").forEach(drawPane);
  document.querySelectorAll(".tabbed > input").forEach((input) => input.addEventListener("change", drawShown));
  drawShown();
})();
