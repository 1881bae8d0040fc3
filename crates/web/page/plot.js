// Inline SVG: series over time with quartiles, and bars.

const NAMESPACE = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function html(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Three digits.
export function digits(x) {
  const a = Math.abs(x);
  return a >= 99.95 ? x.toFixed(0) : a >= 9.995 ? x.toFixed(1) : x.toFixed(2);
}

function ticks(most, count) {
  const rough = most / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(6)));
}

// Lines over time: `lines` are { label, colour, dash, step, median, low, high }.
export function timeline(width, title, unit, lines) {
  const height = 220, left = 46, right = 8, top = 10, bottom = 26;
  const end = Math.max(1e-9, ...lines.map(l => l.step * l.median.length));
  const peak = Math.max(1e-9, ...lines.flatMap(l => [...l.high, ...l.median])) * 1.05;
  const x = t => left + (width - left - right) * t / end, y = v => height - bottom - (height - top - bottom) * v / peak;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${title} over time, ${unit}: ${lines.map(l => l.label).join(", ")}` });
  for (const value of ticks(peak, 4)) {
    picture.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)));
  }
  for (const time of ticks(end, width < 500 ? 5 : 10)) {
    picture.append(svg("text", { x: x(time), y: height - 8, "text-anchor": "middle" }, time === 0 ? "0 s" : String(time)));
  }
  for (const { colour, dash, step, median, low, high } of lines) {
    const at = (values, i) => `${x((i + 0.5) * step).toFixed(1)} ${y(values[i]).toFixed(1)}`;
    if (low.length && low.some((v, i) => v !== high[i])) {
      const there = high.map((_, i) => at(high, i)), back = low.map((_, i) => at(low, i)).reverse();
      picture.append(svg("path", { class: "band", fill: colour, d: `M${[...there, ...back].join("L")}Z` }));
    }
    picture.append(svg("path", { class: "line", stroke: colour, "stroke-dasharray": dash, d: `M${median.map((_, i) => at(median, i)).join("L")}` }));
  }
  return picture;
}

// The ranking's bar: a value from zero with its interval.
export function bar(value, interval, most, colour) {
  const picture = svg("svg", { class: "bar", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" });
  picture.append(svg("rect", { x: 0, y: 2, height: 12, width: Math.max(0, 100 * value / most), fill: colour }));
  if (interval) {
    const [low, high] = interval.map(v => Math.min(100, Math.max(0, 100 * v / most)));
    picture.append(svg("line", { class: "whisker", x1: low, x2: high, y1: 8, y2: 8, "vector-effect": "non-scaling-stroke" }));
  }
  return picture;
}

// Parts of a whole side by side: { name, part, colour }.
export function parts(list, whole) {
  const picture = svg("svg", { class: "parts", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" });
  let at = 0;
  for (const { part, colour } of list) {
    const width = 100 * part / whole;
    picture.append(svg("rect", { x: at, y: 0, height: 16, width, fill: colour }));
    at += width;
  }
  return picture;
}
