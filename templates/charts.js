"use strict";
// Interactive charts in place of figures. The specification of a figure (report/figures/chart.py) follows its drawing:
// stacks of panels with one x axis.
{
const binary = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const decimal = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const times = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const singular = {matrices: "matrix", launches: "launch"};
const bases = {log2: 2, log10: 10, ratio: 2};
const near = 1.15, rowHeight = 22, axisHeight = 48;
const reach = 20, bandReach = 3; // pixels around the cursor; factor beyond values, within which axes include bands
const dark = matchMedia("(prefers-color-scheme: dark)");

// Quantities as in the tables: divisor and label.
function scaled(value, unit) {
  const largest = (steps) => steps.find(([step]) => Math.abs(value) >= 0.9995 * step) ?? steps.at(-1);
  const [base, per] = unit.split("/");
  if (unit === "B") return largest(binary);
  if (unit === "B/s") return [1e9, "GB/s"];
  if (unit === "s") return largest(times);
  if (["%", "W"].includes(unit)) return [1, unit];
  const [step, prefix] = largest(decimal);
  return [step, unit === "Hz" ? `${prefix}Hz` : per ? `${prefix}${singular[base] ?? base.replace(/s$/, "")}/${per}` : `${prefix} ${unit}`];
}
function quantity(value, unit = "", digits = 4, ends = []) {
  if (value == null) return "–";
  const [step, label] = scaled(value, unit);
  const number = (each) => Number((each / step).toPrecision(digits));
  const interval = ends[0] != null && ends[1] != null && ends[0] < ends[1] ? ` (${ends.map(number).join(" to ")})` : "";
  return `${number(value)} ${label.trim()}`.trim() + interval;
}
function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const isLine = ({style}) => style === "line" || style === "dashes";
const isNote = (each) => !each.name || (each.labelled && isLine(each)); // without a row in the legend
const byRows = ({y}) => y.scale === "rows";
const isTrack = (panel) => byRows(panel) && panel.joined;
const isScatter = (panel) => !panel.series.some((each) => isLine(each) && !isNote(each));

// The common x of all series, as uPlot needs it, and for each series the number of its point there: a series may have
// several points at one x.
function aligned({series}) {
  const rows = new Map();
  series.forEach((each, number) => {
    const seen = new Map();
    each.x.forEach((x, point) => {
      const count = seen.get(x) ?? 0, key = `${x} ${count}`;
      seen.set(x, count + 1);
      if (!rows.has(key)) rows.set(key, {x, points: []});
      rows.get(key).points[number] = point;
    });
  });
  const sorted = [...rows.values()].sort((a, b) => a.x - b.x);
  return {at: sorted.map(({x}) => x), points: series.map((_, number) => sorted.map(({points}) => points[number] ?? null))};
}
// The ends of an axis around values.
function around(values, scale, ends) {
  const known = values.filter((value) => value != null && (!bases[scale] || value > 0));
  if (ends && scale !== "ratio") return ends;
  if (!known.length) return [0, 1];
  const [low, high] = [Math.min(...known), Math.max(...known)];
  if (scale === "ratio") {
    const most = Math.min(Math.max(1.3, 1.05 * high, 1.05 / low), ends?.[1] ?? Infinity);
    return [1 / most, most];
  }
  if (bases[scale]) return [low / near, high * near];
  const room = 0.05 * (high - low) || 0.5;
  return scale === "zero" ? [0, 1.08 * high] : [low - room, high + room];
}
// A text, or variants of it, the longest first.
function variants(label) {
  return [label ?? ""].flat();
}
function yValues({series, y}, from, to) {
  const limited = (each, end, value) => (end == null || !isLine(each) || !["zero", "log10"].includes(y.scale) ? end : Math.min(Math.max(end, value / bandReach), value * bandReach));
  return series.flatMap((each) => each.x.flatMap((x, point) =>
    (x >= from && x <= to ? [each.y[point], ...(y.scale === "ratio" ? [] : [each.low, each.high].map((ends) => limited(each, ends?.[point], each.y[point])))] : [])));
}
function scaleOptions(panel, stack) {
  const whole = (low, high) => low === panel.at[0] && high === panel.at.at(-1);
  const every = stack.panels.flatMap((each) => each.series.flatMap(({x}) => x));
  const x = {time: panel.x.scale === "time", range: (_, low, high) => (whole(low, high) ? around(every, panel.x.scale, panel.x.ends) : [low, high])};
  const y = {range: (u) => {
    if (byRows(panel)) return [-0.5, panel.y.rows.length - 0.5];
    const {min, max} = u.scales.x, shown = panel.series.filter((_, number) => u.series[number + 1].show);
    const inside = yValues({...panel, series: shown.length ? shown : panel.series}, min ?? -Infinity, max ?? Infinity);
    return around(inside, yScale(panel), panel.y.scale === "zero" ? null : panel.y.ends);
  }};
  if (byRows(panel)) y.dir = -1;
  for (const [scale, name] of [[x, panel.x.scale], [y, yScale(panel)]]) {
    if (bases[name]) Object.assign(scale, {distr: 3, log: name === "ratio" ? 10 : bases[name]});
  }
  return {x, y};
}
function yScale({y, log}) {
  return log === undefined ? y.scale : log ? "log10" : y.scale === "log10" ? "zero" : y.scale;
}
// Round numbers within the ends of a logarithmic axis, about as many as fit.
function logTicks(base, low, high, most) {
  const powers = [];
  for (let power = Math.floor(Math.log(low) / Math.log(base)); base ** power <= high; power++) powers.push(power);
  const steps = base === 2 ? [[1]] : [[1], [1, 3], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], [...Array(90).keys()].map((n) => 1 + n / 10)];
  const found = steps.map((some) => powers.flatMap((power) => some.map((step) => step * base ** power))
    .filter((value) => low <= value * 1.0001 && value <= high * 1.0001));
  const ticks = found.findLast((some) => some.length <= most) ?? found[0];
  return ticks.filter((_, number) => number % Math.ceil(ticks.length / most) === 0);
}
function tickOptions(scale, gap, side) {
  const kept = {filter: (_, ticks) => ticks};
  if (scale === "ratio") {
    const ends = (high) => (high < 1.45 ? 1.2 : high < 1.7 ? 1.3 : high < 2.2 ? 1.5 : high < 4 ? 2 : high < 9 ? 3 : 5);
    return {...kept, splits: (_, __, low, high) => [1 / ends(high), 1, ends(high)], values: (_, found) => found.map((value) => value.toPrecision(2))};
  }
  return bases[scale] ? {...kept, splits: (u, _, low, high) => logTicks(bases[scale], low, high, u.bbox[side] / devicePixelRatio / gap)} : {};
}
function axesOptions(panel, stack) {
  const font = "12px Inter, sans-serif", grid = {stroke: colour("line"), width: 1};
  const common = {stroke: colour("ink"), font, labelFont: font, labelSize: 18, ticks: {show: false}, grid};
  const values = (unit) => (_, found) => found.map((value) => (value == null ? null : value ? quantity(value, unit, 3) : "0"));
  const x = {...common, label: panel.x.label || undefined, size: 30, space: 64, ...tickOptions(panel.x.scale, 64, "width")};
  if (panel.x.scale !== "time") x.values = values(panel.x.unit === "work-items" ? "" : panel.x.unit); // the label has the word
  if (byRows(panel) && !bases[panel.x.scale]) { // long units would overlap
    const [step, label] = scaled(Math.max(...panel.at), panel.x.unit ?? "");
    Object.assign(x, {label: label.trim() ? `${panel.x.label} (${label.trim()})` : panel.x.label, values: (_, found) => found.map((value) => Number((value / step).toPrecision(3)))});
  }
  if (panel.joined) Object.assign(x, {label: undefined, size: 4, values: (_, found) => found.map(() => "")});
  const y = {...common, label: panel.y.scale === "ratio" ? " " : panel.y.label || " ", size: stack.left, values: values(panel.y.unit), ...tickOptions(yScale(panel), 30, "height")};
  if (byRows(panel)) {
    const most = Math.floor(stack.left / 6.6), half = Math.floor((most - 1) / 2); // both ends: names often differ in their last word
    const names = panel.y.rows.map((name) => (name.length > most ? `${name.slice(0, half)}…${name.slice(-half)}` : name));
    Object.assign(y, {splits: () => [...names.keys()], filter: (_, found) => found, values: () => names, grid: {show: false}});
  }
  return [x, y];
}
function leftOf(stack, width) {
  const names = stack.panels.filter(byRows).flatMap(({y}) => y.rows.map((name) => 7 * name.length));
  return Math.max(80, Math.min(Math.max(0, ...names), width / 3));
}
function seriesOptions(panel, each, number) {
  const stroke = colour(each.role);
  const value = (_, __, ___, at) => {
    const point = at == null ? null : panel.points[number][at];
    if (point == null) return "–";
    const ends = [each.low?.[point], each.high?.[point]], text = each.texts?.[point];
    return quantity(byRows(panel) ? each.x[point] : each.y[point], byRows(panel) ? panel.x.unit : panel.y.unit, 4, ends) + (text ? `, ${variants(text)[0]}` : "");
  };
  return {
    label: variants(each.name)[0],
    stroke,
    width: 1.5,
    dash: each.style === "dashes" ? [6, 4] : undefined,
    spanGaps: true,
    paths: isLine(each) ? undefined : () => null,
    points: {show: false},
    value,
    class: isNote(each) ? "aside" : undefined,
  };
}

