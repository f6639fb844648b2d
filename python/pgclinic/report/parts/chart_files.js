// A chart as a file: the picture as it is shown, or its figures. Made from the data in the page, without any network.
const chartFiles = (function () {
  "use strict";

  const root = document.documentElement;

  function save(chart, suffix, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: type }));
    link.download = "pgclinic-" + chart.id + "." + suffix;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // A file knows no theme: it has the colours that the page has now.
  function resolved(text) {
    const style = getComputedStyle(root);
    return text.replace(/var\((--[a-z0-9-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  }

  function svg(chart, marks, shown) {
    const picture = timeDrawing.draw(chart, marks, { width: 960, height: 420, shown, axis: "title", file: true }).svg;
    save(chart, "svg", "image/svg+xml", resolved(new XMLSerializer().serializeToString(picture)) + "\n");
  }

  // A text that a spreadsheet would take for a formula is marked as a text.
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value).replace(/^(?=[=+@-]\D)/, "'");
    return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  };

  // One row for each sample of the whole chart, whatever is zoomed into.
  function csv(chart, marks) {
    const unit = chart.measured_in ? " (" + chart.measured_in + ")" : "";
    const edges = chart.heat ? chart.heat.edges : [];
    const classes = edges.slice(1).map((edge, at) => edges[at] + " to " + edge + " ms" + unit);
    const published = chart.steps.map((one) => one.name + unit);
    const lines = chart.lines.map((line) => line.name + unit);
    const heads = ["from (s)", "to (s)", ...lines, ...published, ...classes, "events"];
    const rows = chart.from_s.map((from, at) => {
      const counts = new Map(chart.heat ? chart.heat.cells[at] : []);
      const steps = chart.steps.map((one) => one.values[Math.floor(from / one.window_s)]);
      const events = marks.filter((mark) => mark.at_s > from && mark.at_s <= chart.to_s[at]).map(timeDrawing.said);
      const values = [...chart.lines.map((line) => line.values[at]), ...steps];
      return [from, chart.to_s[at], ...values, ...classes.map((_, edge) => counts.get(edge) || 0), events.join("; ")];
    });
    save(chart, "csv", "text/csv", [heads, ...rows].map((row) => row.map(cell).join(",") + "\n").join(""));
  }

  return { svg, csv };
})();
