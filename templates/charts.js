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
const bases = {log2: 2, log10: 10};
const rowHeight = 24, near = 1.15;
const reach = 20; // pixels around the cursor
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
    points: {show: !line, size: chart.joined ? 6 : 8, width: 1.5, stroke, fill: each.kind === "observed" ? stroke : colour("--paper")},
    value: (_, value, __, at) => quantity(value, chart.y.unit, 4, at == null ? [] : ends(each, at)),
  };
}
function ends(each, at) {
  return each.low.length ? [each.low[at], each.high[at]] : [];
}
function scaleOptions(chart, log) {
  const y = {range: (u) => extent(u, chart, log), ...(log && {distr: 3, log: 10})};
  if (isCases(chart)) {
    const rows = (_, low, high) => [low - 0.5, high + 0.5];
    return {x: {time: false, ori: 1, dir: -1, range: rows}, y: {...y, ori: 0, dir: 1}};
  }
  const base = bases[chart.x.spacing];
  const x = {range: (_, low, high) => (base ? [low / near, high * near] : [low, high]), ...(base && {distr: 3, log: base})};
  return {x: {time: false, ...x}, y};
}
// Ends of the y axis for the shown part of x, with intervals.
function extent(u, chart, log) {
  const [first, last] = u.series[0].idxs ?? [0, chart.at.length - 1];
  const shown = chart.series.filter((_, number) => u.series[number + 1].show);
  const values = (shown.length ? shown : chart.series).flatMap((each) =>
    [each.values, each.low, each.high].flatMap((some) => some.slice(first, last + 1))).filter((value) => value > 0);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return log ? [low / near, high * near] : [0, high * 1.08];
}
// Round numbers within the ends of a logarithmic axis, about as many as fit.
function logTicks(base, low, high, most) {
  const powers = [];
  for (let power = Math.floor(Math.log(low) / Math.log(base)); base ** power <= high; power++) powers.push(power);
  const steps = base === 2 ? [[1]] : [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9], [...Array(90).keys()].map((n) => 1 + n / 10)];
  const found = steps.map((some) => powers.flatMap((power) => some.map((step) => step * base ** power))
    .filter((value) => low <= value * 1.0001 && value <= high * 1.0001));
  const ticks = found.findLast((some) => some.length <= most) ?? found[0];
  return ticks.filter((_, number) => number % Math.ceil(ticks.length / most) === 0);
}
function tickOptions(base, gap, side = "width") {
  if (!base) return {};
  const splits = (u, _, low, high) => logTicks(base, low, high, u.bbox[side] / devicePixelRatio / gap);
  return {splits, filter: (_, ticks) => ticks};
}
function axesOptions(chart, log) {
  const common = {
    stroke: colour("--ink"),
    font: "12px Inter, sans-serif",
    labelFont: "12px Inter, sans-serif",
    labelSize: 18,
    ticks: {show: false},
    grid: {stroke: colour("--line"), width: 1},
  };
  const values = (unit) => (_, found) => found.map((value) => (value == null ? null : value ? quantity(value, unit, 3) : "0"));
  const width = (texts) => 10 + 6.6 * Math.max(0, ...texts.map((text) => text?.length ?? 0));
  const y = {...common, scale: "y", label: chart.y.label, size: (_, texts) => width(texts ?? []), values: values(chart.y.unit)};
  const unit = chart.x.unit === "work-items" ? "" : chart.x.unit; // the label has the word
  const x = {...common, label: chart.x.label, size: 30, space: 64, values: values(unit)};
  if (!isCases(chart)) {
    return [{...x, ...tickOptions(bases[chart.x.spacing], 64)}, {...y, ...tickOptions(log && 10, 30, "height")}];
  }
  const names = chart.labels.map((name) => (name.length > 26 ? `${name.slice(0, 25)}…` : name));
  const rows = {side: 3, size: width(names), grid: {show: false}, splits: () => chart.at, values: (_, found) => found.map((at) => names[at])};
  return [{...x, ...rows}, {...y, side: 2, size: 30, space: 90, ...tickOptions(log && 10, 90)}];
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
    ctx.globalAlpha = each.kind === "observed" ? 1 : 0.2;
    ctx.lineWidth = devicePixelRatio * (each.kind === "observed" ? 1 : 9);
    ctx.strokeStyle = u.series[number].stroke();
    ctx.stroke();
  }
  ctx.restore();
}
// Positions of cliffs and tapers: lines in the chart, texts below it.
function drawMarks(u, chart) {
  const {ctx, bbox} = u;
  for (const {kind, x} of chart.marks) {
    const number = 1 + chart.series.findIndex((each) => each.kind === kind), across = u.valToPos(x, "x", true);
    if (!u.series[number].show || across < bbox.left || across > bbox.left + bbox.width) continue;
    ctx.save();
    ctx.strokeStyle = u.series[number].stroke();
    ctx.globalAlpha = 0.5;
    ctx.beginPath();
    ctx.moveTo(across, bbox.top);
    ctx.lineTo(across, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }
}
function marksText({marks}) {
  const kinds = {predicted: marks.filter(({kind}) => kind !== "observed"), observed: marks.filter(({kind}) => kind === "observed")};
  return Object.entries(kinds).filter(([, some]) => some.length).map(([name, some]) =>
    element("p", `marks ${name}`, `${name}: ${some.map(({text}) => text).join("; ")}`));
}
// Of dots that are not in a line: the one nearest to the cursor.
function nearest(u, chart) {
  const distance = (x, y) => Math.hypot(u.valToPos(x, "x") - u.cursor.left, u.valToPos(y, "y") - u.cursor.top);
  const dots = chart.series.filter((each) => each.kind !== "ceiling");
  const distances = chart.at.map((x, at) =>
    Math.min(...dots.map(({values}) => (values[at] == null ? Infinity : distance(x, values[at])))));
  return distances.indexOf(Math.min(...distances));
}
// Of points in a line: near the cursor, the one with most values.
function fullest(u, chart, hovered) {
  const count = (at) => chart.series.filter(({values}) => values[at] != null).length;
  const distance = (at) => Math.abs(u.valToPos(chart.at[at], "x") - u.cursor.left);
  const close = [...chart.at.keys()].filter((at) => distance(at) <= reach);
  return close.sort((a, b) => count(b) - count(a) || distance(a) - distance(b))[0] ?? hovered;
}
function xText(chart, at) {
  if (at == null) return "–";
  const name = chart.labels[at] ?? "";
  if (isCases(chart)) return name;
  const value = quantity(chart.at[at], chart.x.unit);
  const bare = name.replace(/ \([\d.]+ \w*B\)$/, ""); // without its size in fewer digits
  return value.startsWith(bare) ? value : `${bare} (${value})`;
}
function plot(place, chart, log) {
  const at = chart.joined ? fullest : isCases(chart) ? (_, __, hovered) => hovered : nearest;
  const options = {
    title: chart.title,
    width: place.clientWidth,
    height: plotHeight(chart),
    legend: {
      markers: {
        width: 2,
        dash: (u, number) => (u.series[number].dash ? "dashed" : "solid"),
        fill: (u, number) => (chart.series[number - 1].kind === "observed" ? u.series[number].stroke() : null),
      },
    },
    cursor: {points: {size: 12, width: 2, stroke: (u, number) => u.series[number].stroke(), fill: () => "transparent"}, drag: {x: true, y: !isCases(chart), uni: 20}, dataIdx: (u, _, hovered) => (u.cursor.left < 0 ? hovered : at(u, chart, hovered))},
    scales: scaleOptions(chart, log),
    axes: axesOptions(chart, log),
    series: [
      {label: chart.x.label, value: (_, __, ___, hovered) => xText(chart, hovered)},
      ...chart.series.map((each, number) => seriesOptions(chart, each, number)),
    ],
    hooks: {drawSeries: [(u, number) => drawInterval(u, chart, number)], draw: [(u) => drawMarks(u, chart)], setSeries: [pressed]},
  };
  const made = new uPlot(options, [chart.at, ...chart.series.map((each) => each.values)], (u, init) => {
    place.prepend(u.root);
    init();
  });
  for (const label of toggles(made)) {
    label.tabIndex = 0;
    label.setAttribute("role", "button");
    label.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      label.click();
    });
  }
  pressed(made);
  return made;
}
function plotHeight(chart) {
  return isCases(chart) ? 90 + 20 * chart.at.length : chart.joined ? 280 : 360;
}
function toggles(u) {
  return [...u.root.querySelectorAll(".u-legend tr:not(:first-child) th")];
}
function pressed(u) {
  toggles(u).forEach((label, number) => label.setAttribute("aria-pressed", u.series[number + 1].show));
}

