"use strict";
// Interactive charts in place of figures. The data of a figure's charts follow its drawing.
{
const looks = {
  specification: {colour: "--predicted", dash: [6, 4]},
  calibrated: {colour: "--predicted"},
  observed: {colour: "--observed"},
  trace: {colour: "--observed"},
  "machine 1": {colour: "--ink", dash: [6, 4]},
  "machine 2": {colour: "--ceiling-1", dash: [6, 4]},
  "machine 3": {colour: "--ceiling-2", dash: [6, 4]},
  "machine 4": {colour: "--ceiling-3", dash: [6, 4]},
};
const ceilings = ["--ceiling-1", "--ceiling-2", "--ceiling-3", "--ceiling-4", "--muted"];
const binary = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const decimal = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const times = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const singular = {matrices: "matrix", launches: "launch"};
const bases = {log2: 2, log10: 10};
const rowHeight = 24, near = 1.15;
const lineHeight = 14, stripHeight = 110;
const leastReach = 1.3; // of the ratios that a strip shows, above and below 1
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
    dash: line && !each.dots ? look.dash : undefined,
    spanGaps: true,
    ...(line ? {} : {paths: () => null}),
    points: {show: !line || each.dots, size: chart.joined ? 6 : 8, width: 1.5, stroke, fill: isSeen(each) ? stroke : colour("--paper")},
    value: (_, __, ___, at) => (at == null ? "–" : quantity(each.values[at], chart.y.unit, 4, ends(each, at))),
    class: each.aside ? "aside" : undefined,
  };
}
function isSeen(each) {
  return each.kind === "observed" || each.dots;
}
// The last row of the legend: the predicted bottleneck at the cursor.
function writeLimit(u, {bottlenecks, isStrip}) {
  if (!bottlenecks.length || isStrip) return;
  const row = u.root.querySelector(".limits") ?? u.root.querySelector(".u-legend tbody").appendChild(element("tr", "limits"));
  row.replaceChildren(element("th", "", "predicted bottleneck"), element("td", "", bottlenecks[u.cursor.idxs?.[1]] || "–"));
}
function ends(each, at) {
  return each.low?.length ? [each.low[at], each.high[at]] : [];
}

