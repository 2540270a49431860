"use strict";
// Interactive charts in place of figures. The data of a figure's charts follow its drawing.
{
const looks = {
  specification: {colour: "--predicted", dash: [6, 4]},
  calibrated: {colour: "--predicted"},
  observed: {colour: "--observed"},
  first: {colour: "--predicted"},
  second: {colour: "--observed", dash: [6, 4]},
};
const ceilings = ["--ceiling-1", "--ceiling-2", "--ceiling-3", "--ceiling-4", "--muted"];
const binary = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const decimal = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const times = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const singular = {matrices: "matrix", launches: "launch"};
const rowHeight = 24, near = 1.15;
const dark = matchMedia("(prefers-color-scheme: dark)");

// Quantities as in the tables: divisor and label.
function scaled(value, unit) {
  const largest = (steps) => steps.find(([step]) => Math.abs(value) >= 0.9995 * step) ?? steps.at(-1);
  const [base, per] = unit.split("/");
  if (unit === "B") return largest(binary);
  if (unit === "B/s") return [1e9, "GB/s"];
  if (unit === "s") return largest(times);
  const [step, prefix] = largest(decimal);
  return [step, per ? `${prefix}${singular[base] ?? base.replace(/s$/, "")}/${per}` : `${prefix} ${unit}`];
}
function quantity(value, unit, digits = 4, ends = []) {
  if (value == null) return "–";
  const [step, label] = scaled(value, unit);
  const number = (each) => Number((each / step).toPrecision(digits));
  const interval = ends.length && ends[0] != null && ends[0] < ends[1] ? ` (${ends.map(number).join(" to ")})` : "";
  return `${number(value)} ${label.trim()}`.trim() + interval;
}
function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// One chart: options of uPlot from a record of figures/charts.py.
function isCases(chart) {
  return chart.x.spacing === "categories";
}
function seriesOptions(chart, each, number) {
  const look = looks[each.kind] ?? {colour: ceilings[number % ceilings.length]};
  const line = each.kind === "ceiling" || (chart.joined && each.kind !== "observed");
  const stroke = colour(look.colour);
  return {
    label: each.name,
    stroke,
    width: 1.5,
    dash: line ? look.dash : undefined,
    spanGaps: true,
    ...(line ? {} : {paths: () => null}),
    points: {show: !line, size: 6, width: 1.5, stroke, fill: each.kind === "observed" ? stroke : colour("--paper")},
    value: (_, value, __, at) => quantity(value, chart.y.unit, 4, at == null ? [] : ends(each, at)),
  };
}
function ends(each, at) {
  return each.low.length ? [each.low[at], each.high[at]] : [];
}
function scaleOptions(chart, log) {
  const spread = (low, high) => [low / near, high * near];
  const y = log ? {distr: 3, log: 10, range: (_, low, high) => spread(low, high)} : {range: (_, __, high) => [0, high * 1.08]};
  if (isCases(chart)) {
    const rows = (_, low, high) => [low - 0.5, high + 0.5];
    return {x: {time: false, ori: 1, dir: -1, range: rows}, y: {...y, ori: 0, dir: 1}};
  }
  const x = {log2: {distr: 3, log: 2}, log10: {distr: 3, log: 10}}[chart.x.spacing] ?? {};
  return {x: {time: false, range: (_, low, high) => (x.log ? spread(low, high) : [low, high]), ...x}, y};
}
function axesOptions(chart) {
  const common = {
    stroke: colour("--ink"),
    font: "12px Inter, sans-serif",
    labelFont: "12px Inter, sans-serif",
    labelSize: 18,
    ticks: {show: false},
    grid: {stroke: colour("--line"), width: 1},
  };
  const y = {
    ...common,
    scale: "y",
    label: chart.y.label,
    size: 74,
    values: (_, values) => values.map((value) => (value === null ? null : value ? quantity(value, chart.y.unit, 3) : "0")),
  };
  const x = {
    ...common,
    label: chart.x.label,
    size: 30,
    space: 64,
    values: (_, values) => values.map((value) => (value === null ? null : quantity(value, chart.x.unit, 3))),
  };
  if (!isCases(chart)) return [x, y];
  const names = (_, values) => values.map((value) => short(chart.labels[value] ?? ""));
  const longest = Math.max(...chart.labels.map((name) => short(name).length));
  const rows = {side: 3, size: 10 + 6.6 * longest, grid: {show: false}, splits: () => chart.at, values: names};
  return [{...x, ...rows}, {...y, side: 2, size: 30, space: 90}];
}
function short(name) {
  return name.length > 26 ? `${name.slice(0, 25)}…` : name;
}
function drawInterval(u, chart, number) {
  const each = chart.series[number - 1];
  if (!u.series[number].show || !each.low.length) return;
  const known = [...chart.at.keys()].filter((at) => each.low[at] != null);
  const place = (at, value) => {
    const [across, up] = [u.valToPos(chart.at[at], "x", true), u.valToPos(value, "y", true)];
    return isCases(chart) ? [up, across] : [across, up];
  };
  const {ctx, bbox} = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.beginPath();
  if (chart.joined && each.kind !== "observed") {
    for (const at of known) ctx.lineTo(...place(at, each.low[at]));
    for (const at of known.reverse()) ctx.lineTo(...place(at, each.high[at]));
    ctx.globalAlpha = 0.15;
    ctx.fillStyle = u.series[number].stroke();
    ctx.fill();
  } else {
    for (const at of known) {
      ctx.moveTo(...place(at, each.low[at]));
      ctx.lineTo(...place(at, each.high[at]));
    }
    ctx.lineWidth = devicePixelRatio;
    ctx.strokeStyle = u.series[number].stroke();
    ctx.stroke();
  }
  ctx.restore();
}
// Of dots that are not in a line: the one nearest to the cursor.
function nearest(u, chart) {
  const distance = (x, y) => Math.hypot(u.valToPos(x, "x") - u.cursor.left, u.valToPos(y, "y") - u.cursor.top);
  const dots = chart.series.filter((each) => each.kind !== "ceiling");
  const distances = chart.at.map((x, at) =>
    Math.min(...dots.map(({values}) => (values[at] == null ? Infinity : distance(x, values[at])))));
  return distances.indexOf(Math.min(...distances));
}
function xText(u, chart, at) {
  if (at == null) return "–";
  const name = chart.labels[at];
  const value = isCases(chart) ? "" : quantity(chart.at[at], chart.x.unit);
  return name && value ? `${name} (${value})` : name || value;
}
function plot(place, chart, log) {
  const scattered = !chart.joined && !isCases(chart);
  const at = (u, hovered) => (scattered && u.cursor.left >= 0 ? nearest(u, chart) : hovered);
  const options = {
    title: chart.title,
    width: place.clientWidth,
    height: plotHeight(chart),
    legend: {markers: {width: 2}},
    cursor: {drag: {x: true, y: !isCases(chart), uni: 20}, dataIdx: (u, _, hovered) => at(u, hovered)},
    scales: scaleOptions(chart, log),
    axes: axesOptions(chart),
    series: [
      {label: chart.x.label, value: (u, _, __, hovered) => xText(u, chart, hovered == null ? hovered : at(u, hovered))},
      ...chart.series.map((each, number) => seriesOptions(chart, each, number)),
    ],
    hooks: {drawSeries: [(u, number) => drawInterval(u, chart, number)], setSeries: [pressed]},
  };
  const made = new uPlot(options, [chart.at, ...chart.series.map((each) => each.values)], place);
  for (const label of toggles(made)) {
    label.tabIndex = 0;
    label.setAttribute("role", "button");
    label.addEventListener("keydown", (event) => event.key === "Enter" && label.click());
  }
  pressed(made);
  return made;
}
function plotHeight(chart) {
  return isCases(chart) ? 90 + 20 * chart.at.length : chart.joined ? 280 : 420;
}
function toggles(u) {
  return [...u.root.querySelectorAll(".u-legend tr:not(:first-child) th")];
}
function pressed(u) {
  toggles(u).forEach((label, number) => label.setAttribute("aria-pressed", u.series[number + 1].show));
}

// The charts of a figure, each in a box that has its size before it is drawn: only charts near the screen are drawn.
function boxed(chart) {
  const box = element("div", isCases(chart) || !chart.joined ? "plot wide" : "plot");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `${chart.title} ${chart.y.label}`.trim());
  box.style.minHeight = `${plotHeight(chart) + rowHeight * (chart.series.length + 2)}px`;
  const state = {chart, box, log: chart.y.spacing === "log10", drawn: null};
  boxes.set(box, state);
  return state;
}
function draw(state) {
  const before = state.drawn;
  state.drawn = plot(state.box, state.chart, state.log);
  if (!before) return;
  const {min, max} = before.scales.x;
  state.drawn.setScale("x", {min, max});
  before.series.forEach((each, number) => number && state.drawn.setSeries(number, {show: each.show}));
  before.destroy();
}
const boxes = new Map();
const seen = new IntersectionObserver((entries) => {
  for (const {target, isIntersecting} of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    draw(boxes.get(target));
    resized.observe(target);
  }
}, {rootMargin: "400px"});
const resized = new ResizeObserver((entries) => {
  for (const {target} of entries) {
    const {drawn} = boxes.get(target);
    if (target.clientWidth && target.clientWidth !== drawn.width) {
      drawn.setSize({width: target.clientWidth, height: drawn.height});
    }
  }
});