// The charts of a figure, each in a box that has its size before it is drawn: only charts near the screen are drawn.
function boxed(chart) {
  const box = element("div", isCases(chart) ? "plot wide" : "plot");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `${chart.title} ${chart.y.label}`.trim());
  const rows = isCases(chart) ? 3 : chart.series.length + 2, texts = marksText(chart);
  box.style.minHeight = `${plotHeight(chart) + rowHeight * (rows + texts.length)}px`;
  box.append(...texts);
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
    button("Download CSV", () => download(charts, `${document.title} figure ${number + 1}`.replace(/[^\w]+/g, "-"))),
    element("span", "hint", "Drag to zoom, double-click to reset. Click a name to hide it."),
  );
  figure.classList.add("interactive");
  figure.prepend(tools, place);
  for (const {box} of states) seen.observe(box);
}
// Predictions have the half-widths of their intervals as factors.
function withEnds(each) {
  const scaledBy = (power) => each.spread.map((factor, at) => factor && Number((each.values[at] * factor ** power).toPrecision(6)));
  return each.spread.length ? {...each, low: scaledBy(-1), high: scaledBy(1)} : each;
}
document.querySelectorAll('figure > script[type="application/json"]').forEach((data, number) => {
  const charts = JSON.parse(data.textContent).map((chart) => ({...chart, series: chart.series.map(withEnds)}));
  activate(data.parentElement, charts, number);
});
dark.addEventListener("change", () => {
  for (const state of boxes.values()) if (state.drawn) draw(state);
});
}
