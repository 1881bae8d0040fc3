"use strict";
// A page whose plots are in its text: this lets them be saved, counts them, and finds empty ones and words that cover each other.
(() => {
  const { drawn, start, make, download, exporter, standalone, toPng, csv } = pageTools;
  const page = document.title.split(" ")[0];
  for (const [i, svg] of document.querySelectorAll("svg.figure").entries()) {
    const name = svg.getAttribute("aria-label");
    const values = Number(svg.dataset.values);
    drawn.plots++;
    drawn.points += values;
    const boxes = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim()).map(t => [t.textContent, t.getBoundingClientRect(), t.matches(".slanted")]);
    if (!values || !svg.querySelector("path, rect, circle") || !(svg.getBoundingClientRect().width > 0)) drawn.empty.push(name);
    for (const [i, [word, a, slanted]] of boxes.entries()) {
      for (const [other, b, too] of boxes.slice(i + 1)) {
        // The rectangles around slanted words overlap, but the words do not.
        if (slanted && too) continue;
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1.5 && high > 3) drawn.empty.push(`${name}: ${word} covers ${other}`);
      }
    }
    const file = `${page}-${i + 1}`;
    svg.closest("figure")?.append(make("div", { class: "tools save" },
      exporter("SVG", () => download(`${file}.svg`, "image/svg+xml", standalone(svg))),
      exporter("PNG", () => toPng(svg, `${file}.png`))));
  }
  document.querySelectorAll("table.numbers").forEach(table => {
    const head = [...table.tHead.rows[0].cells].map(th => th.textContent.trim());
    table.closest(".scroll")?.before(make("div", { class: "tools save" }, exporter("CSV", () => download(`${page}.csv`, "text/csv", csv(table, head)))));
  });
  start([], () => {}, []);
})();
