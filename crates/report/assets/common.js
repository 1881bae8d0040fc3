"use strict";
// What every page needs: elements, numbers, colours, the tip, the theme, and what a check in a browser without a window reads.
const pageTools = (() => {
  const errors = [];
  addEventListener("error", e => errors.push(e.message || "a load failed"));
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const drawn = { plots: 0, points: 0, empty: [] };
  const canvases = new Set();

  // ---- small helpers ----
  const SVG = "http://www.w3.org/2000/svg";
  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "g", "rect", "line", "text", "path", "pattern", "defs", "title"].includes(tag);
    const node = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value != null) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const nbsp = "\u00a0";
  function digits(x, most = 2) {
    const a = Math.abs(x);
    return a >= 99.95 ? x.toFixed(0) : a >= 9.995 ? x.toFixed(Math.min(1, most)) : x.toFixed(most);
  }
  const plain = x => String(+x.toPrecision(6));
  function ticks(max, count) {
    if (!(max > 0)) return [0, 1];
    const raw = max / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw * 0.999);
    const all = [];
    for (let i = 0; i * step < max * 1.0001 + step * 0.999; i++) all.push(i * step);
    return all;
  }
  const probe = document.body.appendChild(make("span", { hidden: "" }));
  function colour(name) {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  }
  const faded = (rgb, alpha) => rgb.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
  function textWidth(text, size = 13, weight = 400) {
    const pen = textWidth.pen ??= document.createElement("canvas").getContext("2d");
    pen.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
    return pen.measureText(text).width;
  }

  // ---- the tip beside the pointer ----
  const tip = document.getElementById("tip");
  document.addEventListener("pointermove", e => {
    const text = e.target.closest?.("[data-tip]")?.getAttribute("data-tip");
    tip.hidden = !text;
    if (!text) return;
    if (tip.textContent !== text) tip.textContent = text;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(6, Math.min(e.clientX + 14, innerWidth - width - 6))}px`;
    tip.style.top = `${e.clientY + 18 + height > innerHeight ? e.clientY - height - 10 : e.clientY + 18}px`;
  });

  function plot(opts, columns, box, name, describe) {
    const u = new uPlot(opts, columns, box);
    const canvas = u.root.querySelector("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", describe);
    canvases.add({ u, name, columns });
    return u;
  }

  // ---- plots over time ----
  function options(width, height, unit, maxX, maxY, key, more = []) {
    const soft = colour("soft"), grid = colour("grid");
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const axis = (size, label, extra = {}) => ({ stroke: soft, font, size, gap: 3, label, labelFont: font, labelSize: 16, labelGap: 0,
      grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, size: 4 }, values: (_, v) => v.map(plain), ...extra });
    return {
      width, height, legend: { show: false }, padding: [8, more.length ? 0 : 10, 0, 0],
      cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 6 }, sync: { key } },
      scales: { x: { time: false, range: [0, maxX] }, y: { range: [0, maxY] } },
      axes: [axis(26, "Time, s", { space: 55 }), axis(maxY >= 1000 ? 48 : 40, unit, { space: 30 }), ...more.map(m => axis(42, m, { scale: "c", side: 1, grid: { show: false }, space: 30 }))],
    };
  }
  // Equal steps of time, and a column for each list, which may end early.
  function columns(lists, step) {
    const length = Math.max(0, ...lists.map(l => l.length));
    return [Array.from({ length }, (_, i) => (i + 1) * step), ...lists.map(l => Array.from({ length }, (_, i) => l[i] ?? null))];
  }
  const peak = lists => Math.max(0, ...lists.flat());
  function clear(box) {
    for (const c of canvases) if (box.contains(c.u.root)) { c.u.destroy(); canvases.delete(c); }
    box.replaceChildren();
  }

  // Saves text, or a blob, as a file.
  function download(name, type, content) {
    const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = make("a", { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  // ---- many connections ----
  // A choice among the connections of `groups`, which have a text, their names, and the index of the name that stands for
  // the group. `change` gets the chosen names. Returns the names that are chosen at first.
  const AT_ONCE = 4;
  function connections(groups, box, change) {
    const kinds = groups.map(g => g.names[g.shown]);
    const several = groups.length > 1, all = several && groups.length <= AT_ONCE;
    if (several || groups[0]?.names.length > 1) {
      const select = make("select", {});
      if (several) select.append(make("option", { value: "" }, groups.every(g => g.names.length === 1) ? "all" : "one of each kind"));
      for (const g of groups) {
        const options = g.names.map(name => make("option", { value: `=${name}` }, name));
        select.append(...(options.length > 1 ? [make("optgroup", { label: g.text }, ...options)] : options));
      }
      select.value = all ? "" : `=${kinds[0]}`;
      select.addEventListener("change", () => change(select.value ? [select.value.slice(1)] : kinds));
      box.append(make("label", {}, "Connection:", select));
      const alike = groups.filter(g => g.names.length > 1).map(g => g.text);
      if (alike.length) box.append(make("span", { class: "soft" }, alike.join("; ")));
      box.hidden = false;
    }
    return all ? kinds : kinds.slice(0, 1);
  }

  // ---- export ----
  function exporter(text, act) {
    const button = make("button", { type: "button", class: "export", title: `Save as ${text}` }, text);
    button.addEventListener("click", act);
    return button;
  }
  // The drawing with its colours written into it, as they come from the style sheet here.
  const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "text-anchor", "font-size", "font-weight", "font-family"];
  function standalone(svg) {
    const copy = svg.cloneNode(true);
    const here = [svg, ...svg.querySelectorAll("*")], there = [copy, ...copy.querySelectorAll("*")];
    here.forEach((node, i) => {
      const style = getComputedStyle(node);
      for (const name of STYLES) there[i].setAttribute(name, style.getPropertyValue(name));
    });
    copy.querySelectorAll(".hit").forEach(n => n.remove());
    const ground = make("rect", { width: "100%", height: "100%", fill: colour("card") });
    copy.prepend(ground);
    const { width, height } = svg.getBoundingClientRect();
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    return new XMLSerializer().serializeToString(copy);
  }
  function toPng(svg, name) {
    const { width, height } = svg.getBoundingClientRect();
    const image = new Image();
    image.onload = () => {
      const canvas = make("canvas", { width: width * 2, height: height * 2 });
      const pen = canvas.getContext("2d");
      pen.scale(2, 2);
      pen.drawImage(image, 0, 0, width, height);
      canvas.toBlob(blob => download(name, "image/png", blob));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standalone(svg));
  }
  // A table under these headings.
  function csv(table, head) {
    const cell = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    const rows = [...table.tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent.trim()));
    return [head, ...rows].map(r => r.map(cell).join(",")).join("\n") + "\n";
  }

  // ---- drawing, again when the width or the theme changes ----
  // `draw` draws a box; `themed` are those whose colours are fixed when they are drawn.
  function start(boxes, draw, themed) {
    const widths = new Map();
    const button = document.getElementById("theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    function named() {
      button.textContent = dark() ? "Light theme" : "Dark theme";
      button.hidden = false;
    }
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("pathweave-theme", root.dataset.theme); } catch { /* then it lasts as long as the page */ }
      named();
      themed.forEach(draw);
    });
    system.addEventListener("change", () => { named(); themed.forEach(draw); });

    named();
    boxes.forEach(draw);
    boxes.forEach(b => widths.set(b, b.clientWidth));
    const observer = new ResizeObserver(entries => {
      for (const { target } of entries) {
        if (widths.get(target) === target.clientWidth) continue;
        widths.set(target, target.clientWidth);
        draw(target);
      }
    });
    boxes.forEach(b => observer.observe(b));

    // ---- what a check in a browser without a window reads ----
    setTimeout(() => {
      for (const { u, name, columns } of canvases) {
        const values = columns.slice(1).flat().filter(v => v != null).length;
        const { left, top, width, height } = u.bbox;
        const pixels = width > 0 && height > 0 ? u.ctx.getImageData(left, top, width, height).data : [];
        drawn.plots++;
        drawn.points += values;
        if (!values || !pixels.some((v, i) => i % 4 === 3 && v > 200)) drawn.empty.push(name);
      }
      const outside = performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith("data:"));
      if (root.scrollWidth > root.clientWidth) errors.push(`wider than the window: ${root.scrollWidth} > ${root.clientWidth}`);
      Object.assign(root.dataset, {
        plots: drawn.plots, points: drawn.points, empty: drawn.empty.join("; "), errors: errors.join("; "),
        outside: outside.join(" "), width: innerWidth, height: root.scrollHeight, ready: "yes",
      });
    }, 60);
  }
  return { data, drawn, canvases, make, nbsp, digits, plain, ticks, colour, faded, textWidth, plot, options, columns, peak, clear, connections, download, exporter, standalone, toPng, csv, start };
})();
