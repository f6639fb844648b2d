// A run that is being written: its parts and its chart grow by what the server sends; when it ends, its report is here.
(function () {
  "use strict";

  const { WHOLE_SECONDS, colour, armColour, figure, tick, axis } = chartKit;
  const data = JSON.parse(document.getElementById("data").textContent);
  const place = document.getElementById("plot");
  const lost = document.getElementById("lost");
  const arms = data.arms;
  // Each point is of one arm; the others have a gap there.
  const columns = [[]];
  let plot;

  function clock(seconds) {
    const whole = Math.round(seconds);
    const rest = String(whole % 60).padStart(2, "0");
    const minutes = Math.floor(whole / 60);
    if (minutes < 60) return minutes + ":" + rest;
    return Math.floor(minutes / 60) + ":" + String(minutes % 60).padStart(2, "0") + ":" + rest;
  }

  function add(points) {
    points.forEach(([at, arm, tps]) => {
      while (columns.length <= arm + 1) columns.push(columns[0].map(() => null));
      // Arms that run at the same time come in turns, each a moment behind the other.
      columns[0].push(Math.max(at, columns[0].length ? columns[0][columns[0].length - 1] : 0));
      for (let i = 1; i < columns.length; i++) columns[i].push(i === arm + 1 ? tps : null);
    });
  }

  function readout(index) {
    if (index === null || index === undefined) return "\u00a0";
    const arm = columns.slice(1).findIndex((values) => values[index] !== null);
    return clock(columns[0][index]) + ": " + arms[arm] + " " + figure(columns[arm + 1][index]) + " TPS";
  }

  function legend() {
    const out = document.getElementById("arms");
    out.replaceChildren(
      ...arms.map((name, arm) => {
        const entry = document.createElement("span");
        const line = document.createElement("i");
        line.className = "line arm-" + (arm % 8);
        line.setAttribute("aria-hidden", "true");
        entry.append(line, name);
        return entry;
      })
    );
  }

  function draw() {
    document.getElementById("chart").hidden = false;
    legend();
    if (plot) plot.destroy();
    const series = arms.map((name, arm) => ({
      label: name,
      stroke: () => armColour(arm),
      width: 1.5,
      points: { show: columns[0].length < 600, size: 4, fill: () => armColour(arm) },
    }));
    plot = new uPlot(
      {
        width: place.clientWidth,
        height: place.clientHeight,
        padding: [8, 12, 0, 0],
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
        scales: { x: { time: false }, y: { range: (u, low, high) => [0, high > 0 ? high * 1.12 : 1] } },
        axes: [
          axis({
            size: 26,
            label: "time since the run began",
            labelSize: 20,
            labelGap: 2,
            incrs: WHOLE_SECONDS,
            values: (u, all) => all.map(clock),
          }),
          axis({ size: 56, values: (u, all) => all.map(tick) }),
        ],
        series: [{}].concat(series),
        hooks: { setCursor: [(u) => (document.getElementById("readout").textContent = readout(u.cursor.idx))] },
      },
      columns,
      place
    );
  }

  function news(message) {
    lost.textContent = "";
    Object.entries(message.parts).forEach(([id, html]) => {
      const part = document.getElementById(id);
      if (part) part.innerHTML = html;
    });
    if (!message.points.length) return;
    const known = arms.length;
    arms.push(...message.arms.slice(known));
    add(message.points);
    if (!plot || arms.length > known) draw();
    else plot.setData(columns);
  }

  add(data.points);
  if (data.points.length) draw();
  document.addEventListener("themed", () => plot && plot.redraw(false));
  new ResizeObserver(() => {
    if (plot && place.clientWidth) plot.setSize({ width: place.clientWidth, height: place.clientHeight });
  }).observe(document.body);

  const events = new EventSource(data.follow);
  events.addEventListener("message", (event) => news(JSON.parse(event.data)));
  events.addEventListener("turned", () => {
    events.close();
    location.reload();
  });
  events.addEventListener("error", () => (lost.textContent = "The server does not answer; trying again."));
  events.addEventListener("open", () => (lost.textContent = ""));
})();
