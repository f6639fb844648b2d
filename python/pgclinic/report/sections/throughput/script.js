// Draws the seconds of every trial, arm by arm.
(function () {
  "use strict";

  const { WHOLE_SECONDS, colour, armColour, figure, tick, axis, plots } = chartKit;
  const data = JSON.parse(document.getElementById("data").textContent);
  const LABEL_GAP = 16;

  // A logarithmic axis has no zero: there a second without a transaction leaves a gap, and a lone second is a dot.
  const plotted = (values) => (data.log ? values.map((value) => (value > 0 ? value : null)) : values);

  // Values between two gaps, of which a line alone would show nothing.
  function lone(plot, index) {
    const values = plot.data[index];
    const empty = (at) => values[at] === null || values[at] === undefined;
    return values.map((value, at) => at).filter((at) => !empty(at) && empty(at - 1) && empty(at + 1));
  }

  function seriesOf(line) {
    const mean = line.trial === null;
    return {
      label: data.arms[line.arm],
      stroke: () => armColour(line.arm),
      width: mean ? 3 : 1,
      alpha: mean ? 1 : 0.38,
      points: { show: data.log && mean, size: 6, fill: () => armColour(line.arm), filter: lone },
    };
  }

  // Published steps keep their windows' edges, which lie between the seconds of the other lines.
  function drawSteps(plot, steps) {
    const ctx = plot.ctx;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.strokeStyle = colour("--published");
    ctx.lineWidth = 2 * ratio;
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    ctx.beginPath();
    steps.values.forEach((value, index) => {
      const y = plot.valToPos(value, "y", true);
      const left = plot.valToPos(index * steps.window_s, "x", true);
      const right = plot.valToPos((index + 1) * steps.window_s, "x", true);
      if (index === 0) ctx.moveTo(left, y);
      else ctx.lineTo(left, y);
      ctx.lineTo(right, y);
    });
    ctx.stroke();
    ctx.restore();
  }

  function lastPoint(values) {
    for (let i = values.length - 1; i >= 0; i--) if (values[i] !== null) return { x: data.x[i], y: values[i] };
    return null;
  }

  // Names stand at the lines' ends, so that nobody has to carry a colour from a legend.
  function drawNames(plot, chart) {
    const ratio = devicePixelRatio || 1;
    const names = [];
    chart.lines.forEach((line) => {
      const end = line.trial === null && lastPoint(plotted(line.values));
      if (end) names.push({ text: data.arms[line.arm], ink: armColour(line.arm), x: end.x, y: end.y });
    });
    (chart.steps || []).forEach((steps) => {
      const x = steps.values.length * steps.window_s;
      names.push({ text: "published", ink: colour("--published"), x: x, y: steps.values[steps.values.length - 1] });
    });
    names.forEach((name) => {
      name.left = plot.valToPos(name.x, "x", true);
      name.top = plot.valToPos(name.y, "y", true) - 10 * ratio;
    });
    names.sort((one, other) => one.top - other.top);
    for (let i = 1; i < names.length; i++) {
      const near = Math.abs(names[i].left - names[i - 1].left) < 90 * ratio;
      if (near && names[i].top - names[i - 1].top < LABEL_GAP * ratio) names[i].top = names[i - 1].top + LABEL_GAP * ratio;
    }
    const ctx = plot.ctx;
    ctx.save();
    ctx.font = "600 " + 13 * ratio + "px system-ui, sans-serif";
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    ctx.lineJoin = "round";
    ctx.lineWidth = 4 * ratio;
    ctx.strokeStyle = colour("--paper");
    names.forEach((name) => {
      ctx.fillStyle = name.ink;
      ctx.strokeText(name.text, name.left, name.top);
      ctx.fillText(name.text, name.left, name.top);
    });
    ctx.restore();
  }

  function publishedAt(steps, x) {
    const value = steps.values[Math.floor(x / steps.window_s)];
    return value === undefined ? null : value;
  }

  function readout(chart, index) {
    if (index === null || index === undefined) return "\u00a0";
    const parts = chart.lines
      .filter((line) => line.trial === null && line.values[index] !== null)
      .map((line) => data.arms[line.arm] + " " + figure(line.values[index]));
    (chart.steps || []).forEach((steps) => {
      const value = publishedAt(steps, data.x[index]);
      if (value !== null) parts.push("published " + figure(value));
    });
    return "second " + (index + 1) + ": " + parts.join(" · ") + " " + chart.unit;
  }

  function highest(chart) {
    let top = 0;
    chart.lines.forEach((line) => line.values.forEach((value) => (top = Math.max(top, value || 0))));
    (chart.steps || []).forEach((steps) => steps.values.forEach((value) => (top = Math.max(top, value))));
    return top > 0 ? top * 1.12 : 1;
  }

  // Whole decades around everything that is drawn.
  function decades(chart) {
    const all = [].concat(...chart.lines.map((line) => plotted(line.values))).filter((value) => value !== null);
    if (all.length === 0) return [1, 10];
    const first = Math.floor(Math.log10(Math.min(...all) / 1.2));
    const last = Math.ceil(Math.log10(Math.max(...all) * 1.2));
    return [Math.pow(10, first), Math.pow(10, Math.max(first + 1, last))];
  }

  function powers(bottom, top) {
    const splits = [];
    for (let value = bottom; value <= top * 1.001; value *= 10) splits.push(+value.toPrecision(6));
    return splits;
  }

  function draw(place) {
    const chart = data.charts.find((one) => one.name === place.dataset.chart);
    const out = document.querySelector('[data-readout="' + chart.name + '"]');
    const [bottom, top] = data.log ? decades(chart) : [0, highest(chart)];
    const upright = axis({ size: 56, values: (u, all) => all.map(tick) });
    if (data.log) Object.assign(upright, { splits: () => powers(bottom, top), filter: (u, splits) => splits });
    const options = {
      width: place.clientWidth,
      height: place.clientHeight,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: "seconds" }, drag: { x: false, y: false }, y: false, points: { show: false } },
      scales: {
        x: { time: false, range: [0, data.x.length] },
        y: data.log ? { distr: 3, range: [bottom, top] } : { range: [bottom, top] },
      },
      axes: [
        axis({ size: 26, label: "seconds into the trial", labelSize: 20, labelGap: 2, incrs: WHOLE_SECONDS }),
        upright,
      ],
      series: [{}].concat(chart.lines.map(seriesOf)),
      hooks: {
        draw: [
          (plot) => {
            (chart.steps || []).forEach((steps) => drawSteps(plot, steps));
            drawNames(plot, chart);
          },
        ],
        setCursor: [(plot) => (out.textContent = readout(chart, plot.cursor.idx))],
      },
    };
    const plot = new uPlot(options, [data.x].concat(chart.lines.map((line) => plotted(line.values))), place);
    plots.push({ plot: plot, place: place });
  }

  document.querySelectorAll("[data-chart]").forEach(draw);
})();