// Marks and intervals of a series.
function drawSeries(u, panel, number) {
  const each = panel.series[number - 1], {ctx, bbox} = u, pixel = devicePixelRatio;
  if (!u.series[number].show) return;
  const [low, high] = [u.scales.y.min, u.scales.y.max], rows = byRows(panel);
  const inside = (value) => (rows ? value : Math.min(Math.max(value, low), high)); // marks beyond lie at the edge
  const at = each.x.map((x, point) => [u.valToPos(x, "x", true), u.valToPos(inside(each.y[point]), "y", true)]);
  const end = (ends, point) => (rows ? [u.valToPos(ends[point], "x", true), at[point][1]] : [at[point][0], u.valToPos(ends[point], "y", true)]);
  const known = each.low ? [...at.keys()].filter((point) => each.low[point] != null && each.high[point] != null) : [];
  ctx.save();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.strokeStyle = ctx.fillStyle = each.style === "boxes" ? colour("line") : u.series[number].stroke();
  ctx.beginPath();
  if (isLine(each) && !rows && known.length) {
    for (const point of known) ctx.lineTo(...end(each.low, point));
    for (const point of known.toReversed()) ctx.lineTo(...end(each.high, point));
    ctx.globalAlpha = 0.15;
    ctx.fill();
  } else if (known.length) {
    const shift = each.style === "boxes" ? pixel : 0;
    for (const point of known) {
      ctx.moveTo(end(each.low, point)[0] + shift, end(each.low, point)[1]);
      ctx.lineTo(...end(each.high, point));
    }
    ctx.globalAlpha = each.wide ? 0.25 : 1;
    ctx.lineWidth = pixel * (each.style === "boxes" ? 16 : each.wide ? 9 : 1);
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
  for (const [x, y] of at) drawMark(ctx, each, x, y, (each.style === "small dots" ? 2 : panel.y.scale === "rows" ? 4 : 3) * pixel);
  ctx.restore();
}
function drawMark(ctx, {style, role}, x, y, size) {
  ctx.beginPath();
  if (style === "up" || style === "down") {
    const up = style === "up" ? size : -size;
    ctx.moveTo(x, y - up);
    ctx.lineTo(x - size, y + up);
    ctx.lineTo(x + size, y + up);
    ctx.closePath();
  } else if (style === "strokes") ctx.rect(x - devicePixelRatio, y - size, 2 * devicePixelRatio, 2 * size);
  else if (["dots", "small dots", "rings"].includes(style)) ctx.arc(x, y, size, 0, 7);
  else return;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  ctx.save();
  if (style === "rings" || role === "predicted" && style !== "strokes" && !style.includes("dots")) ctx.fillStyle = colour("paper");
  ctx.fill();
  ctx.restore();
  if (!style.includes("dots")) ctx.stroke();
}
// Whether what stands for a role is shown: marks and notes go with the series of their role.
function isShown(u, panel, role) {
  const own = [...panel.series.keys()].filter((number) => panel.series[number].role === role && !isNote(panel.series[number]));
  return !own.length || own.some((number) => u.series[number + 1].show);
}
// Lines and ranges across the chart, behind everything.
function drawLines(u, panel) {
  const {ctx, bbox} = u;
  ctx.save();
  for (const {start, end, role, upright, dashed} of panel.marks ?? []) {
    const places = [start, end].map((value) => u.valToPos(value, upright ? "x" : "y", true));
    const [from, to] = [Math.min(...places), Math.max(...places)].map((value) =>
      upright ? Math.min(Math.max(value, bbox.left), bbox.left + bbox.width) : Math.min(Math.max(value, bbox.top), bbox.top + bbox.height));
    if ((start === end && from !== places[0]) || !isShown(u, panel, role)) continue;
    ctx.fillStyle = colour(role);
    ctx.globalAlpha = start === end ? (dashed ? 0.5 : 0.7) : 0.13;
    const width = Math.max(to - from, start === end ? devicePixelRatio : 0);
    ctx.fillRect(upright ? from : bbox.left, upright ? bbox.top : from, upright ? width : bbox.width, upright ? bbox.height : width);
  }
  ctx.restore();
}
// Texts beside marks and lines, each where it covers no other.
function drawTexts(u, panel) {
  const {ctx, bbox} = u, pixel = devicePixelRatio, taken = [], [x, y] = ["x", "y"].map((key) => (value) => u.valToPos(value, key, true));
  const right = bbox.left + bbox.width, inside = (place) => Math.min(Math.max(place, bbox.left), right);
  const write = (texts, role, spots) => {
    for (const text of texts) {
      const width = ctx.measureText(text).width;
      const spot = spots.map(([across, up, side, room]) => [across + side * (width / 2 + 6 * pixel), up, room]).find(([across, up, room]) =>
        width <= (room ?? Infinity) && across - width / 2 >= bbox.left - pixel && across + width / 2 <= right + pixel && up > bbox.top && up < bbox.top + bbox.height &&
        taken.every(([other, height, reached]) => Math.abs(other - across) > (width + reached) / 2 + 2 * pixel || Math.abs(height - up) > 12 * pixel));
      if (!spot) continue;
      taken.push([spot[0], spot[1], width]);
      Object.assign(ctx, {globalAlpha: byRows(panel) ? 0 : 0.75, fillStyle: colour("paper")});
      ctx.fillRect(spot[0] - width / 2, spot[1] - 6 * pixel, width, 12 * pixel);
      ctx.globalAlpha = 1;
      ctx.fillStyle = colour(role);
      ctx.fillText(text, spot[0], spot[1]);
      return;
    }
  };
  for (const each of byRows(panel) ? panel.series.filter(({style}) => style !== "boxes") : []) {
    each.x.forEach((at, point) => {
      const [low, high] = [each.low?.[point] ?? at, each.high?.[point] ?? at].map(x);
      taken.push([(low + high) / 2, y(each.y[point]), high - low]);
    });
  }
  ctx.save();
  Object.assign(ctx, {font: `${11 * pixel}px Inter, sans-serif`, textBaseline: "middle", textAlign: "center"});
  for (const {start, name, role} of panel.marks ?? []) {
    const rows = [8, 22].map((down) => bbox.top + down * pixel);
    if (name && isShown(u, panel, role) && x(start) >= bbox.left && x(start) <= right) write(variants(name), role, rows.flatMap((up) => [[x(start), up, 1], [x(start), up, -1]]));
  }
  panel.series.forEach((each, number) => {
    if (!each.labelled || !u.series[number + 1].show) return;
    if (isLine(each)) {
      const [from, to] = [inside(x(each.x[0])), inside(x(each.x.at(-1)))], [up, end] = [y(each.y[0]), y(each.y.at(-1))];
      const spots = up === end ? [-9, 9, -22, 22].map((away) => [(from + to) / 2, up + away * pixel, 0]) : [8, 22, 36].map((down) => [to - down * pixel, end + down * pixel, -1]);
      if (from < to) write(variants(each.name || quantity(each.y[0], panel.y.unit)), each.role, spots);
      return;
    }
    each.texts.forEach((text, point) => {
      const up = y(each.y[point]), ends = [each.low?.[point], each.high?.[point]].map((value) => x(byRows(panel) ? value ?? each.x[point] : each.x[point]));
      const spots = each.style === "boxes" ? [[(inside(ends[0]) + inside(ends[1])) / 2, up, 0, inside(ends[1]) - inside(ends[0])]] : [[ends[1], up, 1], [ends[0], up, -1], [ends[0], up - 12 * pixel, 0], [ends[0], up + 12 * pixel, 0]];
      write(variants(text), each.style === "boxes" ? "ink" : each.role, spots);
    });
  });
  ctx.restore();
}

// Of marks that are not in a line: the one nearest to the cursor.
function nearest(u, panel, hovered) {
  const distance = (at) => Math.min(...panel.series.map((each, number) => {
    const point = panel.points[number][at];
    return point == null || isNote(each) ? Infinity : Math.hypot(u.valToPos(each.x[point], "x") - u.cursor.left, u.valToPos(each.y[point], "y") - u.cursor.top);
  }));
  const distances = panel.at.map((_, at) => distance(at)), least = Math.min(...distances);
  return least < Infinity ? distances.indexOf(least) : hovered;
}
// Of points in a line: near the cursor, the one with most values.
function fullest(u, panel, hovered) {
  const count = (at) => panel.points.filter((points) => points[at] != null).length;
  const distance = (at) => Math.abs(u.valToPos(panel.at[at], "x") - u.cursor.left);
  const close = [...panel.at.keys()].filter((at) => distance(at) <= reach);
  return close.sort((a, b) => count(b) - count(a) || distance(a) - distance(b))[0] ?? hovered;
}
function xText(panel, at) {
  if (at == null) return "–";
  if (panel.x.scale === "time") return new Date(1000 * panel.at[at]).toISOString().slice(0, 16).replace("T", " ");
  if (!byRows(panel)) return quantity(panel.at[at], panel.x.unit);
  const number = panel.points.findIndex((points) => points[at] != null);
  return panel.y.rows[Math.round(panel.series[number].y[panel.points[number][at]])] ?? "–";
}
function height(panel) {
  const own = byRows(panel) ? rowHeight * panel.y.rows.length : panel.y.scale === "ratio" ? 64 : 130 * Math.max(panel.height_in, 0.8) + 40;
  return own + (panel.joined ? 12 : axisHeight) + (panel.title ? 22 : 0);
}
function plot(state, panel) {
  const {box, stack} = state, at = isScatter(panel) ? nearest : fullest;
  const others = (u) => state.drawn.filter((each) => each !== u);
  const options = {
    tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), "Etc/UTC"),
    title: variants(panel.title)[0],
    width: box.clientWidth,
    height: height(panel),
    padding: [8, null, null, null],
    legend: {show: !isTrack(panel)},
    cursor: {
      points: {size: 12, width: 2, stroke: (u, number) => u.series[number].stroke(), fill: () => "transparent"},
      drag: {x: true, y: false},
      sync: stack.panels.length > 1 ? {key: box.id, scales: ["x", null], filters: {pub: (type) => type.startsWith("mousemove") || type === "mouseleave"}} : undefined,
      dataIdx: (u, _, hovered) => (u.cursor.left < 0 ? hovered : at(u, panel, hovered)),
    },
    scales: scaleOptions(panel, stack),
    axes: axesOptions(panel, stack),
    series: [{label: byRows(panel) ? "row" : panel.x.label, class: panel.y.scale === "ratio" ? "aside" : undefined, value: (_, __, ___, hovered) => xText(panel, hovered)},
      ...panel.series.map((each, number) => seriesOptions(panel, each, number))],
    hooks: {
      drawClear: [(u) => drawLines(u, panel)],
      drawSeries: [(u, number) => drawSeries(u, panel, number)],
      draw: [(u) => drawTexts(u, panel)],
      setScale: [(u, key) => {
        const {min, max} = u.scales.x;
        if (key === "x") for (const other of others(u)) if (other.scales.x.min !== min || other.scales.x.max !== max) other.setScale("x", {min, max});
      }],
      setSeries: [pressed, (u, number, {show}) => {
        if (number == null || show == null) return;
        const {role, style} = panel.series[number - 1];
        for (const other of state.drawn) {
          other.panel.series.forEach((each, index) => each.role === role && (each.style === style || isNote(each)) && other.series[index + 1].show !== show && other.setSeries(index + 1, {show}));
        }
      }],
    },
  };
  const limited = (value) => (panel.y.scale === "ratio" ? Math.min(Math.max(value, 1 / panel.y.ends[1]), panel.y.ends[1]) : value);
  const columns = panel.series.map((each, number) => panel.points[number].map((point) => (point == null ? null : limited(each.y[point]))));
  const made = new uPlot(options, [panel.at, ...columns], box);
  made.panel = panel;
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
function toggles(u) {
  return [...u.root.querySelectorAll(".u-legend tr:not(:first-child) th")];
}
function pressed(u) {
  toggles(u).forEach((label, number) => label.setAttribute("aria-pressed", u.series[number + 1].show));
}

