"use strict";
(() => {
  const { data, drawn, canvases, make, nbsp, digits, plain, ticks, colour, faded, textWidth, plot } = pageTools;
  const inkClass = row => row.plain_tcp == null ? `c${row.colour}` : "c-tcp";
  const label = row => row.plain_tcp == null ? row.name : `plain TCP, path${nbsp}${row.plain_tcp}`;

  // ---- ranking: bars with intervals, plain TCP hatched ----
  let patterns = 0;
  function ranking(scenario, box) {
    const of = row => scenario.sized ? row.time : row.goodput;
    const unit = scenario.sized ? "s" : "Mbit/s";
    const rows = scenario.rows;
    const width = box.clientWidth, narrow = width < 480;
    const names = rows.map(label);
    const left = narrow ? 0 : Math.min(Math.max(...names.map(n => textWidth(n, 13, 600))) + 14, width * 0.4);
    const values = rows.map(row => {
      const s = of(row);
      if (!s) return "did not finish";
      return s.low == null ? digits(s.mean) : `${digits(s.mean)} ± ${digits((s.high - s.low) / 2)}`;
    });
    const right = Math.max(...values.map(v => textWidth(v, 13))) + 12;
    const tcp = rows.filter(r => r.plain_tcp != null && of(r)).map(r => of(r).mean);
    const marks = [];
    if (tcp.length && !scenario.sized) {
      marks.push([Math.max(...tcp), "best path alone"]);
      if (tcp.length > 1) marks.push([tcp.reduce((a, b) => a + b), "sum of the paths"]);
    } else if (tcp.length) marks.push([Math.min(...tcp), "best path alone"]);
    const top = marks.length ? 8 + 16 * marks.length : 4;
    const rowHeight = narrow ? 46 : 32, barHeight = 18, bottom = top + rows.length * rowHeight;
    const most = Math.max(1e-9, ...rows.map(r => Math.max(of(r)?.mean ?? 0, of(r)?.high ?? 0)), ...marks.map(m => m[0]));
    const span = width - left - right;
    const scale = ticks(most, span / 75);
    const axisEnd = Math.max(most, 0) * 1.02;
    const x = v => left + Math.max(0, v) / axisEnd * span;
    const svg = make("svg", { role: "img", viewBox: `0 0 ${width} ${bottom + 40}`, height: bottom + 40 });
    svg.setAttribute("aria-label", `${scenario.sized ? "Completion time" : "Goodput"} in ${unit}, the best first: ` +
      rows.map((r, i) => `${names[i]} ${values[i]}`).join("; "));
    const id = `hatch${patterns++}`;
    svg.append(make("defs", {}, make("pattern",
      { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      make("rect", { width: 6, height: 6, class: "hatch" }), make("line", { x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch-line" }))));
    for (const t of scale.filter(t => x(t) <= left + span + 1)) {
      svg.append(make("line", { class: "grid", x1: x(t), x2: x(t), y1: top, y2: bottom }),
        make("text", { class: "soft small", x: x(t), y: bottom + 16, "text-anchor": t === 0 ? "start" : "middle" }, plain(t)));
    }
    svg.append(make("text", { class: "soft small", x: left + span, y: bottom + 33, "text-anchor": "end" },
      `${scenario.sized ? "Completion time" : "Goodput"}, ${unit}`));
    const texts = [], hits = [];
    rows.forEach((row, i) => {
      const s = of(row), y = top + i * rowHeight + (narrow ? 22 : (rowHeight - barHeight) / 2), middle = y + barHeight / 2;
      const style = `halo ${row.plain_tcp == null ? "strong" : "soft"}`;
      texts.push(narrow ? make("text", { class: style, x: 0, y: y - 5 }, names[i])
        : make("text", { class: style, x: left - 10, y: middle + 4.5, "text-anchor": "end" }, names[i]));
      if (s) {
        const bar = make("rect", { x: left, y, width: Math.max(1, x(s.mean) - left), height: barHeight, rx: 2 });
        if (row.plain_tcp == null) bar.setAttribute("class", `bar ${inkClass(row)}`);
        else { bar.setAttribute("class", "tcp-bar"); bar.setAttribute("fill", `url(#${id})`); }
        svg.append(bar);
        if (s.low != null && x(s.high) - x(s.low) > 1) {
          svg.append(make("path", { class: "whisker",
            d: `M${x(s.low)} ${middle - 5}v10M${x(s.low)} ${middle}H${x(s.high)}M${x(s.high)} ${middle - 5}v10` }));
        }
        drawn.points++;
      }
      texts.push(make("text", { class: "halo", x: (s ? Math.max(x(s.mean), x(s.high ?? 0)) : left) + 8, y: middle + 4.5 }, values[i]));
      const lines = [names[i]];
      if (s) lines.push(`mean ${digits(s.mean, 3)} ${unit}, median ${digits(s.median, 3)} ${unit}`);
      if (s?.low != null) lines.push(`95 % interval ${digits(s.low, 3)} to ${digits(s.high, 3)} ${unit}`);
      if (scenario.sized) lines.push(`goodput ${digits(row.goodput.mean)} Mbit/s`);
      if (row.benefit != null) lines.push(`aggregation benefit ${digits(row.benefit)}`);
      if (row.standing === "worse") lines.push("worse than one path");
      hits.push(make("rect", { class: "hit", x: 0, y: top + i * rowHeight, width, height: rowHeight, "data-tip": lines.join("\n") }));
    });
    marks.forEach(([v, text], i) => {
      const y = 12 + 16 * i, wide = textWidth(text, 12);
      svg.append(make("line", { class: "mark", x1: x(v), x2: x(v), y1: y + 4, y2: bottom }),
        make("text", { class: "soft small", x: Math.min(Math.max(x(v), wide / 2), width - wide / 2), y, "text-anchor": "middle" }, text));
    });
    svg.append(...texts, ...hits);
    box.replaceChildren(svg);
    if (!rows.some(r => of(r))) drawn.empty.push(`ranking of ${scenario.name}`);
    drawn.plots++;
  }

  // ---- share per path: stacked bars ----
  function share(scenario, box) {
    const rows = scenario.rows.filter(r => r.plain_tcp == null);
    const width = box.clientWidth, narrow = width < 420;
    const left = narrow ? 0 : Math.min(Math.max(0, ...rows.map(r => textWidth(r.name, 13, 600))) + 14, width * 0.45);
    const rowHeight = narrow ? 46 : 32, barHeight = 20, bottom = 4 + rows.length * rowHeight, span = width - left - 14;
    const svg = make("svg", { role: "img", viewBox: `0 0 ${width} ${bottom + 40}`, height: bottom + 40 });
    svg.setAttribute("aria-label", "Share of sent bytes by path: " + rows.map(r =>
      `${r.name} ${r.share.map((s, p) => `path ${p} ${Math.round(s * 100)} %`).join(", ")}`).join("; "));
    for (const t of [0, 25, 50, 75, 100]) {
      const x = left + t / 100 * span;
      svg.append(make("line", { class: "grid", x1: x, x2: x, y1: 4, y2: bottom }),
        make("text", { class: "soft small", x, y: bottom + 16, "text-anchor": t === 0 ? "start" : "middle" }, `${t}`));
    }
    svg.append(make("text", { class: "soft small", x: left + span, y: bottom + 33, "text-anchor": "end" }, "Sent bytes, %"));
    let any = false;
    rows.forEach((row, i) => {
      const y = 4 + i * rowHeight + (narrow ? 21 : (rowHeight - barHeight) / 2);
      svg.append(narrow ? make("text", { class: "strong", x: 0, y: y - 5 }, row.name)
        : make("text", { class: "strong", x: left - 10, y: y + 14.5, "text-anchor": "end" }, row.name));
      let from = left;
      row.share.forEach((s, path) => {
        const wide = s * span, percent = `${Math.round(s * 100)}`;
        const text = `${row.name}: ${(s * 100).toFixed(1)} % of the bytes on path ${path}`;
        if (wide > 0) {
          any = true;
          drawn.points++;
          svg.append(make("rect", { class: `part p${path % 4}`, x: from, y, width: Math.max(0.5, wide - 1.5), height: barHeight, rx: 2, "data-tip": text }));
        }
        if (wide > 30) svg.append(make("text", { class: `on-path p${path % 4}`, x: from + wide / 2, y: y + 14.5, "text-anchor": "middle", "pointer-events": "none" }, percent));
        from += wide;
      });
    });
    const key = make("ul", { class: "key" });
    for (let path = 0; path < scenario.paths; path++) {
      key.append(make("li", { class: `p${path % 4}` }, make("span", { class: "swatch" }), `path ${path}`));
    }
    box.replaceChildren(key, svg);
    if (rows.length && !any) drawn.empty.push(`share of ${scenario.name}`);
    drawn.plots++;
  }

  // ---- goodput and queue over time ----
  const KINDS = {
    goodput: { series: "goodput_series", unit: "Mbit/s", name: "Goodput" },
    queue: { series: "queue_series", unit: "KB", name: "Out-of-order queue" },
  };
  const choices = data.scenarios.map(() => ({ run: -1, overlay: false, hidden: new Set() }));

  // The lines of a row: the median with its quartiles, or one run. A value of a step stands at the step's end.
  function lines(row, kind, run) {
    const all = row[kind.series];
    return run >= 0 ? { mid: all.runs[run] ?? [] } : { mid: all.median, low: all.low, high: all.high };
  }
  function options(width, height, kind, maxX, maxY, overlay) {
    const soft = colour("soft"), grid = colour("grid");
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    return {
      width, height, legend: { show: false }, padding: [8, 10, 0, 0],
      cursor: { y: false, drag: { setScale: false, x: false, y: false }, points: { size: 7 }, sync: { key: overlay } },
      scales: { x: { time: false, range: [0, maxX] }, y: { range: [0, maxY] } },
      axes: [
        { stroke: soft, font, size: 26, gap: 3, label: "Time, s", labelFont: font, labelSize: 16, labelGap: 0, space: 55,
          grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, size: 4 }, values: (_, v) => v.map(plain) },
        { stroke: soft, font, size: maxY >= 1000 ? 46 : 38, gap: 3, label: kind.unit, labelFont: font, labelSize: 16, labelGap: 0, space: 30,
          grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, size: 4 }, values: (_, v) => v.map(plain) },
      ],
    };
  }
  const DASHES = [undefined, [8, 5], [2, 4]];
  // Every series on one common list of times; steps differ between series only if somebody mixed results.
  function join(series, step) {
    const length = Math.max(0, ...series.map(s => s.length));
    const times = Array.from({ length }, (_, i) => (i + 1) * step);
    return [times, ...series.map(s => Array.from({ length }, (_, i) => s[i] ?? null))];
  }
  function reading(values, i, unit) {
    const [mid, low, high] = values.map(v => v?.[i]);
    if (mid == null) return "";
    const most = unit === "KB" ? 0 : 2;
    return digits(mid, most) + (low == null ? "" : ` (${digits(low, most)}–${digits(high, most)})`) + nbsp + unit;
  }

  function time(index, box) {
    const scenario = data.scenarios[index], choice = choices[index], kind = KINDS[box.dataset.kind];
    for (const c of canvases) if (box.contains(c.u.root)) { c.u.destroy(); canvases.delete(c); }
    box.replaceChildren();
    const multipath = scenario.rows.filter(r => r.plain_tcp == null);
    const tcp = scenario.rows.filter(r => r.plain_tcp != null);
    const all = scenario.rows.map(r => ({ row: r, ...lines(r, kind, choice.run) }));
    const step = Math.max(...scenario.rows.map(r => r.step));
    const shown = choice.overlay ? all : all.filter(l => l.row.plain_tcp == null || (kind === KINDS.goodput && l.row === tcp[0]));
    const peak = Math.max(0, ...shown.flatMap(l => [...(l.high ?? []), ...l.mid]));
    const maxY = peak > 0 ? peak * 1.06 : 1;
    const maxX = Math.max(step, ...all.map(l => l.mid.length * step));
    const what = choice.run < 0 ? (scenario.all_seeds > 1 ? `median of ${scenario.all_seeds} seeds` : "") : `seed ${scenario.seeds[choice.run]}`;
    if (choice.overlay) overlaid(); else side();

    function side() {
      const reference = kind === KINDS.goodput && all.find(l => l.row === tcp[0]);
      const key = make("ul", { class: "key" });
      if (choice.run < 0 && scenario.all_seeds > 1) key.append(make("li", { class: "c-tcp" }, "Line: median over the seeds; band: quartiles"));
      if (reference) key.append(make("li", {}, make("span", { class: "swatch line ref" }), label(tcp[0])));
      const panels = make("div", { class: multipath.length > 6 ? "panels many" : "panels" });
      box.append(key, panels);
      for (const { row, mid, low, high } of all.filter(l => multipath.includes(l.row))) {
        const readout = make("span", { class: "readout" });
        const figure = make("figure", { class: `panel ${inkClass(row)}` },
          make("figcaption", {}, make("span", { class: "swatch" }), make("b", {}, row.name), readout));
        panels.append(figure);
        const columns = join([reference ? reference.mid : [], mid, ...(low ? [low, high] : [])], step);
        const stroke = colour(`c${row.colour}`), edge = { stroke: "transparent", width: 0, points: { show: false } };
        const opts = {
          ...options(figure.clientWidth, 170, kind, maxX, maxY, `s${index}`),
          series: [{}, { stroke: colour("tcp"), width: 1.25, dash: [6, 4], points: { show: false } },
            { stroke, width: 1.75, points: { show: columns[0].length < 2 } }, ...(low ? [edge, edge] : [])],
          bands: low ? [{ series: [4, 3], fill: faded(stroke, 0.22) }] : [],
          hooks: { setCursor: [u => {
            const i = u.cursor.idx;
            const text = i == null ? "" : reading([u.data[2], u.data[3], u.data[4]], i, kind.unit);
            readout.textContent = text && `${plain(u.data[0][i])}${nbsp}s: ${text}`;
          }] },
        };
        plot(opts, columns, figure, `${kind.name} of ${row.name} on ${scenario.name}`, `${kind.name} of ${row.name} over time, ${what}`);
      }
    }

    function overlaid() {
      const holder = make("div"), chips = make("div", { class: "chips", role: "group", "aria-label": "Shown schedulers" });
      box.append(holder, chips);
      const columns = join(all.map(l => l.mid), step);
      const labels = [];
      const opts = {
        ...options(holder.clientWidth, Math.max(260, Math.min(380, holder.clientWidth * 0.45)), kind, maxX, maxY, `s${index}`),
        series: [{}, ...all.map(({ row }) => ({
          show: !choice.hidden.has(row.name), points: { show: columns[0].length < 2 },
          stroke: colour(row.plain_tcp == null ? `c${row.colour}` : "tcp"), width: row.plain_tcp == null ? 1.75 : 1.25,
          dash: row.plain_tcp == null ? DASHES[row.dash % 3] : DASHES[1 + row.plain_tcp % 2],
        }))],
        hooks: { setCursor: [u => {
          const i = u.cursor.idx;
          labels.forEach((l, s) => { l.textContent = label(all[s].row) + (i == null ? "" : ` ${reading([u.data[s + 1]], i, kind.unit)}`); });
        }] },
      };
      const u = plot(opts, columns, holder, `${kind.name} on ${scenario.name}`, `${kind.name} of all schedulers over time, ${what}`);
      all.forEach(({ row }, s) => {
        const text = make("span", {}, label(row));
        labels.push(text);
        const dash = row.plain_tcp == null ? row.dash % 3 : 1 + row.plain_tcp % 2;
        const chip = make("button", { type: "button", class: `chip ${inkClass(row)}`, "aria-pressed": String(!choice.hidden.has(row.name)) },
          make("span", { class: `swatch line d${dash}` }), text);
        chip.addEventListener("click", () => {
          const show = choice.hidden.has(row.name);
          choice.hidden[show ? "delete" : "add"](row.name);
          chip.setAttribute("aria-pressed", String(show));
          u.setSeries(s + 1, { show });
        });
        chips.append(chip);
      });
    }
  }

  function controls(index, box) {
    const scenario = data.scenarios[index], choice = choices[index];
    const again = () => document.querySelectorAll(`.time[data-scenario="${index}"]`).forEach(b => time(index, b));
    if (scenario.all_seeds > 1) {
      const select = make("select", {}, make("option", { value: -1 }, `median of ${scenario.all_seeds} seeds`),
        ...scenario.seeds.map((seed, i) => make("option", { value: i }, `seed ${seed}`)));
      select.addEventListener("change", () => { choice.run = Number(select.value); again(); });
      box.append(make("label", {}, "Over time:", select));
    }
    const buttons = ["side by side", "overlaid"].map((text, i) => {
      const button = make("button", { type: "button", "aria-pressed": String(i === 0) }, text);
      button.addEventListener("click", () => {
        choice.overlay = i === 1;
        buttons.forEach((b, j) => b.setAttribute("aria-pressed", String(i === j)));
        again();
      });
      return button;
    });
    box.append(make("span", { class: "switch", role: "group", "aria-label": "Schedulers over time" }, ...buttons));
    box.hidden = false;
  }

  // ---- drawing ----
  function draw(box) {
    const index = Number(box.dataset.scenario);
    if (box.classList.contains("ranking")) ranking(data.scenarios[index], box);
    else if (box.classList.contains("share")) share(data.scenarios[index], box);
    else time(index, box);
  }
  const boxes = [...document.querySelectorAll(".plot")];
  document.querySelectorAll(".controls").forEach(b => controls(Number(b.dataset.scenario), b));
  pageTools.start(boxes, draw, boxes.filter(b => b.classList.contains("time")));
})();
