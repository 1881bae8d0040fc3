// Prints the digests that the WebAssembly module computes: node run.mjs pathweave_digests.wasm
import { readFileSync } from "node:fs";

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const imports = WebAssembly.Module.imports(module);
if (imports.length > 0) {
  throw new Error(`the module wants ${imports.map((i) => `${i.module}.${i.name}`).join(", ")}`);
}
const { case_count, case_line, memory } = new WebAssembly.Instance(module).exports;
for (let i = 0; i < case_count(); i += 1) {
  const line = BigInt.asUintN(64, case_line(i));
  const bytes = new Uint8Array(memory.buffer, Number(line & 0xffffffffn), Number(line >> 32n));
  console.log(new TextDecoder().decode(bytes));
}
