// What all charts have: the colours of the page's theme, figures in words, axes.
const chartKit = (function () {
  "use strict";

  const root = document.documentElement;
  const WHOLE_SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600];

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const armColour = (arm) => colour("--arm-" + (arm % 8));
  const figure = (value) =>
    value >= 100 ? Math.round(value).toLocaleString("en-US") : value.toLocaleString("en-US", { maximumFractionDigits: 1 });
  const tick = (value) => (value >= 1000 ? value / 1000 + "k" : value.toLocaleString("en-US"));

  function axis(extra) {
    const base = {
      stroke: () => colour("--soft"),
      grid: { stroke: () => colour("--grid"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
    };
    return Object.assign(base, extra);
  }

  return { WHOLE_SECONDS, colour, armColour, figure, tick, axis };
})();