// The data of a figure's charts: one row for each value, in SI base units.
function csv(charts) {
  const rows = charts.flatMap(({title, x, y, at, labels, series}) =>
    series.flatMap(({name, values, low, high}) =>
      [...at.keys()].filter((i) => values[i] != null).map((i) =>
        [title, name, labels[i] ?? "", at[i], x.unit, values[i], low[i] ?? "", high[i] ?? "", y.unit])));
  const head = ["chart", "series", "point", "x", "unit of x", "value", "low", "high", "unit of value"];
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
function cell(value) {
  const text = typeof value === "string" ? value.replace(/^[=+\-@]/, "'$&") : String(value); // never a formula
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
function download(charts, name) {
  const link = element("a", "");
  link.href = URL.createObjectURL(new Blob([csv(charts)], {type: "text/csv"}));
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function button(text, act, isPressed) {
  const made = element("button", "", text);
  made.type = "button";
  if (isPressed !== undefined) made.setAttribute("aria-pressed", isPressed);
  made.addEventListener("click", () => {
    const now = made.getAttribute("aria-pressed") !== "true";
    if (isPressed !== undefined) made.setAttribute("aria-pressed", now);
    act(now);
  });
  return made;
}
function activate(figure, charts, number) {
  const states = charts.map(boxed);
  const place = element("div", "charts"), tools = element("div", "tools");
  place.append(...states.map(({box}) => box));
  tools.append(
    button("Static figure", (on) => figure.classList.toggle("interactive", !on), false),
    button("Logarithmic y axis", (on) => states.forEach((state) => {
      state.log = on;
      if (state.drawn) draw(state);
    }), states.every(({log}) => log)),
    button("Download CSV", () => download(charts, `figure-${number + 1}`)),
    element("span", "hint", "Drag to zoom, double-click to reset. Click a name to hide it."),
  );
  figure.classList.add("interactive");
  figure.prepend(tools, place);
  for (const {box} of states) seen.observe(box);
}
document.querySelectorAll('figure > script[type="application/json"]').forEach((data, number) =>
  activate(data.parentElement, JSON.parse(data.textContent), number));
dark.addEventListener("change", () => {
  for (const state of boxes.values()) if (state.drawn) draw(state);
});
}
