"use strict";
// Makes runs, one at a time, and stops between two of them when something newer is asked for.
//
// In: { module } once; { plan: { number, file, toml, schedulers } }; { explain: { number, ... } }.
// Out: { offer }, { begun }, { progress }, { answer }, { page }, { done }, { error }, each with the number of its plan.

// After these numbers of seeds there is an answer; the last is the most.
const ANSWERS = [1, 2, 3, 4, 5, 7, 10, 15, 20];

let exports = null, current = 0;

function text(place) {
  const unsigned = BigInt.asUintN(64, place);
  const bytes = new Uint8Array(exports.memory.buffer, Number(unsigned & 0xffffffffn), Number(unsigned >> 32n));
  return new TextDecoder().decode(bytes);
}

// One request of the laboratory; its errors are thrown.
function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const address = exports.input(bytes.length);
  new Uint8Array(exports.memory.buffer, address, bytes.length).set(bytes);
  let answer;
  try {
    answer = JSON.parse(text(exports.reply()));
  } catch (error) {
    throw new Error(`a fault in Pathweave: ${text(exports.fault()) || error.message}`);
  }
  if (answer?.error !== undefined) throw new Error(answer.error);
  return answer;
}

// Lets messages in.
const pause = () => new Promise(done => {
  const channel = new MessageChannel();
  channel.port1.onmessage = done;
  channel.port2.postMessage(null);
});

async function make(plan) {
  const { number } = plan;
  current = number;
  const begun = ask({ ask: "plan", file: plan.file, toml: plan.toml, schedulers: plan.schedulers });
  postMessage({ number, begun });
  for (let seed = 1; seed <= ANSWERS.at(-1); seed++) {
    for (let variant = 0; variant < begun.runs.length; variant++) {
      await pause();
      if (current !== number) return;
      const run = ask({ ask: "run", variant, seed });
      if (seed === 1) postMessage({ number, progress: { finished: variant + 1, of: begun.runs.length, run } });
    }
    if (ANSWERS.includes(seed)) postMessage({ number, answer: ask({ ask: "compare" }), memory: exports.memory.buffer.byteLength });
  }
  postMessage({ number, done: true });
}

onmessage = async ({ data }) => {
  const number = data.plan?.number ?? data.explain?.number ?? 0;
  try {
    if (data.module) {
      exports = (await WebAssembly.instantiate(data.module, {})).exports;
      postMessage({ number, offer: ask({ ask: "offer" }) });
    } else if (data.plan) {
      await make(data.plan);
    } else if (data.explain && number === current) {
      const { scheduler, seed, from, to } = data.explain;
      postMessage({ number, page: ask({ ask: "explain", scheduler, seed, from, to }), scheduler, from });
    }
  } catch (error) {
    postMessage({ number, error: error.message, explaining: Boolean(data.explain) });
  }
};
