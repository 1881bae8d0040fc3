// Text whose contrast is less than 4.5 (WCAG 2.2, 1.4.3). Runs inside a page, so it needs nothing from here.
export function contrastFaults() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const faults = new Set();
  for (const element of document.body.querySelectorAll("*")) {
    const text = [...element.childNodes].filter(n => n.nodeType === Node.TEXT_NODE).map(n => n.textContent.trim()).join("");
    if (!text || !element.checkVisibility?.() || element.closest("[disabled], [inert]")) continue;
    const style = getComputedStyle(element), svg = element.namespaceURI.endsWith("svg");
    const [a, b] = [luminance(rgba(svg ? style.fill : style.color)), luminance(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) faults.add(`"${text.slice(0, 30)}" has a contrast of ${ratio.toFixed(2)}`);
  }
  return [...faults];
}
