// Opens the site in headless Chromium, searches in it and looks at it: node site.mjs CHROMIUM SITE PICTURES WORD...
// Prints what each word finds; the exit code is 1 if something is wrong.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Browser, until } from "./chromium.mjs";
import { serve } from "./server.mjs";

const [, , chromium, site, pictures, ...words] = process.argv;
const PATIENCE = 20_000;
const faults = [];
const check = (right, text) => { if (!right) faults.push(text); };
const { server, address } = await serve(site);
const profile = mkdtempSync(join(tmpdir(), "site-"));
const browser = new Browser(chromium, profile);

async function open(path, width, scheme) {
  const page = await browser.page();
  await page.send("Emulation.setDeviceMetricsOverride", { width, height: 1000, deviceScaleFactor: 1, mobile: false });
  await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await page.send("Page.navigate", { url: address + path });
  check(await until(() => page.evaluate("document.readyState === 'complete'"), PATIENCE), `${path} does not load`);
  return page;
}

// The titles that the search shows for a word, as a reader does it: by the keyboard.
async function search(word) {
  const page = await open("index.html", 1400, "light");
  const key = (key, more) => page.send("Input.dispatchKeyEvent", { type: "keyDown", key, ...more });
  const input = "document.getElementById('mdbook-searchbar')";
  await until(async () => {
    await key("s", { text: "s" });
    return page.evaluate(`document.activeElement === ${input}`);
  }, PATIENCE);
  await page.evaluate(`${input}.value = ""`);
  await page.send("Input.insertText", { text: word });
  const found = () => page.evaluate("[...document.querySelectorAll('#mdbook-searchresults a')].map(a => a.textContent)");
  check(await until(async () => (await found()).length > 0, PATIENCE), `the search does not find ${word}`);
  const titles = await found();
  console.log(`${word}: ${titles.length} places, first ${titles[0]}`);
  await page.close();
}

async function looks() {
  for (const width of [1400, 400]) {
    for (const scheme of ["light", "dark"]) {
      const page = await open("index.html", width, scheme);
      const wide = await page.evaluate("document.documentElement.scrollWidth");
      check(wide <= width, `${width}, ${scheme}: the front page is ${wide} pixels wide`);
      const { data } = await page.send("Page.captureScreenshot");
      writeFileSync(join(pictures, `site-${scheme}-${width}.png`), Buffer.from(data, "base64"));
      await page.close();
    }
  }
}

try {
  for (const word of words) await search(word);
  await looks();
  for (const line of browser.console) check(false, `on the console: ${line}`);
} catch (error) {
  faults.push(String(error));
} finally {
  server.close();
  server.closeAllConnections();
  await browser.end();
  rmSync(profile, { recursive: true, force: true });
}
for (const fault of faults) console.log(`WRONG: ${fault}`);
process.exit(faults.length ? 1 : 0);