// The chart below a curve: its values divided by the prediction with intervals, or by those of the first machine.
function strip(chart) {
  const base = chart.series.find((each) => each.spread.length || each.kind === "machine 1");
  const isDivided = (each) => each.kind === "observed" || each !== base && each.kind.startsWith("machine");
  const isBand = (each) => each.kind.startsWith("machine") && !each.dots; // not that of a ratio: predictions share uncertainties
  const known = [...chart.at.keys()].filter((at) => base.values[at] != null);
  const under = chart.at.map((x) => between(x, known.map((at) => [chart.at[at], base.values[at]])));
  const divided = (values) => values.map((value, at) => value && under[at] && Number((value / under[at]).toPrecision(6)));
  return {
    ...chart,
    isStrip: true,
    title: "",
    y: {label: "", unit: "", spacing: "log10"},
    series: chart.series.map((each) => ({
      ...each,
      name: each.kind === "observed" ? "observed / predicted" : `${each.name} / ${base.name}`,
      aside: !isDivided(each),
      values: divided(each.values),
      low: isBand(each) ? [] : divided(each.low),
      high: isBand(each) ? [] : divided(each.high),
    })),
  };
}
function mostReach(chart) {
  return chart.series.some(({kind}) => kind.startsWith("machine")) ? 25 : 4;
}
// Interpolated on logarithmic axes; null beyond the ends.
function between(x, points) {
  const next = points.findIndex(([at]) => at >= x / 1.01);
  if (next < 0) return null;
  if (next === 0) return points[0][0] <= x * 1.01 ? points[0][1] : null;
  const [[a, low], [b, high]] = [points[next - 1], points[next]];
  return low * (high / low) ** (Math.log(x / a) / Math.log(b / a));
}
function scaleOptions(chart, log) {
  const y = {range: (u) => extent(u, chart, log), ...(log && {distr: 3, log: 10})};
  if (isCases(chart)) {
    const rows = (_, low, high) => (isWhole(chart, low, high) ? [low - 0.5, high + 0.5] : [low, high]);
    return {x: {time: false, ori: 1, dir: -1, range: rows}, y: {...y, ori: 0, dir: 1}};
  }
  const base = bases[chart.x.spacing];
  const wider = (low, high) => (base && isWhole(chart, low, high) ? [low / near, high * near] : [low, high]);
  const x = {range: (_, low, high) => wider(low, high), ...(base && {distr: 3, log: base})};
  return {x: {time: false, ...x}, y};
}
function isWhole({at}, low, high) {
  return low === at[0] && high === at.at(-1);
}
// Ends of the y axis for the shown part of x, with intervals.
function extent(u, chart, log) {
  const [first, last] = u.series[0].idxs ?? [0, chart.at.length - 1];
  if (chart.isStrip) {
    const ratios = chart.series.filter(({aside}) => !aside).flatMap(({values}) => values.slice(first, last + 1)).filter((value) => value > 0);
    const most = Math.min(Math.max(leastReach, ...ratios.map((ratio) => 1.05 * Math.max(ratio, 1 / ratio))), mostReach(chart));
    return [1 / most, most];
  }
  const shown = chart.series.filter((_, number) => u.series[number + 1].show);
  const values = (shown.length ? shown : chart.series).flatMap((each) =>
    [each.values, each.low, each.high].flatMap((some) => some.slice(first, last + 1))).filter((value) => value > 0);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (chart.y.spacing === "near" && !log) return [low - 0.05 * (high - low), high + 0.05 * (high - low)];
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
  if (chart.ratios) { // two charts, of one width, with one x axis
    y.size = (_, texts) => (chart.isStrip ? chart.frame.left : (chart.frame.left = width(["0.00", ...(texts ?? [])])));
    if (!chart.isStrip) Object.assign(x, {label: undefined, size: 4, values: (_, found) => found.map(() => "")});
  }
  if (chart.isStrip) {
    const ticks = (low, high) => (high < 1.5 ? [1 / 1.2, 1, 1.2] : high < 2.5 ? [1 / 1.5, 1, 1.5] : high < 9 ? [0.5, 1, 2] : [0.2, 1, 5]);
    const ratios = {splits: (_, __, low, high) => ticks(low, high), filter: (_, found) => found, values: (_, found) => found.map((value) => value.toPrecision(2))};
    return [{...x, ...tickOptions(bases[chart.x.spacing], 64)}, {...y, label: " ", ...ratios}];
  }
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
  if (chart.joined && !isSeen(each)) {
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
    ctx.globalAlpha = isSeen(each) ? 1 : 0.2;
    ctx.lineWidth = devicePixelRatio * (each.kind === "observed" ? 1 : 9);
    ctx.strokeStyle = u.series[number].stroke();
    ctx.stroke();
  }
  ctx.restore();
}
// Cliffs and tapers: lines in the chart; above it, a row for each kind of mark, from bottom to top.
function markRows({marks}) {
  const found = [["taper", true], ["taper", false], ["cliff", true], ["cliff", false]].map(([feature, seen]) =>
    marks.filter((mark) => mark.feature === feature && (mark.kind === "observed") === seen));
  return found.filter((some) => some.length);
}
function drawMarks(u, chart) {
  const {ctx, bbox} = u, pixel = devicePixelRatio;
  ctx.save();
  ctx.font = `${11 * pixel}px Inter, sans-serif`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "start";
  markRows(chart).forEach((row, level) => {
    const up = bbox.top - (level + 0.6) * lineHeight * pixel;
    const shown = row.map((mark) => ({...mark, across: u.valToPos(mark.x, "x", true), stroke: strokeOf(u, chart, mark.kind)}))
      .filter(({across, stroke}) => stroke && across >= bbox.left && across <= bbox.left + bbox.width);
    for (const mark of shown) {
      ctx.strokeStyle = ctx.fillStyle = mark.stroke;
      segment(ctx, mark.across, bbox.top, mark.across, bbox.top + bbox.height, {alpha: 0.5});
      if (chart.isStrip) continue;
      const [start, end, low, high] = [mark.start, mark.end, mark.low, mark.high].map((x) =>
        Math.min(Math.max(u.valToPos(x, "x", true), bbox.left), bbox.left + bbox.width));
      segment(ctx, start, up, end, up, {});
      segment(ctx, low, up, high, up, {alpha: 0.3, width: 5});
      triangle(ctx, mark.across, up, 4 * pixel * (mark.feature === "cliff" ? 1 : -1), mark.kind === "observed");
      Object.assign(mark, {left: Math.min(start, low) - 5 * pixel, right: Math.max(end, high) + 5 * pixel});
    }
    if (!chart.isStrip) writeBeside(ctx, shown, up, bbox.left + bbox.width);
  });
  if (!chart.isStrip) drawPlateaus(u, chart);
  ctx.restore();
}
function strokeOf(u, chart, kind) {
  const {show, stroke} = u.series[1 + chart.series.findIndex((each) => each.kind === kind)];
  return show && stroke();
}
function segment(ctx, x, y, toX, toY, {alpha = 1, width = 1}) {
  ctx.globalAlpha = alpha;
  ctx.lineWidth = width * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(toX, toY);
  ctx.stroke();
  ctx.globalAlpha = 1;
}
function triangle(ctx, x, y, size, filled) {
  ctx.beginPath();
  ctx.moveTo(x - size, y - size);
  ctx.lineTo(x + size, y - size);
  ctx.lineTo(x, y + size);
  ctx.closePath();
  const {fillStyle} = ctx;
  if (!filled) ctx.fillStyle = colour("--paper");
  ctx.lineWidth = devicePixelRatio;
  ctx.fill();
  ctx.fillStyle = fillStyle;
  ctx.stroke();
}
// Texts of marks in a row: the longest that fits to the right, or else to the left, of its mark.
function writeBeside(ctx, marks, up, edge) {
  let taken = 0;
  marks.forEach((mark, number) => {
    const until = Math.min(edge, ...marks.slice(number + 1).map(({left}) => left)), from = Math.max(taken, mark.right);
    ctx.fillStyle = mark.stroke;
    for (const text of mark.texts) {
      const {width} = ctx.measureText(text), after = from + width <= until;
      if (!after && taken + width > mark.left) continue;
      ctx.fillText(text, after ? from : mark.left - width, up);
      taken = after ? from + width : mark.right;
      return;
    }
    taken = from;
  });
}
// Observed plateaus with their values; fitted ones with the best sample.
function drawPlateaus(u, chart) {
  const {ctx, bbox} = u, pixel = devicePixelRatio, taken = [], stroke = chart.plateaus.length && strokeOf(u, chart, "observed");
  if (!stroke) return;
  const inside = (x) => Math.min(Math.max(u.valToPos(x, "x", true), bbox.left), bbox.left + bbox.width);
  ctx.textAlign = "center";
  for (const {start, end, value, best} of chart.plateaus.toReversed()) {
    const [left, right] = [inside(start), inside(end)], up = u.valToPos(value, "y", true);
    if (left >= right || up < bbox.top || up > bbox.top + bbox.height) continue;
    ctx.strokeStyle = stroke;
    segment(ctx, left, up, right, up, {alpha: 0.7});
    const text = best == null ? quantity(value, chart.y.unit) : `fitted ${quantity(value, chart.y.unit)}, best ${quantity(best, chart.y.unit)}`;
    const half = ctx.measureText(text).width / 2;
    const middle = Math.min(Math.max((left + right) / 2, bbox.left + half), bbox.left + bbox.width - half);
    const place = [up - 9 * pixel, up + 9 * pixel].find((y) => y > bbox.top + 6 * pixel && y < bbox.top + bbox.height - 6 * pixel &&
      taken.every(([x, other, reached]) => Math.abs(x - middle) > half + reached || Math.abs(other - y) > 12 * pixel));
    if (place == null) continue;
    taken.push([middle, place, half]);
    ctx.fillStyle = colour("--paper");
    ctx.globalAlpha = 0.75;
    ctx.fillRect(middle - half, place - 6 * pixel, 2 * half, 12 * pixel);
    ctx.globalAlpha = 1;
    ctx.fillStyle = stroke;
    ctx.fillText(text, middle, place);
  }
}
function marksText({marks}) {
  const kinds = {predicted: marks.filter(({kind}) => kind !== "observed"), observed: marks.filter(({kind}) => kind === "observed")};
  return Object.entries(kinds).filter(([, some]) => some.length).map(([name, some]) =>
    element("p", `marks ${name}`, `${name}: ${some.map(({texts}) => texts[0]).join("; ")}`));
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
// Values that a chart draws: ratios beyond a strip's reach lie at its edge.
function drawnValues(chart) {
  const most = mostReach(chart), limited = (value) => value && Math.min(Math.max(value, 1 / most), most);
  return chart.series.map(({values}) => (chart.isStrip ? values.map(limited) : values));
}
function plot(place, chart, log, hooks = {}) {
  const at = chart.joined ? fullest : isCases(chart) ? (_, __, hovered) => hovered : nearest;
  const options = {
    title: chart.title || undefined,
    width: place.clientWidth,
    height: plotHeight(chart),
    padding: [chart.isStrip ? 4 : markRows(chart).length * lineHeight + 12, null, null, null],
    legend: {
      markers: {
        width: 2,
        dash: (u, number) => (u.series[number].dash ? "dashed" : "solid"),
        fill: (u, number) => (isSeen(chart.series[number - 1]) ? u.series[number].stroke() : null),
      },
    },
    cursor: {points: {size: 12, width: 2, stroke: (u, number) => u.series[number].stroke(), fill: () => "transparent"}, drag: {x: true, y: !isCases(chart) && !chart.isStrip, uni: 20}, sync: chart.ratios ? {key: place.id, filters: {pub: (type) => type.startsWith("mousemove") || type === "mouseleave"}} : undefined, dataIdx: (u, _, hovered) => (u.cursor.left < 0 ? hovered : at(u, chart, hovered))},
    scales: scaleOptions(chart, log),
    axes: axesOptions(chart, log),
    series: [
      {label: chart.x.label, class: chart.isStrip ? "aside" : undefined, value: (_, __, ___, hovered) => xText(chart, hovered)},
      ...chart.series.map((each, number) => seriesOptions(chart, each, number)),
    ],
    hooks: {drawSeries: [(u, number) => drawInterval(u, chart, number)], draw: [(u) => drawMarks(u, chart)], setLegend: [(u) => writeLimit(u, chart)], ...hooks},
  };
  const made = new uPlot(options, [chart.at, ...drawnValues(chart)], (u, init) => {
    place.insertBefore(u.root, place.querySelector(".marks"));
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
  writeLimit(made, chart);
  pressed(made);
  return made;
}
function plotHeight(chart) {
  if (chart.isStrip) return stripHeight;
  return isCases(chart) ? 90 + 20 * chart.at.length : chart.joined ? 280 + lineHeight * markRows(chart).length : 360;
}
function toggles(u) {
  return [...u.root.querySelectorAll(".u-legend tr:not(:first-child):not(.limits) th")];
}
function pressed(u) {
  toggles(u).forEach((label, number) => label.setAttribute("aria-pressed", u.series[number + 1].show));
}

// The charts of a figure, each in a box that has its size before it is drawn: only charts near the screen are drawn.
function boxed(chart) {
  const box = element("div", isCases(chart) ? "plot wide" : "plot");
  box.id = `plot-${boxes.size}`;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `${chart.title} ${chart.y.label}`.trim());
  const rows = isCases(chart) ? 4 : chart.series.length + (chart.bottlenecks.length ? 3 : 2), texts = marksText(chart);
  const below = chart.ratios ? stripHeight + rowHeight : 0;
  box.style.minHeight = `${plotHeight(chart) + below + rowHeight * rows}px`;
  box.append(...texts);
  const framed = {...chart, frame: {left: 0}};
  const state = {charts: chart.ratios ? [framed, strip(framed)] : [framed], box, log: chart.y.spacing === "log10", drawn: []};
  boxes.set(box, state);
  return state;
}
function draw(state) {
  const before = state.drawn;
  state.drawn = [];
  for (const chart of state.charts) state.drawn.push(plot(state.box, chart, chart.isStrip || state.log, together(state)));
  if (!before.length) return;
  const {min, max} = before[0].scales.x;
  state.drawn[0].setScale("x", {min, max});
  before[0].series.forEach((each, number) => number && state.drawn[0].setSeries(number, {show: each.show}));
  for (const each of before) each.destroy();
}
// A curve and its strip have the same x axis and the same series.
function together(state) {
  const others = (u) => state.drawn.filter((each) => each !== u);
  return {
    setScale: [(u, key) => {
      const {min, max} = u.scales.x;
      if (key !== "x") return;
      for (const other of others(u)) if (other.scales.x.min !== min || other.scales.x.max !== max) other.setScale("x", {min, max});
    }],
    setSeries: [pressed, (u) => {
      for (const other of others(u)) {
        u.series.forEach(({show}, number) => number && other.series[number].show !== show && other.setSeries(number, {show}));
      }
    }],
    drawAxes: [(u) => {
      const {left} = state.charts[0].frame, [curve, below] = state.drawn;
      if (u === curve && below && below.axes[1]._size !== left) below.redraw(false, true);
    }],
  };
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
    for (const drawn of boxes.get(target).drawn) {
      if (target.clientWidth && target.clientWidth !== drawn.width) {
        drawn.setSize({width: target.clientWidth, height: drawn.height});
      }
    }
  }
});

// The data of a figure's charts: one row for each value, in SI base units.
function csv(charts) {
  const rows = charts.flatMap(({title, x, y, at, labels, series, bottlenecks}) =>
    series.flatMap(({name, values, low, high}) =>
      [...at.keys()].filter((i) => values[i] != null).map((i) =>
        [title, name, labels[i] ?? "", at[i], x.unit, values[i], low[i] ?? "", high[i] ?? "", y.unit, bottlenecks[i] ?? ""])));
  const head = ["chart", "series", "point", "x", "unit of x", "value", "low", "high", "unit of value", "predicted bottleneck"];
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
      if (state.drawn.length) draw(state);
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
  for (const state of boxes.values()) if (state.drawn.length) draw(state);
});
}