// The charts of a stack in a box that has its size before they are drawn: only those near the screen are drawn.
function boxed(stack) {
  const wide = stack.panels.length === 1 && byRows(stack.panels[0]), box = element("div", wide ? "plot wide" : "plot");
  box.id = `plot-${boxes.size}`;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", stack.alt);
  box.tabIndex = 0;
  const rows = ({series}) => series.filter((each) => !isNote(each)).length + 1;
  box.style.minHeight = `${stack.panels.reduce((sum, panel) => sum + height(panel) + (isTrack(panel) ? 0 : 24 * rows(panel)), 0)}px`;
  const panels = stack.panels.map((panel) => ({series: [], ...panel, ...aligned({series: [], ...panel})}));
  const state = {stack: {...stack, panels}, box, drawn: [], log: panels.some(({y}) => y.scale === "log10")};
  boxes.set(box, state);
  return state;
}
function draw(state) {
  const before = state.drawn;
  state.drawn = [];
  state.stack.left = leftOf(state.stack, state.box.clientWidth);
  for (const panel of state.stack.panels) {
    if (["zero", "log10"].includes(panel.y.scale)) panel.log = state.log;
    state.drawn.push(plot(state, panel));
  }
  if (!before.length) return;
  const {min, max} = before[0].scales.x;
  state.drawn[0].setScale("x", {min, max});
  before.forEach((each, index) => each.series.forEach(({show}, number) => number && state.drawn[index].setSeries(number, {show})));
  for (const each of before) each.destroy();
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
      if (target.clientWidth && target.clientWidth !== drawn.width) drawn.setSize({width: target.clientWidth, height: drawn.height});
    }
  }
});

