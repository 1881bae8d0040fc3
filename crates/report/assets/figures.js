"use strict";
// A page whose plots are in its text: this counts them, and finds empty ones and words that cover each other.
(() => {
  const { drawn, start } = pageTools;
  for (const svg of document.querySelectorAll("svg.figure")) {
    const name = svg.getAttribute("aria-label");
    const values = Number(svg.dataset.values);
    drawn.plots++;
    drawn.points += values;
    const boxes = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim()).map(t => [t.textContent, t.getBoundingClientRect()]);
    if (!values || !svg.querySelector("path, rect, circle") || !(svg.getBoundingClientRect().width > 0)) drawn.empty.push(name);
    for (const [i, [word, a]] of boxes.entries()) {
      for (const [other, b] of boxes.slice(i + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1.5 && high > 3) drawn.empty.push(`${name}: ${word} covers ${other}`);
      }
    }
  }
  start([], () => {}, []);
})();
