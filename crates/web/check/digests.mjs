// Runs ten scenarios in the playground's module: node digests.mjs MODULE PAGE FOLDER
// Writes each scenario into FOLDER and prints a line for each run: file, scheduler, seed, digest. The last line is the error that a
// wrong scenario, FOLDER/wrong, is answered with.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [, , wasm, page, folder] = process.argv;
const SCHEDULERS = "minrtt,blest,weave";

const module = new WebAssembly.Module(readFileSync(wasm));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) throw new Error(`the module wants ${imports.map(i => `${i.module}.${i.name}`).join(", ")}`);
const { input, reply, memory } = new WebAssembly.Instance(module).exports;

function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const address = input(bytes.length);
  new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
  const place = BigInt.asUintN(64, reply());
  return JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, Number(place & 0xffffffffn), Number(place >> 32n))));
}

// The page's scripts are modules by the page's word, which Node does not know.
const source = readFileSync(join(page, "scenario.js"), "utf8");
const { PRESETS, RANGES, WORKLOADS, toml } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const built_in = ask({ ask: "offer" }).scenarios.map(({ name, toml }) => [name, toml]);
const presets = Object.entries(PRESETS).map(([name, { settings }]) => [`preset-${name}`, toml(settings)]);
const found = new Map();
for (const [name, text] of [...built_in, ...presets]) {
  const short = text.replace(/^duration = .*$/m, 'duration = "4s"').replace(/^measure_from = .*$/m, 'measure_from = "0s"')
    .replace(/^name = .*$/m, `name = "${name}"`);
  const file = `${name}.toml`;
  writeFileSync(join(folder, file), short);
  const { runs } = ask({ ask: "plan", file, toml: short, schedulers: SCHEDULERS });
  runs.forEach((_, variant) => {
    const { scheduler, seed, digest } = ask({ ask: "run", variant, seed: 1 });
    console.log(`${name} ${scheduler} ${seed} ${digest}`);
    found.set(`${name} ${scheduler}`, digest);
  });
}
for (const scheduler of SCHEDULERS.split(",")) {
  if (found.get(`wifi-lte ${scheduler}`) !== found.get(`preset-wifi-lte ${scheduler}`)) throw new Error("the preset wifi-lte is not the built-in scenario");
}

// Every setting that the page offers is one of a scenario.
const usual = PRESETS["wifi-lte"].settings, [first, ...others] = usual.links;
const offered = Object.keys(WORKLOADS).map(workload => ({ ...usual, workload }));
for (const end of ["least", "most"]) {
  for (const name of Object.keys(RANGES)) {
    const value = { [name]: RANGES[name][end] };
    offered.push(name in first ? { ...usual, links: [{ ...first, ...value }, ...others] } : { ...usual, ...value });
  }
}
for (const settings of offered) {
  const { error } = ask({ ask: "plan", file: "playground.toml", toml: toml(settings), schedulers: SCHEDULERS });
  if (error !== undefined) throw new Error(error);
}

const wrong = toml(PRESETS["wifi-lte"].settings).replace("receive_buffer", "recieve_buffer"), file = join(folder, "wrong");
writeFileSync(file, wrong);
console.log(`error: ${ask({ ask: "plan", file, toml: wrong, schedulers: SCHEDULERS }).error}`);
