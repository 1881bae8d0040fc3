// Opens the playground in headless Chromium and checks it: node browser.mjs CHROMIUM SITE PICTURES
// Serves SITE on loopback. Prints what it measured; the exit code is 1 if something is wrong.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Browser, until } from "./chromium.mjs";
import { contrastFaults } from "./contrast.mjs";
import { serve } from "./server.mjs";

const [, , chromium, site, pictures] = process.argv;
// No table after this long is a fault; the aim is 2 s on an idle machine.
const PATIENCE = 20_000;
const MOVES = 200;
const faults = [];
const check = (right, text) => { if (!right) faults.push(text); };

const { server, address } = await serve(site);
const profile = mkdtempSync(join(tmpdir(), "playground-"));
const browser = new Browser(chromium, profile);

const state = page => page.evaluate("({ ...document.documentElement?.dataset })");
const answered = (page, seeds, patience = 6 * PATIENCE) => until(async () => Number((await state(page)).seeds) >= seeds, patience);

async function open(width, scheme, hash = "") {
  const page = await browser.page();
  await page.send("Emulation.setDeviceMetricsOverride", { width, height: 1000, deviceScaleFactor: 1, mobile: false });
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await page.send("Page.navigate", { url: address + hash });
  return page;
}

async function looks() {
  for (const width of [1400, 400]) {
    for (const scheme of ["light", "dark"]) {
      const page = await open(width, scheme);
      check(await answered(page, 2), `${width}, ${scheme}: no answer of two seeds`);
      const { firstTable } = await state(page);
      console.log(`${width} pixels, ${scheme}: first table ${firstTable} ms after load`);
      check(Number(firstTable) <= PATIENCE, `the first table took ${firstTable} ms`);
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      check(wide <= width, `${width}, ${scheme}: the page is ${wide} pixels wide`);
      for (const fault of await page.evaluate(`(${contrastFaults})()`)) check(false, `${width}, ${scheme}: ${fault}`);
      for (const fault of await unnamed(page)) check(false, `${width}, ${scheme}: ${fault}`);
      await picture(page, `${scheme}-${width}`, width);
      await page.close();
    }
  }
}

// The whole page, to look at; without a width, what the window shows.
async function picture(page, name, width) {
  const height = Math.min(await page.evaluate("document.documentElement.scrollHeight"), 8000);
  const whole = { clip: { x: 0, y: 0, width, height, scale: 1 }, captureBeyondViewport: true };
  const { data } = await page.send("Page.captureScreenshot", width ? whole : {});
  writeFileSync(join(pictures, `playground-${name}.png`), Buffer.from(data, "base64"));
}

// Controls without a name that a screen reader could say.
async function unnamed(page) {
  const { nodes } = await page.send("Accessibility.getFullAXTree");
  const roles = ["slider", "spinbutton", "combobox", "checkbox", "button", "textbox", "link", "Iframe"];
  return nodes.filter(n => !n.ignored && roles.includes(n.role?.value) && !n.name?.value).map(n => `a ${n.role.value} has no name`);
}

async function use() {
  const page = await open(1400, "light");
  check(await answered(page, 1), "no answer");
  // One step with the keyboard changes the scenario and the link.
  await page.evaluate("document.getElementById('link-1-rate').focus()");
  for (const type of ["keyDown", "keyUp"]) await page.send("Input.dispatchKeyEvent", { type, key: "ArrowRight", code: "ArrowRight", windowsVirtualKeyCode: 39 });
  check(await until(() => page.evaluate("location.hash.length > 10"), PATIENCE), "a slider's key changes nothing");
  const hash = await page.evaluate("location.hash"), toml = await page.evaluate("document.getElementById('toml').value");
  const again = await open(1400, "light", hash);
  check(await answered(again, 1), "a shared link has no answer");
  check(await again.evaluate("document.getElementById('toml').value") === toml, "a shared link has another scenario");
  await again.close();

  // From here on the page is offline.
  server.close();
  server.closeAllConnections();
  await page.evaluate("document.getElementById('explain').click()");
  check(await until(async () => (await state(page)).explained, 3 * PATIENCE), "no decision is explained");
  let inside = null;
  await until(async () => {
    inside = await browser.frame("document.documentElement.dataset.ready === 'yes' && ({ ...document.documentElement.dataset })");
    return inside;
  }, 3 * PATIENCE);
  check(inside && !inside.errors && !inside.empty && Number(inside.plots) > 0, `the explanation is not drawn: ${JSON.stringify(inside)}`);

  check(await page.evaluate("/: [0-9a-f]{32}$/.test(document.getElementById('digests').firstChild?.textContent)"), "no digest is shown");
  // A frame with a process of its own is painted only where the window is.
  await page.evaluate("document.getElementById('packets').scrollIntoView({ behavior: 'instant' })");
  await new Promise(done => setTimeout(done, 500));
  await picture(page, "packets");

  // A wrong scenario says where and what.
  await page.evaluate("document.getElementById('toml').value = 'format = 1\\nnam = \"x\"\\n'; document.getElementById('toml-use').click()");
  const error = () => page.evaluate("document.getElementById('error').hidden ? '' : document.getElementById('error').textContent");
  check(await until(async () => (await error()).startsWith("playground.toml:"), PATIENCE), `a wrong scenario is answered with: ${await error()}`);
  await page.evaluate("document.getElementById('back').click()");
  await moves(page);
  await page.close();
}

async function moves(page) {
  const memory = [];
  for (let move = 1; move <= MOVES; move++) {
    await page.evaluate(`{
      const sliders = [...document.querySelectorAll("input[type=range]")], slider = sliders[${move} % sliders.length];
      slider.value = slider.id.endsWith("duration") ? 30 : ${(move * 389) % 700};
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    }`);
    await new Promise(done => setTimeout(done, 20));
    if (move % 20 === 0) {
      const before = Number((await state(page)).answers);
      check(await until(async () => Number((await state(page)).answers) > before, 3 * PATIENCE), `no answer after ${move} moves`);
    }
    if (move % (MOVES / 2) === 0) {
      await page.send("HeapProfiler.collectGarbage");
      const { usedSize } = await page.send("Runtime.getHeapUsage");
      memory.push({ module: Number((await state(page)).memory) / 1e6, script: usedSize / 1e6 });
    }
  }
  console.log(`memory after ${MOVES / 2} and ${MOVES} moves, MB: ${memory.map(m => `module ${m.module.toFixed(1)}, page ${m.script.toFixed(1)}`).join("; ")}`);
  // What is kept does not grow with the number of moves. The scenarios at the two times differ by less than this.
  const [half, all] = memory;
  check(all.module <= half.module + 16 && all.script <= half.script + 5, "memory grows with the number of moves");
  check(all.module <= 256 && all.script <= 100, "memory is more than 256 MB in the module or 100 MB in the page");
}

try {
  await looks();
  await use();
  for (const line of browser.console) check(false, `on the console: ${line}`);
} catch (error) {
  faults.push(String(error));
} finally {
  server.close();
  await browser.end();
  rmSync(profile, { recursive: true, force: true });
}
for (const fault of faults) console.log(`WRONG: ${fault}`);
process.exit(faults.length ? 1 : 0);
