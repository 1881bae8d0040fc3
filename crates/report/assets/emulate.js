"use strict";
// What an emulated network carried: panels over time for each path and direction.
(() => {
  const { data, drawn, make, nbsp, digits, plain, colour, plot, options, columns, peak, clear, download, exporter, csv, start } = pageTools;
  const KINDS = [["rate", "Rate", "Mbit/s"], ["delay", "One-way delay", "ms"], ["queue", "Queue", "KB"], ["dropped", "Dropped or lost", "packets"]];
  const WAYS = ["from the client", "from the server"];
  function draw(box) {
    const way = Number(box.dataset.way);
    clear(box);
    const grid = make("div", { class: "panels many" });
    box.append(grid);
    data.paths.forEach((path, p) => KINDS.forEach(([kind, title, unit]) => {
      const list = path.ways[way][kind], longest = kind === "delay" ? path.ways[way].longest : [];
      const readout = make("span", { class: "readout" });
      const figure = make("figure", { class: `panel p${p % 4}` }, make("figcaption", {}, make("span", { class: "swatch" }),
        make("b", {}, path.name), make("span", { class: "soft" }, title), readout));
      grid.append(figure);
      if (!list.some(v => v != null)) {
        figure.append(make("p", { class: "note" }, "No packet came."));
        drawn.plots++; drawn.points++;
        return;
      }
      const all = columns([list, longest], data.step);
      const base = options(figure.clientWidth, 140, unit, Math.max(data.step, all[0].length * data.step), (peak([list, longest]) || 1) * 1.06, `w${way}`);
      plot({ ...base,
        series: [{}, { stroke: colour(`p${p % 4}`), width: 1.75, points: { show: all[0].length < 2 } }, { stroke: colour("soft"), width: 1, points: { show: false } }],
        hooks: { setCursor: [u => {
          const v = u.cursor.idx == null ? null : u.data[1][u.cursor.idx];
          readout.textContent = v == null ? "" : `${digits(v)}${nbsp}${unit}`;
        }] },
      }, all, figure, `${title} of ${path.name} ${WAYS[way]}`, `${title} of ${path.name} ${WAYS[way]}, ${unit}`);
    }));
  }
  function seriesCsv() {
    const lines = ["path,direction,time_s,rate_mbps,mean_delay_ms,longest_delay_ms,queue_kb,dropped_packets"];
    for (const path of data.paths) path.ways.forEach((w, way) => w.rate.forEach((rate, i) => {
      lines.push([JSON.stringify(path.name), WAYS[way], plain((i + 1) * data.step), rate, w.delay[i] ?? "", w.longest[i] ?? "", w.queue[i], w.dropped[i]].join(","));
    }));
    return lines.join("\n") + "\n";
  }
  document.querySelector(".controls").append(exporter("CSV", () => download(`${data.name}-over-time.csv`, "text/csv", seriesCsv())));
  const table = document.querySelector("table.numbers"), head = [...table.tHead.rows[0].cells].map(th => th.textContent.trim());
  table.closest(".card").querySelector(".tools").append(exporter("CSV", () => download(`${data.name}.csv`, "text/csv", csv(table, head))));
  const boxes = [...document.querySelectorAll(".plot")];
  start(boxes, draw, boxes);
})();
