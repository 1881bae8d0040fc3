"use strict";
(() => {
  const { data, drawn, make, nbsp, digits, plain, ticks, colour, faded, textWidth, plot, options, columns, peak, clear, connections, download, exporter, standalone, toPng, csv } = pageTools;
  // Few colours with a meaning each: the best scheduler, the one that is looked at, the reference. All others are neutral.
  const ROLES = { chosen: "chosen", best: "best", reference: "ref" };
  const states = data.scenarios.map(s => ({
    chosen: s.chosen ?? s.best ?? 0, run: -1, rate: false, all: false, filter: "",
  }));
  function roles(scenario, index) {
    const all = [];
    if (index === scenario.best) all.push("best");
    if (index === states[data.scenarios.indexOf(scenario)].chosen) all.push("chosen");
    if (index === scenario.reference) all.push("reference");
    return all;
  }
  const ink = names => ROLES[["chosen", "best", "reference"].find(r => names.includes(r))] ?? "plain";
  function tied(row) {
    if (!row.same.length) return row.label;
    return row.same.length > 2 ? `${row.label} = ${row.same[0]}, +${row.same.length - 1}` : `${row.label} = ${row.same.join(", ")}`;
  }
  function difference(row, unit) {
    const a = row.against;
    if (!a) return "";
    const sign = x => (x < 0 ? "-" : "+") + digits(Math.abs(x));
    if (a.always) return `${sign(a.mean)} on every seed`;
    if (a.low == null) return sign(a.mean);
    return `${sign(a.mean)} ± ${digits((a.high - a.low) / 2)}${a.significant ? "" : " (not significant)"}`;
  }

  // ---- ranking: a bar, its value, the difference to the reference and the shares of the paths in one row ----
  function shownRows(scenario, state) {
    const words = state.filter.trim().toLowerCase();
    const fits = row => [row.label, ...row.same].some(n => n.toLowerCase().includes(words));
    return scenario.rows.map((row, i) => [row, i]).filter(([row, i]) => words ? fits(row)
      : state.all || i < 6 || i === state.chosen || i === scenario.reference || i === scenario.best);
  }
  function ranking(index, box) {
    const scenario = data.scenarios[index], state = states[index], unit = scenario.unit;
    const rows = shownRows(scenario, state);
    const width = box.clientWidth, narrow = width < 640, several = scenario.paths.length > 1;
    const name = ([row, i]) => `${i + 1}  ${tied(row)}`;
    const values = rows.map(([row]) => {
      return row.value ? digits(row.value.mean) : scenario.no_value;
    });
    const notes = rows.map(([row, i]) => i === scenario.reference ? "reference" : difference(row, unit));
    const left = narrow ? 0 : Math.min(Math.max(60, ...rows.map(r => textWidth(name(r), 13, 600))) + 14, width * 0.34);
    // 7 pixels before a value, 14 behind it.
    const valueWidth = Math.max(30, ...values.map(v => textWidth(v, 13, 600))) + 21;
    const noteWidth = Math.max(narrow ? 0 : textWidth("against the reference", 12), ...notes.map(n => textWidth(n, 12))) + 16;
    const shareWidth = !several ? 0 : narrow ? width : Math.min(190, width * 0.17);
    const bars = narrow ? width - valueWidth - noteWidth : width - left - valueWidth - noteWidth - shareWidth - 8;
    const rowHeight = narrow ? (several ? 62 : 48) : 32, top = 26;
    const most = Math.max(1e-9, ...rows.map(([row]) => Math.max(row.value?.mean ?? 0, row.value?.high ?? 0)));
    const height = top + rows.length * rowHeight + 4;
    const svg = make("svg", { role: "img", viewBox: `0 0 ${width} ${height}`, height, width });
    svg.setAttribute("aria-label", rows.map((r, i) => `${name(r)}: ${values[i]} ${unit}, ${notes[i]}`).join("; "));
    const head = (x, text, anchor = "start") => svg.append(make("text", { class: "soft small", x, y: 14, "text-anchor": anchor }, text));
    head(left, `${scenario.judged}, ${unit}`);
    if (!narrow) head(left + bars + valueWidth, "against the reference");
    if (several && !narrow) head(width - shareWidth, "share of bytes sent, %");
    rows.forEach(([row, i], at) => {
      const y = top + at * rowHeight, role = ink(roles(scenario, i)), v = row.value;
      const bar = y + (narrow ? 20 : 7), middle = bar + 13.5;
      const weight = roles(scenario, i).length ? "strong" : "";
      svg.append(narrow ? make("text", { class: weight, x: 0, y: y + 14 }, name([row, i]))
        : make("text", { class: weight, x: left - 10, y: middle, "text-anchor": "end" }, name([row, i])));
      const long = v ? Math.max(2, v.mean / most * bars) : 0;
      if (v) {
        svg.append(make("rect", { class: `bar ${role}`, x: left, y: bar, width: long, height: 18, rx: 2 }));
        drawn.points++;
      }
      let end = long;
      if (v?.high != null) {
        const [from, to] = [v.low, v.high].map(x => left + Math.max(0, x) / most * bars), y = bar + 9;
        svg.append(make("path", { class: "whisker", d: `M${from} ${y - 4}v8M${from} ${y}H${to}M${to} ${y - 4}v8` }));
        end = Math.max(long, to - left);
      }
      svg.append(make("text", { class: "strong", x: left + (v ? end + 7 : 0), y: middle }, values[at]),
        make("text", { class: "soft small", x: narrow ? width : left + bars + valueWidth, y: middle, "text-anchor": narrow ? "end" : "start" }, notes[at]));
      if (several) {
        let from = narrow ? 0 : width - shareWidth;
        const [sy, sh] = narrow ? [y + 43, 8] : [bar + 1, 16];
        row.share.forEach((s, path) => {
          const wide = s * (narrow ? width : shareWidth);
          if (wide > 0) svg.append(make("rect", { class: `part p${path % 4}`, x: from, y: sy, width: Math.max(0.5, wide - 1), height: sh, rx: 2 }));
          if (wide > 28 && !narrow) svg.append(make("text", { class: `on-path p${path % 4}`, x: from + wide / 2, y: sy + 12.5, "text-anchor": "middle" }, `${Math.round(s * 100)}`));
          from += wide;
        });
      }
      const tip = [row.label, ...row.same.map(s => `= ${s}`), v ? `mean ${digits(v.mean, 3)} ${unit}, median ${digits(v.median, 3)} ${unit}` : scenario.no_value];
      if (v?.high != null) tip.push(`95 % interval of the mean: ${digits(v.low, 3)} to ${digits(v.high, 3)} ${unit}`);
      if (row.benefit != null) tip.push(`aggregation benefit ${digits(row.benefit)}`);
      if (several) tip.push(...row.share.map((s, p) => `${scenario.paths[p]}: ${(s * 100).toFixed(1)} % of the bytes`));
      if (row.standing === "worse") tip.push("worse than plain TCP on the best path");
      const hit = make("rect", { class: "hit", x: 0, y, width, height: rowHeight, "data-tip": tip.join("\n"), tabindex: 0, role: "button", "aria-label": `Look at ${row.label}` });
      const choose = () => { state.chosen = i; redraw(index); };
      hit.addEventListener("click", choose);
      hit.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(); } });
      svg.append(hit);
    });
    const key = make("ul", { class: "key" });
    for (const [role, text] of [["best", "best scheduler"], ["chosen", "looked at below"], ["ref", "reference"]]) {
      key.append(make("li", {}, make("span", { class: `swatch ${role}` }), text));
    }
    if (several) scenario.paths.forEach((p, i) => key.append(make("li", { class: `p${i % 4}` }, make("span", { class: "swatch" }), p)));
    box.replaceChildren(key, svg);
    if (!rows.length) box.append(make("p", { class: "note" }, "No scheduler has this in its name."));
    else if (!rows.some(([row]) => row.value)) drawn.empty.push(`ranking of ${scenario.name}`);
    drawn.plots++;
  }
  function filter(index, box) {
    const scenario = data.scenarios[index], state = states[index];
    const again = () => document.querySelectorAll(`.ranking[data-scenario="${index}"]`).forEach(b => ranking(index, b));
    if (scenario.rows.length > 8) {
      const button = make("button", { type: "button" }, `Show all ${scenario.rows.length}`);
      button.addEventListener("click", () => {
        state.all = !state.all;
        button.textContent = state.all ? "Show the top six" : `Show all ${scenario.rows.length}`;
        again();
      });
      const input = make("input", { type: "search", placeholder: "filter by name", "aria-label": "Filter schedulers by name" });
      input.addEventListener("input", () => { state.filter = input.value; again(); });
      box.append(button, input);
    }
    const ranked = () => document.querySelector(`.ranking[data-scenario="${index}"] svg`);
    box.append(exporter("SVG", () => download(`${scenario.name}.svg`, "image/svg+xml", standalone(ranked()))),
      exporter("PNG", () => toPng(ranked(), `${scenario.name}.png`)));
    box.hidden = false;
  }

  // ---- where the time went ----
  const PART_INKS = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"];
  function why(index, box) {
    const scenario = data.scenarios[index], state = states[index];
    const wanted = [...new Set([state.chosen, scenario.best])].filter(i => i != null && scenario.rows[i]);
    const total = Math.max(...wanted.map(i => scenario.rows[i].parts.reduce((a, p) => a + p[1], 0)), 0);
    box.replaceChildren();
    drawn.plots++;
    if (!(total > 0)) {
      box.append(make("p", { class: "note" }, "These results do not say."));
      drawn.points++;
      return;
    }
    const width = box.clientWidth, height = wanted.length * 46;
    const svg = make("svg", { role: "img", viewBox: `0 0 ${width} ${height}`, height });
    svg.setAttribute("aria-label", wanted.map(i => `${scenario.rows[i].label}: ` + scenario.rows[i].parts.map(p => `${p[0]} ${digits(p[1])} s`).join(", ")).join("; "));
    wanted.forEach((i, at) => {
      const row = scenario.rows[i], y = at * 46;
      svg.append(make("text", { class: "strong", x: 0, y: y + 14 }, row.label + (i === scenario.best && i !== state.chosen ? " (best, to compare)" : "")));
      let from = 0;
      row.parts.forEach(([name, seconds], p) => {
        const wide = seconds / total * width;
        if (wide > 0.3) svg.append(make("rect", { class: `part ${PART_INKS[p]}`, x: from, y: y + 20, width: Math.max(0.5, wide - 1), height: 18, rx: 2, "data-tip": `${row.label}: ${name} for ${digits(seconds)} s a run` }));
        drawn.points++;
        from += wide;
      });
    });
    const row = scenario.rows[state.chosen];
    // Parts that some bar has; Nagle's rule, pacing and a full send buffer are rare.
    const shown = row.parts.map((_, p) => p).filter(p => p < 5 || wanted.some(i => scenario.rows[i].parts[p][1] > 0));
    const numbers = p => wanted.map(i => make("td", {}, digits(scenario.rows[i].parts[p][1])));
    const key = make("table", { class: "parts" },
      make("thead", {}, make("tr", {}, make("th", { class: "who" }, "s a run"), ...wanted.map(i => make("th", {}, scenario.rows[i].label)))),
      make("tbody", {}, ...shown.map(p => make("tr", {}, make("th", { class: `who ${PART_INKS[p]}`, scope: "row" }, make("span", { class: "swatch" }), " " + row.parts[p][0]), ...numbers(p)))));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...["Path, s a run", "slow start", "repairing losses", "blocked the receiver", "filled the window"].map((t, i) => make("th", i ? {} : { class: "who" }, t)))));
    const body = make("tbody");
    row.by_path.forEach((list, p) => body.append(make("tr", {}, make("th", { class: "who", scope: "row" }, scenario.paths[p]), ...list.map(x => make("td", {}, digits(x))))));
    table.append(body);
    box.append(svg, make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Parts of the time" }, key), make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Time by path" }, table));
    if (row.by_path.some(list => list[2] >= 0.005 * total)) box.append(make("p", { class: "note" }, "Blocked the receiver: later data had arrived and waited for a byte on this path. With several paths this is usual, often for most of the time. It delays data, but costs goodput only while the receive window is full; “filled the window” counts that part."));
    if (row.plain_tcp == null) box.append(explanation(scenario, row));
  }
  // A link where the explanation is written beside this page, otherwise the command that writes it.
  function explanation(scenario, row) {
    const written = scenario.explanation;
    if (written?.scheduler === row.name) {
      return make("p", { class: "explanation" }, make("a", { href: written.href }, `Every decision of ${row.label}, with its reason`), ` (${written.shows})`);
    }
    const command = `${scenario.command || `pathweave explain ${scenario.name}`} --scheduler ${row.name} --seed ${scenario.seeds[0]} --report explain.html`;
    const button = make("button", { type: "button", class: "export" }, "Copy");
    const code = make("code", {}, command);
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(code);
      navigator.clipboard?.writeText(command).then(() => { button.textContent = "Copied"; }, () => {});
    });
    return make("p", { class: "note explanation" }, "This command writes every decision with its reason: ", code, " ", button);
  }

  // ---- over time ----
  function compared(scenario, state) {
    const roles = [["best", scenario.best], ["chosen", state.chosen], ["ref", scenario.reference]];
    const seen = new Set();
    return roles.filter(([, i]) => i != null && scenario.rows[i] && !seen.has(i) && seen.add(i)).map(([role, i]) => ({ role, row: scenario.rows[i] }));
  }
  function time(index, box) {
    const scenario = data.scenarios[index], state = states[index], queue = box.dataset.kind === "queue";
    clear(box);
    const lines = compared(scenario, state).filter(l => !queue || l.row.plain_tcp == null);
    const kind = queue ? ["queue_series", "KB"] : state.rate ? ["goodput_series", "Mbit/s"] : ["delivered_series", "MB"];
    const of = (row, part) => state.run >= 0 ? (part === "median" ? row[kind[0]].runs[state.run] ?? [] : []) : row[kind[0]][part];
    const step = Math.max(...scenario.rows.map(r => r.step));
    const capacity = !queue && state.rate ? capacities(scenario) : [];
    const values = lines.map(l => of(l.row, "median"));
    const limit = peak([capacity]);
    // Bursts of data that had to wait may go above what the links carry; the axis does not follow them.
    const most = limit > 0 ? limit * 1.15 : peak(values) * 1.06;
    const clip = v => v == null ? v : Math.min(v, most || v);
    const all = columns([...values, ...lines.flatMap(l => [of(l.row, "low"), of(l.row, "high")]), capacity], step);
    for (let c = 1; c < all.length; c++) all[c] = all[c].map(clip);
    const n = lines.length;
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    const holder = make("div"), key = make("ul", { class: "key" });
    box.append(key, holder);
    const readouts = lines.map(l => {
      const text = make("span", {}, l.row.label);
      key.append(make("li", {}, make("span", { class: `swatch line ${l.role}` }), text));
      return text;
    });
    if (limit > 0) key.append(make("li", {}, make("span", { class: "swatch line cap" }), "what the links could carry"));
    if (state.run < 0 && scenario.all_seeds > 1) key.append(make("li", { class: "soft" }, `median and quartiles of ${scenario.all_seeds} seeds`));
    const opts = {
      ...options(holder.clientWidth, 240, kind[1], Math.max(step, (all[0].length || 1) * step), most || 1, `s${index}`),
      series: [{}, ...lines.map(l => ({ stroke: colour(l.role), width: l.role === "ref" ? 1.5 : 2, dash: l.role === "ref" ? [6, 4] : undefined, points: { show: all[0].length < 2 } })),
        ...lines.flatMap(() => [edge, edge]), { stroke: colour("soft"), width: 1, dash: [2, 3], points: { show: false } }],
      bands: state.run >= 0 ? [] : lines.map((l, i) => ({ series: [n + 2 * i + 2, n + 2 * i + 1], fill: faded(colour(l.role), 0.15) })),
      hooks: { setCursor: [u => {
        const i = u.cursor.idx;
        lines.forEach((l, s) => {
          const v = i == null ? null : u.data[s + 1][i];
          readouts[s].textContent = l.row.label + (v == null ? "" : ` ${digits(v)}${nbsp}${kind[1]}`);
        });
      }] },
    };
    if (n) plot(opts, all, holder, `${kind[0]} on ${scenario.name}`, lines.map(l => l.row.label).join(", ") + " over time");
  }
  // What all paths together could carry in each step, as the first seed saw it.
  function capacities(scenario) {
    const row = scenario.rows.find(r => r.subflows.length > 1) ?? scenario.rows.find(r => r.subflows.length);
    const lists = (row?.subflows ?? []).map(s => s.capacity);
    if (!lists.length || lists.some(l => !l.length)) return [];
    return lists[0].map((_, i) => lists.reduce((sum, l) => sum + (l[i] ?? 0), 0));
  }
  function subflows(index, box) {
    const scenario = data.scenarios[index], row = scenario.rows[states[index].chosen];
    clear(box);
    if (!row?.subflows.length) {
      box.append(make("p", { class: "note" }, "These results hold no series of subflows."));
      drawn.plots++; drawn.points++;
      return;
    }
    box.append(make("p", { class: "note" }, `${row.label}, seed ${scenario.seeds[0]}. Thin lines: segments in flight, and what the path could carry.`));
    const several = scenario.groups.flatMap(g => g.names).length > 1;
    if (several && !states[index].connections) {
      // The choice stays when the panels are drawn again.
      const chooser = states[index].chooser = make("div", { class: "controls", hidden: "" });
      states[index].connections = connections(scenario.groups, chooser, names => { states[index].connections = names; subflows(index, box); });
    }
    if (several) box.append(states[index].chooser);
    const grid = make("div", { class: "panels" });
    box.append(grid);
    const shown = several ? row.subflows.filter(s => states[index].connections.includes(s.connection)) : row.subflows;
    const kinds = [["cwnd", "in_flight", "Congestion window", "segments"], ["srtt", null, "Round-trip time (smoothed)", "ms"], ["queue", "capacity", "Queue on the path", "KB"]];
    for (const s of shown) for (const [main, thin, title, unit] of kinds) {
      const figure = make("figure", { class: `panel p${s.path % 4}` }, make("figcaption", {}, make("span", { class: "swatch" }), make("b", {}, scenario.paths[s.path]), make("span", { class: "soft" }, states[index].connections?.length > 1 ? `${title}, ${s.connection}` : title)));
      grid.append(figure);
      const second = thin && s[thin].length ? s[thin] : [];
      const own = thin === "capacity" && second.length > 0;
      const all = columns([s[main], second], row.step);
      const base = options(figure.clientWidth, 150, unit, Math.max(row.step, all[0].length * row.step), (peak(thin === "in_flight" ? [s[main], second] : [s[main]]) || 1) * 1.06, `f${index}`, own ? ["Mbit/s"] : []);
      if (own) base.scales.c = { range: [0, peak([second]) * 1.15 || 1] };
      const opts = { ...base, series: [{}, { stroke: colour(`p${s.path % 4}`), width: 1.75, points: { show: all[0].length < 2 } },
        { stroke: colour("soft"), width: 1, dash: own ? [3, 3] : undefined, points: { show: false }, scale: own ? "c" : "y" }] };
      plot(opts, all, figure, `${title} of ${row.label} on ${scenario.paths[s.path]}`, `${title} on ${scenario.paths[s.path]}, ${unit}`);
    }
  }
  function controls(index, box) {
    const scenario = data.scenarios[index], state = states[index];
    const select = make("select", { class: "chooser" }, ...scenario.rows.map((r, i) => make("option", { value: i }, r.label)));
    select.value = String(state.chosen);
    select.addEventListener("change", () => { state.chosen = Number(select.value); redraw(index); });
    box.append(make("label", {}, "Looked at:", select));
    if (scenario.all_seeds > 1) {
      const seeds = make("select", {}, make("option", { value: -1 }, `median of ${scenario.all_seeds} seeds`), ...scenario.seeds.map((seed, i) => make("option", { value: i }, `seed ${seed}`)));
      seeds.addEventListener("change", () => { state.run = Number(seeds.value); redraw(index); });
      box.append(make("label", {}, "Runs:", seeds));
    }
    const buttons = ["delivered so far", "means of 1 s"].map((text, i) => {
      const button = make("button", { type: "button", "aria-pressed": String(i === 0) }, text);
      button.addEventListener("click", () => {
        state.rate = i === 1;
        buttons.forEach((b, j) => b.setAttribute("aria-pressed", String(i === j)));
        redraw(index);
      });
      return button;
    });
    box.append(make("span", { class: "switch", role: "group", "aria-label": "Delivered data as" }, ...buttons));
    box.append(exporter("CSV", () => download(`${scenario.name}-over-time.csv`, "text/csv", seriesCsv(scenario, state))));
    box.hidden = false;
  }
  function seriesCsv(scenario, state) {
    const lines = ["scheduler,time_s,delivered_mb,goodput_1s_mbps,out_of_order_kb"];
    for (const row of scenario.rows) {
      const of = kind => state.run >= 0 ? row[kind].runs[state.run] ?? [] : row[kind].median;
      of("delivered_series").forEach((mb, i) => lines.push([JSON.stringify(row.name), plain((i + 1) * row.step), mb, of("goodput_series")[i] ?? "", of("queue_series")[i] ?? ""].join(",")));
    }
    return lines.join("\n") + "\n";
  }

  // ---- the table: sorted by its headings, saved as CSV ----
  document.querySelectorAll("table.numbers").forEach(table => {
    const number = text => { const x = parseFloat(text.replace("–", "")); return Number.isNaN(x) ? null : x; };
    const heads = [...table.querySelectorAll("thead th")].filter(th => !th.classList.contains("group"));
    const top = heads.filter(th => th.rowSpan === 2), below = heads.filter(th => th.rowSpan !== 2);
    // The columns as they stand: a group's members take its place in the second line.
    const order = [];
    for (const th of table.querySelectorAll("thead tr:first-child th")) {
      if (th.classList.contains("group")) order.push(...below.splice(0, th.colSpan)); else order.push(th);
    }
    order.forEach((th, column) => {
      const button = make("button", { type: "button", class: "sort" });
      button.append(...th.childNodes);
      th.append(button);
      let up = false;
      button.addEventListener("click", () => {
        up = !up;
        const body = table.tBodies[0];
        const text = row => row.cells[column].textContent.trim();
        const compare = (a, b) => {
          const [x, y] = [number(text(a)), number(text(b))];
          return x == null || y == null ? text(a).localeCompare(text(b)) : x - y;
        };
        const rows = [...body.rows].sort((a, b) => up ? compare(a, b) : compare(b, a));
        body.append(...rows);
        order.forEach(o => o.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", up ? "ascending" : "descending");
      });
    });
    const tools = table.closest(".card")?.querySelector(".tools");
    tools?.append(exporter("CSV", () => {
      const scenario = data.scenarios[Number(tools.dataset.scenario)];
      const head = order.map(th => [th.dataset.group, th.textContent.trim()].filter(Boolean).join(" "));
      download(`${scenario.name}.csv`, "text/csv", csv(table, head));
    }));
  });

  // ---- drawing ----
  function draw(box) {
    const index = Number(box.dataset.scenario);
    if (box.classList.contains("ranking")) ranking(index, box);
    else if (box.classList.contains("why")) why(index, box);
    else if (box.classList.contains("subflows")) subflows(index, box);
    else time(index, box);
  }
  function redraw(index) {
    document.querySelectorAll(`.plot[data-scenario="${index}"]`).forEach(draw);
    document.querySelectorAll(`.controls[data-scenario="${index}"] .chooser`).forEach(s => { s.value = String(states[index].chosen); });
  }
  const boxes = [...document.querySelectorAll(".plot")];
  document.querySelectorAll(".controls").forEach(b => controls(Number(b.dataset.scenario), b));
  document.querySelectorAll(".filter").forEach(b => filter(Number(b.dataset.scenario), b));
  pageTools.start(boxes, draw, boxes.filter(b => b.matches(".time, .subflows")));
})();
