"use strict";
(() => {
  const { data, make, nbsp, plain, colour, faded, plot, clear, connections } = pageTools;
  const { paths } = data;
  const box = document.querySelector(".stream"), steps = document.querySelector(".steps");
  const pathInk = path => `p${path % 4}`;
  // A lane has the events of one connection, and its plot `u` while it is shown. `lane` is the one that is stepped through.
  const lanes = data.groups.flatMap(g => g.lanes);
  let shown = [], lane = null, chosen = -1;

  function bytes(v) {
    const a = Math.abs(v);
    return a >= 1e9 ? `${plain(v / 1e9)}${nbsp}GB` : a >= 1e6 ? `${plain(v / 1e6)}${nbsp}MB` : a >= 1e3 ? `${plain(v / 1e3)}${nbsp}KB` : `${v}`;
  }

  // The part of the stream that the marks in view cover, with the window's edges where they are near.
  function range({ marks, window }, low, high) {
    let least = Infinity, most = -Infinity;
    for (const m of marks) if (m.time >= low && m.time <= high) { least = Math.min(least, m.range[0]); most = Math.max(most, m.range[1]); }
    if (least > most) return [0, 1];
    const span = Math.max(most - least, 15000);
    const [times, acked, end] = window;
    times.forEach((t, i) => {
      if (t < low || t > high) return;
      if (least - acked[i] < span * 2) least = Math.min(least, acked[i]);
      if (end[i] > most && end[i] - most < span * 0.5) most = end[i];
    });
    const margin = Math.max((most - least) * 0.04, (span - (most - least)) / 2);
    return [Math.max(0, least - margin), most + margin];
  }

  // Thin strips at the bottom: when the send window was full, and above it when the scheduler waited.
  const STRIP = 7;
  function strips({ u, spans }) {
    const { ctx } = u, { left, top, width, height } = u.bbox, px = devicePixelRatio;
    ctx.save();
    ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
    for (const s of spans) {
      const from = u.valToPos(s.from, "x", true), to = u.valToPos(s.to, "x", true), wait = s.kind === "wait";
      ctx.fillStyle = faded(colour(wait ? "soft" : "bad"), 0.75);
      ctx.fillRect(from, top + height - (wait ? 2 * STRIP + 2 : STRIP) * px, Math.max(px, to - from), STRIP * px);
    }
    ctx.restore();
  }

  function bars(own) {
    const { u, marks } = own;
    const { ctx } = u, { left, top, width, height } = u.bbox, px = devicePixelRatio;
    const inks = paths.map((_, i) => colour(pathInk(i))), soft = colour("soft"), text = colour("text");
    ctx.save();
    ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
    ctx.setLineDash([]);
    const { min, max } = u.scales.x;
    const inView = marks.filter(m => m.time >= min && m.time <= max).length;
    const wide = Math.max(2, Math.min(5, width / px / Math.max(1, inView) * 0.7)) * px;
    marks.forEach((m, i) => {
      if (m.time < min || m.time > max) return;
      const x = u.valToPos(m.time, "x", true), low = u.valToPos(m.range[0], "y", true), high = u.valToPos(m.range[1], "y", true);
      if (m.kind === "wait") {
        ctx.strokeStyle = soft; ctx.lineWidth = px;
        ctx.beginPath(); ctx.arc(x, low - 5 * px, 2.2 * px, 0, 7); ctx.stroke();
      } else if (m.kind === "given") {
        ctx.fillStyle = inks[m.path] ?? text;
        const tall = Math.max(low - high, 3 * px);
        ctx.fillRect(x - wide / 2, (low + high - tall) / 2, wide, tall);
      } else if (m.kind === "repeated") {
        ctx.strokeStyle = inks[m.path] ?? text; ctx.lineWidth = 1.5 * px;
        const y = (low + high) / 2, r = 4 * px;
        ctx.beginPath(); ctx.moveTo(x, y - r); ctx.lineTo(x + r, y); ctx.lineTo(x, y + r); ctx.lineTo(x - r, y); ctx.closePath(); ctx.stroke();
      }
      if (m.blocks) {
        ctx.strokeStyle = colour("bad"); ctx.lineWidth = 2 * px;
        const w = Math.max(wide, 6 * px) + 4 * px;
        ctx.strokeRect(x - w / 2, high - 3 * px, w, Math.max(low - high, 3 * px) + 6 * px);
      }
      if (own === lane && i === chosen) {
        ctx.strokeStyle = text; ctx.lineWidth = 1.5 * px;
        ctx.beginPath(); ctx.arc(x, (low + high) / 2, 7 * px, 0, 7); ctx.stroke();
      }
    });
    ctx.restore();
  }

  // The mark nearest to a place on the plot.
  function nearest({ u, marks }, x, y) {
    let best = -1, least = 30 ** 2;
    marks.forEach((m, i) => {
      if (m.kind === "no-space") return;
      const dx = u.valToPos(m.time, "x") - x;
      if (Math.abs(dx) > 30) return;
      const high = u.valToPos(m.range[1], "y"), low = u.valToPos(m.range[0], "y");
      const dy = y < high ? high - y : y > low ? y - low : 0, far = dx * dx + dy * dy;
      if (far < least) { least = far; best = i; }
    });
    return best;
  }
  function choose(own, i, scroll) {
    const before = lane;
    lane = own;
    const { marks, u } = lane;
    chosen = Math.max(-1, Math.min(marks.length - 1, i));
    detail.textContent = chosen < 0 ? "" : marks[chosen].detail;
    place.textContent = chosen < 0 ? "" : `${chosen + 1} of ${marks.length}${shown.length > 1 ? ` of ${lane.name}` : ""}`;
    if (before !== lane) before?.u?.redraw(false, false);
    if (u && scroll && chosen >= 0) {
      const { min, max } = u.scales.x, t = marks[chosen].time;
      if (t < min || t > max) u.setScale("x", { min: t - (max - min) / 2, max: t + (max - min) / 2 });
    }
    u?.redraw(false, false);
  }

  function draw() {
    clear(box);
    lanes.forEach(l => { l.u = null; });
    const marks = shown.flatMap(l => l.marks), spans = shown.flatMap(l => l.spans);
    const key = make("ul", { class: "key" });
    const used = paths.map((_, i) => i).filter(i => marks.some(m => m.path === i));
    for (const i of used) key.append(make("li", { class: pathInk(i) }, make("span", { class: "swatch" }), paths[i]));
    const item = (name, text) => key.append(make("li", {}, make("span", { class: `swatch ${name}` }), text));
    if (marks.some(m => m.kind === "wait")) item("ring", "wait, or a short segment held back");
    if (marks.some(m => m.kind === "repeated")) item("diamond", "sent again on one more path");
    if (spans.some(s => s.kind === "wait")) item("waits", "waits though a subflow has space");
    if (spans.some(s => s.kind === "window")) item("full", "send window full");
    if (marks.some(m => m.blocks)) item("blocks", "was missing when the window filled up");
    item("line ref", "first unacknowledged byte");
    if (shown.some(l => l.window[2].some(v => v < range(l, data.from, data.to)[1]))) item("line edge", "end of the send window");
    box.append(key);
    shown.forEach(drawLane);
  }
  function drawLane(own) {
    const name = shown.length > 1 ? ` of ${own.name}` : "";
    if (name) box.append(make("h4", {}, own.name));
    if (!own.marks.length) {
      box.append(make("p", { class: "note" }, `${own.name} decided nothing in this time.`));
      return;
    }
    const { spans } = own;
    const soft = colour("soft"), grid = colour("grid"), width = box.clientWidth;
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: soft, font, gap: 3, labelFont: font, labelSize: 16, labelGap: 0, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, size: 4 } };
    const stepped = uPlot.paths.stepped({ align: 1 });
    const line = (name, dash) => ({ stroke: colour(name), width: 1.25, dash, points: { show: false }, paths: stepped });
    const u = own.u = plot({
      width, height: shown.length > 1 ? 260 : Math.max(320, Math.min(560, width * 0.55)), legend: { show: false }, padding: [8, 10, 0, 0],
      cursor: { y: false, drag: { x: true, y: false, setScale: true }, points: { show: false } },
      scales: { x: { time: false, range: (_, low, high) => low === high ? [data.from, data.to] : [low, high] },
        y: { range: u => range(own, u.scales.x.min ?? data.from, u.scales.x.max ?? data.to) } },
      axes: [
        { ...axis, size: 26, label: "Time, s", space: 65, values: (_, v) => v.map(plain) },
        { ...axis, size: 76, label: "Data sequence number", space: 34, values: (_, v) => v.map(bytes) },
      ],
      series: [{}, line("tcp", [6, 4]), line("bad", [2, 3])],
      // uPlot draws before it is returned.
      hooks: { draw: [u => { own.u = u; bars(own); strips(own); }] },
    }, own.window, box, `stream over time${name}`, `${data.title}: data sequence number over time by path${name}`);
    u.setScale("x", { min: data.from, max: data.to });
    u.over.addEventListener("pointermove", e => {
      const { left, top } = u.over.getBoundingClientRect();
      const i = nearest(own, e.clientX - left, e.clientY - top);
      const t = u.posToVal(e.clientX - left, "x"), span = spans.find(s => s.from <= t && t <= s.to);
      const texts = [i >= 0 && own.marks[i].text, span?.text].filter(Boolean);
      if (texts.length) u.over.setAttribute("data-tip", texts.join("\n\n")); else u.over.removeAttribute("data-tip");
      if (i >= 0 && (own !== lane || i !== chosen)) choose(own, i);
    });
    u.over.addEventListener("dblclick", () => u.setScale("x", { min: data.from, max: data.to }));
  }

  const detail = make("pre", { class: "detail", "aria-live": "polite" }), place = make("span", { class: "readout" });
  const button = (text, by) => {
    const b = make("button", { type: "button" }, text);
    b.addEventListener("click", () => choose(lane, chosen + by(), true));
    return b;
  };
  const wait = way => () => {
    for (let i = chosen + way; i >= 0 && i < lane.marks.length; i += way) if (lane.marks[i].kind === "wait") return i - chosen;
    return 0;
  };
  steps.append(make("div", { class: "controls" }, button("Previous", () => -1), button("Next", () => 1), button("Next wait", wait(1)), place), detail);
  steps.hidden = false;
  function show(names) {
    shown = names.map(name => lanes.find(l => l.name === name));
    const { marks, spans } = shown[0];
    const first = marks.findIndex(m => m.kind === "wait" && spans.some(s => s.from === m.time));
    choose(shown[0], first >= 0 ? first : 0);
  }
  const groups = data.groups.map(g => ({ ...g, names: g.lanes.map(l => l.name) }));
  show(connections(groups, document.querySelector(".connections"), names => { show(names); draw(); }));
  pageTools.start([box], draw, [box]);
})();