// The data of a figure's charts: one row for each value, in SI base units.
function csv(stacks) {
  const rows = stacks.flatMap(({panels}) => panels.flatMap((panel) => panel.series.filter((each) => !isNote(each)).flatMap((each) =>
    each.x.map((x, point) => {
      const [value, place, name] = byRows(panel) ? [x, "", panel.y.rows[Math.round(each.y[point])]] : [each.y[point], x, ""];
      const [of, unit] = byRows(panel) ? ["", panel.x.unit] : [panel.x.unit, panel.y.unit], text = variants(each.texts?.[point])[0];
      const title = panels.find(({title}) => title)?.title;
      return [variants(title)[0], variants(each.name)[0], [name, text].filter(Boolean).join(", "), place, of, value, each.low?.[point], each.high?.[point], unit].map((one) => one ?? "");
    }))));
  const head = ["chart", "series", "point", "x", "unit of x", "value", "low", "high", "unit of value"];
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
function cell(value) {
  const text = typeof value === "string" ? value.replace(/^[=+\-@\t\r\n]/, "'$&") : String(value); // never a formula
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
function download(stacks, name) {
  const link = element("a", "");
  link.href = URL.createObjectURL(new Blob([csv(stacks)], {type: "text/csv"}));
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
function activate(figure, stacks, number) {
  const states = stacks.map(boxed), name = `${document.title} figure ${number + 1}`;
  const place = element("div", "charts"), tools = element("div", "tools");
  const having = states.filter(({stack}) => stack.panels.some(({y}) => ["zero", "log10"].includes(y.scale)));
  place.append(...states.map(({box}) => box));
  tools.append(button("Static figure", (on) => figure.classList.toggle("interactive", !on), false));
  if (having.length) {
    tools.append(button("Logarithmic y axis", (on) => having.forEach((state) => {
      state.log = on;
      if (state.drawn.length) draw(state);
    }), having.every(({log}) => log)));
  }
  const save = button("Download CSV", () => download(states.map(({stack}) => stack), name.replace(/[^\w]+/g, "-")));
  save.setAttribute("aria-label", `Download CSV, ${name}`);
  tools.append(save, element("span", "hint", "Drag to zoom, double-click to reset. Click a name to hide it."));
  figure.classList.add("interactive");
  figure.prepend(tools, place);
  for (const {box} of states) seen.observe(box);
}
document.querySelectorAll('figure > script[type="application/json"]').forEach((data, number) => {
  activate(data.parentElement, JSON.parse(data.textContent), number);
});
dark.addEventListener("change", () => {
  for (const state of boxes.values()) if (state.drawn.length) draw(state);
});
}
