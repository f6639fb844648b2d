// A chart over time as SVG: in the page, and as a file of its own. Colours are variables of the theme.
const timeDrawing = (function () {
  "use strict";

  const { WHOLE_SECONDS, figure, tick } = chartKit;
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const FONT = "system-ui, sans-serif";
  const SIZES = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]];
  const MARKS = {
    checkpoint: ["--ink", ""], autovacuum: ["--part-2", "5 3"], autoanalyze: ["--part-4", "2 3"],
    error: ["--bad", ""], "lock wait": ["--open", "5 3"], "temporary file": ["--part-1", "2 3"],
    "log warning": ["--bad", "2 3"],
  };

  function bytes(value) {
    const [unit, size] = SIZES.find((one) => value >= one[1]) || ["bytes", 1];
    return figure(value / size) + " " + unit;
  }
  const small = (value) => (value > 0 && value < 10 ? +value.toPrecision(3) + "" : figure(value));
  const worded = (value, unit) => (unit === "B/s" ? bytes(value) + "/s" : small(value) + unit);
  const ticked = (value, unit) => (unit === "B/s" && value >= 1000 ? bytes(value).replace(" ", "") : tick(value));

  function element(name, attributes, text) {
    const made = document.createElementNS(NAMESPACE, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    if (text !== undefined) made.textContent = text;
    return made;
  }
  const written = (x, y, text, more) =>
    element("text", Object.assign({ x: x, y: y, "font-family": FONT, "font-size": 12, fill: "var(--soft)" }, more), text);
  const upright = (x, top, bottom, more) => element("line", Object.assign({ x1: x, x2: x, y1: top, y2: bottom }, more));

  // Steps of 1, 2 or 5 times a power of ten, about one for each `apart` pixels.
  function round(low, high, pixels, apart) {
    const rough = (high - low) / Math.max(1, pixels / apart);
    const power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].find((one) => one * power >= rough) * power;
    return multiples(low, high, step);
  }
  function multiples(low, high, step) {
    const all = [];
    const first = Math.ceil(low / step - 1e-9);
    for (let at = first; at * step <= high + step * 1e-9; at++) all.push(+(at * step).toPrecision(12));
    return all;
  }
  function seconds(low, high, pixels) {
    const rough = ((high - low) * 55) / Math.max(1, pixels);
    const step = WHOLE_SECONDS.find((one) => one >= rough);
    return rough < 1 && high - low < 3 ? round(low, high, pixels, 55) : multiples(low, high, step || 3600);
  }

  const named = (chart) => chart.lines.filter((line) => line.trial === null);

  // Samples that touch the time shown.
  const inside = (chart, [begin, end]) =>
    chart.from_s.map((from, at) => at).filter((at) => chart.to_s[at] > begin && chart.from_s[at] < end);

  // The parts of a stack, each with those before it below: pairs of its lower and its upper edge.
  function layers(chart) {
    let below = chart.from_s.map(() => 0);
    return chart.lines.map((line) => {
      const upper = line.values.map((value, at) => (value === null ? null : below[at] + value));
      const layer = { lower: below, upper: upper };
      below = upper.map((value, at) => (value === null ? below[at] : value));
      return layer;
    });
  }

  function bounds(chart, places) {
    if (chart.heat) return [chart.heat.edges[0], chart.heat.edges[chart.heat.edges.length - 1]];
    const stack = chart.shape === "stack" && layers(chart).map((one) => one.upper);
    const columns = stack || chart.lines.map((line) => line.values);
    const seen = columns.flatMap((values) => places.map((at) => values[at]));
    const all = seen.concat(...chart.steps.map((one) => one.values));
    const known = all.filter((value) => value !== null && value !== undefined && (!chart.log || value > 0));
    const high = known.reduce((most, value) => Math.max(most, value), 0);
    if (!chart.log) return [0, high > 0 ? high * (chart.shape === "lines" ? 1.12 : 1.08) : 1];
    if (!known.length) return [1, 10];
    const low = known.reduce((least, value) => Math.min(least, value), Infinity);
    const first = Math.floor(Math.log10(low / 1.05));
    return [Math.pow(10, first), Math.pow(10, Math.max(first + 1, Math.ceil(Math.log10(high * 1.05))))];
  }

  // Where seconds and values are in the picture.
  function scales(chart, shown, box, places) {
    const [low, high] = bounds(chart, places);
    const x = (at) => box.left + ((at - shown[0]) / (shown[1] - shown[0])) * (box.right - box.left);
    const linear = (value) => (value - low) / (high - low);
    const part = chart.log ? (value) => Math.log(value / low) / Math.log(high / low) : linear;
    return { x: x, y: (value) => box.bottom - part(value) * (box.bottom - box.top), low: low, high: high };
  }

  const short = (value) => +value.toFixed(1);
  const isGap = (chart, value) => value === null || value === undefined || (chart.log && value <= 0);

  // A line through the middles of its samples; a lone one is a dot.
  function through(chart, values, { x, y }, places) {
    let path = "", run = 0;
    const dots = [];
    places.forEach((at, index) => {
      if (isGap(chart, values[at])) return (run = 0);
      const [left, top] = [short(x((chart.from_s[at] + chart.to_s[at]) / 2)), short(y(values[at]))];
      path += (run++ ? "L" : "M") + left + " " + top;
      const next = places[index + 1];
      if (run === 1 && (next === undefined || isGap(chart, values[next]))) dots.push([left, top]);
    });
    return [path, dots];
  }

  // Samples as steps; where the next one does not begin at the end of the one before, the pen is lifted.
  function stepped(chart, values, { x, y }, places) {
    let path = "", end = null;
    places.forEach((at) => {
      if (isGap(chart, values[at])) return (end = null);
      const top = short(y(values[at]));
      path += end === chart.from_s[at] ? "V" + top : "M" + short(x(chart.from_s[at])) + " " + top;
      end = chart.to_s[at];
      path += "H" + short(x(end));
    });
    return path;
  }

  function areas(chart, layer, { x, y }, places) {
    return places
      .filter((at) => layer.upper[at] > layer.lower[at])
      .map((at) => {
        const [left, right] = [short(x(chart.from_s[at])), short(x(chart.to_s[at]))];
        const [bottom, top] = [short(y(layer.lower[at])), short(y(layer.upper[at]))];
        return "M" + left + " " + bottom + "V" + top + "H" + right + "V" + bottom + "Z";
      })
      .join("");
  }

  function drawLines(into, chart, scale, places) {
    const mean = chart.lines.some((line) => line.trial !== null) ? 3 : 2;
    chart.lines.forEach((line) => {
      const pen = { fill: "none", stroke: "var(--" + line.ink + ")", "stroke-linejoin": "round" };
      const add = (more) => into.append(element("path", Object.assign(pen, more)));
      if (chart.shape === "steps") {
        add({ d: stepped(chart, line.values, scale, places), "stroke-width": 1.75 });
        return;
      }
      const [path, dots] = through(chart, line.values, scale, places);
      if (line.trial !== null) {
        add({ d: path, "stroke-width": 1, opacity: 0.38 });
        return;
      }
      add({ d: path, "stroke-width": mean });
      dots.forEach(([cx, cy]) => into.append(element("circle", { cx: cx, cy: cy, r: 3, fill: pen.stroke })));
    });
  }

  function drawStack(into, chart, scale, places) {
    layers(chart).forEach((layer, at) => {
      const fill = "var(--" + chart.lines[at].ink + ")";
      into.append(element("path", { d: areas(chart, layer, scale, places), fill: fill }));
    });
  }

  // The share of the fullest cell decides how dark a cell is; the root, so that few of many are still seen.
  function drawHeat(into, chart, { x, y }, places) {
    const { cells, edges } = chart.heat;
    const length = (at) => chart.to_s[at] - chart.from_s[at];
    const most = Math.max(...cells.map((row, at) => Math.max(0, ...row.map((cell) => cell[1])) / length(at)));
    places.forEach((at) => {
      const [left, right] = [x(chart.from_s[at]), x(chart.to_s[at])];
      cells[at].forEach(([edge, count]) => {
        const [top, bottom] = [y(edges[edge + 1]), y(edges[edge])];
        const share = count / length(at) / most;
        const place = { x: short(left), y: short(top), width: short(right - left), height: short(bottom - top) };
        const ink = { fill: "var(--arm-0)", opacity: +(0.08 + 0.92 * Math.sqrt(share)).toFixed(2) };
        into.append(element("rect", Object.assign(place, ink)));
      });
    });
  }

  function drawSteps(into, steps, { x, y }) {
    const path = steps.values.map(
      (value, at) => (at ? "V" : "M" + short(x(0)) + " ") + short(y(value)) + "H" + short(x((at + 1) * steps.window_s))
    );
    const pen = { fill: "none", stroke: "var(--published)", "stroke-width": 2, "stroke-dasharray": "6 4" };
    into.append(element("path", Object.assign(pen, { d: path.join("") })));
  }

  // Names that would cover each other are moved apart: down first, and up again from the bottom of the picture.
  function spread(names, left, bottom) {
    const apart = 15;
    names.forEach((name) => {
      const width = 7.6 * name.text.length + 6;
      name.side = name.left < left + width ? "start" : "end";
      [name.from, name.to] = name.side === "start" ? [name.left, name.left + width] : [name.left - width, name.left];
    });
    const meets = (one, other) => one.from < other.to && other.from < one.to;
    names.sort((one, other) => one.top - other.top);
    names.forEach((name, at) => {
      const above = names.slice(0, at).filter((one) => meets(one, name)).map((one) => one.top + apart);
      name.top = Math.max(name.top, ...above);
    });
    for (let at = names.length - 1; at >= 0; at--) {
      const below = names.slice(at + 1).filter((one) => meets(one, names[at])).map((one) => one.top - apart);
      names[at].top = Math.min(names[at].top, bottom, ...below);
    }
  }

  // Names stand at the lines' ends, so that nobody has to carry a colour from a legend.
  function drawNames(into, chart, shown, { x, y }, places, box) {
    const names = named(chart).flatMap((line) => {
      const last = places.filter((at) => !isGap(chart, line.values[at])).pop();
      if (last === undefined) return [];
      const end = Math.min((chart.from_s[last] + chart.to_s[last]) / 2, shown[1]);
      return [{ text: line.name, ink: line.ink, left: x(end), top: y(line.values[last]) - 8 }];
    });
    chart.steps.forEach((steps) => {
      const end = Math.min(shown[1], steps.values.length * steps.window_s);
      const value = steps.values[Math.ceil(end / steps.window_s) - 1];
      if (end > shown[0] && value !== undefined) {
        names.push({ text: "published", ink: "published", left: x(end), top: y(value) - 8 });
      }
    });
    spread(names, x(shown[0]), box.bottom - 4);
    names.forEach((name) => {
      const side = name.side;
      const font = { "text-anchor": side, "font-size": 13, "font-weight": 600, fill: "var(--" + name.ink + ")" };
      const halo = { stroke: "var(--paper)", "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round" };
      into.append(written(short(name.left), short(name.top), name.text, Object.assign(font, halo)));
    });
  }

  function drawMarks(into, marks, shown, { x }, box) {
    marks.filter((mark) => mark.at_s >= shown[0] && mark.at_s <= shown[1]).forEach((mark) => {
      const [ink, dash] = MARKS[mark.kind];
      const pen = { stroke: "var(" + ink + ")", "stroke-dasharray": dash, opacity: 0.8, class: "mark" };
      const line = upright(short(x(mark.at_s)), box.top, box.bottom, pen);
      line.append(element("title", {}, said(mark) + " by " + mark.at_s.toFixed(1) + " s"));
      into.append(line);
    });
  }
  function said(mark) {
    if (mark.words) return mark.words + (mark.count > 1 ? " (and " + (mark.count - 1) + " more)" : "");
    return mark.kind + (mark.count > 1 ? " x " + mark.count : "");
  }

  function drawAxes(into, chart, shown, { x, y, low, high }, box, axis) {
    const height = box.bottom - box.top;
    const values = chart.log ? powers(low, high, height) : round(low, high, height, axis === "title" ? 45 : 30);
    values.forEach((value, at) => {
      const top = short(y(value));
      into.append(element("line", { x1: box.left, x2: box.right, y1: top, y2: top, stroke: "var(--grid)" }));
      // The highest figure has the unit, for all of them.
      const unit = at === values.length - 1 ? (chart.unit === "B/s" ? "/s" : chart.unit) : "";
      into.append(written(box.left - 6, top + 4, ticked(value, chart.unit) + unit, { "text-anchor": "end" }));
    });
    seconds(shown[0], shown[1], box.right - box.left).forEach((at) => {
      const left = short(x(at));
      into.append(upright(left, box.top, box.bottom, { stroke: "var(--grid)" }));
      const text = at.toLocaleString("en-US");
      // A long figure at the end of the axis ends where the picture does.
      const place = box.right - left < 12 && text.length > 3 ? [box.right + 12, "end"] : [left, "middle"];
      const look = { "text-anchor": place[1], class: "second" };
      if (axis !== "none") into.append(written(place[0], box.bottom + 15, text, look));
    });
    if (axis !== "title") return;
    const middle = (box.left + box.right) / 2;
    into.append(written(middle, box.bottom + 33, "seconds since measuring began", { "text-anchor": "middle" }));
  }
  function powers(low, high, height) {
    const steps = height / Math.log10(high / low) > 60 ? [1, 2, 5] : [1];
    const decades = multiples(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)), 1);
    const all = decades.flatMap((power) => steps.map((one) => +(one * Math.pow(10, power)).toPrecision(6)));
    return all.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  }

  // For a file: what the page says around the picture.
  function drawHead(into, chart, marks, width) {
    const unit = chart.heat ? "ms" : chart.measured_in;
    const font = { "font-size": 15, "font-weight": 600, fill: "var(--ink)" };
    into.append(written(12, 22, chart.title + (unit ? " (" + unit + ")" : ""), font));
    let left = 12, top = 44;
    const kinds = [...new Set(marks.map((mark) => mark.kind))];
    const lines = named(chart).map((line) => [line.name, "--" + line.ink, ""]);
    const published = chart.steps.map((one) => [one.name, "--published", "6 4"]);
    const keys = lines.concat(published, kinds.map((kind) => [kind, ...MARKS[kind]]));
    keys.forEach(([name, ink, dash]) => {
      const long = 40 + 7 * name.length;
      if (left + long > width) [left, top] = [12, top + 18];
      const pen = { stroke: "var(" + ink + ")", "stroke-width": 3, "stroke-dasharray": dash };
      into.append(element("line", Object.assign(pen, { x1: left, x2: left + 20, y1: top - 4, y2: top - 4 })));
      into.append(written(left + 26, top, name, { fill: "var(--ink)" }));
      left += long;
    });
    return top + 12;
  }

  // `axis` says what stands below it: nothing, figures, or figures with a title. A `file` has a head and a ground.
  function draw(chart, marks, { width, height, shown, axis, file }) {
    const size = { width: width, height: height };
    const svg = element("svg", Object.assign({ xmlns: NAMESPACE, viewBox: "0 0 " + width + " " + height }, size));
    if (file) svg.append(element("rect", Object.assign({ fill: "var(--paper)" }, size)));
    const head = file ? drawHead(svg, chart, marks, width) : 8;
    const foot = { none: 3, ticks: 20, title: 40 }[axis];
    const box = { left: 56, right: Math.max(57, width - 12), top: head, bottom: height - foot };
    const field = { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top };
    const clip = "clip-" + chart.id + (file ? "-file" : "");
    const area = element("clipPath", { id: clip });
    area.append(element("rect", field));
    svg.append(area);
    const places = inside(chart, shown);
    // A line goes on to the samples beside those that are seen.
    const beside = [places[0] - 1, ...places, places[places.length - 1] + 1];
    const drawn = beside.filter((at) => at >= 0 && at < chart.from_s.length);
    const scale = scales(chart, shown, box, places);
    if (shown[0] < 0) {
      const warm = Math.min(scale.x(0), box.right) - box.left;
      svg.append(element("rect", Object.assign({}, field, { width: warm, fill: "var(--faint)" })));
    }
    drawAxes(svg, chart, shown, scale, box, axis);
    const inner = element("g", { "clip-path": "url(#" + clip + ")" });
    svg.append(inner);
    if (chart.heat) drawHeat(inner, chart, scale, places);
    else if (chart.shape === "stack") drawStack(inner, chart, scale, places);
    else drawLines(inner, chart, scale, drawn);
    chart.steps.forEach((steps) => drawSteps(inner, steps, scale));
    drawMarks(inner, marks, shown, scale, box);
    if (chart.shape === "lines") drawNames(inner, chart, shown, scale, places, box);
    return { svg: svg, box: box };
  }

  return { draw, element, upright, named, worded, said };
})();
