// The playground: controls on one side, what the laboratory answers on the other.

import { controls, showControls } from "./controls.js";
import { answerShown, errorShown, planShown, progressShown, redrawn } from "./results.js";
import { fragment, fromFragment, toml } from "./scenario.js";

const $ = id => document.getElementById(id);
// How long after the last change runs begin, and how long a run may keep the worker from the next plan, in ms.
const SETTLED = 120, PATIENCE = 1000;

const state = fromFragment(location.hash);
let number = 0, worker = null, offer = null, timer = 0, running = false, heard = false;

// Everything is loaded once; from then on nothing is needed from the server.
const [module, script] = await Promise.all([
  fetch("playground.wasm").then(response => response.arrayBuffer()).then(bytes => WebAssembly.compile(bytes)).catch(() => null),
  fetch("worker.js").then(response => response.text()),
]);
if (module) start(); else errorShown("The laboratory could not be loaded: this browser needs WebAssembly, and the page a web server.");

function start() {
  worker?.terminate();
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  worker = new Worker(address);
  URL.revokeObjectURL(address);
  running = false;
  worker.onmessage = ({ data }) => { heard = true; take(data); };
  worker.onerror = event => errorShown(event.message);
  worker.postMessage({ module });
}

function take(message) {
  if (message.offer) {
    const first = offer === null;
    offer = message.offer;
    $("version").textContent = offer.version;
    if (first) controls(state, offer, change);
    run();
    return;
  }
  if (message.number !== number) return;
  if (message.error) {
    if (message.explaining) $("explain-fault").textContent = message.error; else errorShown(message.error);
    document.documentElement.dataset.state = "error";
  } else if (message.begun) planShown(message.begun, $("explain-scheduler").value);
  else if (message.progress) progressShown(message.progress);
  else if (message.answer) {
    answerShown(message.answer);
    // What a check in a browser reads.
    Object.assign(document.documentElement.dataset, { state: "answered", seeds: message.answer.seeds, memory: message.memory, answers: Number(document.documentElement.dataset.answers ?? 0) + 1 });
    if (!document.documentElement.dataset.firstTable) document.documentElement.dataset.firstTable = Math.round(performance.now());
  } else if (message.page) {
    $("explain-fault").textContent = "";
    Object.assign($("packets"), { srcdoc: message.page, hidden: false });
    document.documentElement.dataset.explained = message.scheduler;
  } else if (message.done) {
    running = false;
    progressShown(null);
  }
}

// Something was changed: what runs is of no use any more.
function change() {
  number++;
  clearTimeout(timer);
  timer = setTimeout(() => {
    history.replaceState(null, "", fragment(state));
    run();
  }, SETTLED);
}

function run() {
  if (!offer) return;
  number++;
  const text = state.toml ?? toml(state.settings);
  if (document.activeElement !== $("toml")) $("toml").value = text;
  $("toml-instead").hidden = state.toml === null;
  for (const part of document.querySelectorAll("#links, #add-link, #of-connection")) part.inert = state.toml !== null;
  $("error").hidden = true;
  // The explained second is of the last scenario.
  $("packets").hidden = true;
  $("explain-fault").textContent = "";
  document.documentElement.dataset.state = "running";
  worker.postMessage({ plan: { number, file: "playground.toml", toml: text, schedulers: state.settings.schedulers.join(",") } });
  // A run of the last plan that goes on for long is given up with its worker, which starts again with the same module.
  if (running) {
    const mine = number;
    heard = false;
    setTimeout(() => { if (number === mine && !heard) start(); }, PATIENCE);
  }
  running = true;
}

$("explain").onclick = () => {
  const from = Math.max(0, Number($("explain-from").value) || 0);
  $("explain-fault").textContent = "The run is made.";
  worker.postMessage({ explain: { number, scheduler: $("explain-scheduler").value, seed: 1, from: `${from}s`, to: `${from + 1}s` } });
};
$("toml-use").onclick = () => { state.toml = $("toml").value; change(); };
$("back").onclick = () => { state.toml = null; change(); };

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    $("copied").textContent = `${what} is copied.`;
  } catch {
    $("copied").textContent = "The browser allows no copying; select the text below instead.";
  }
}
$("copy-link").onclick = () => { history.replaceState(null, "", fragment(state)); copy(location.href, "The link"); };
$("copy-toml").onclick = () => copy(state.toml ?? toml(state.settings), "The scenario");
$("copy-command").onclick = () => copy($("command").textContent, "The command");

addEventListener("hashchange", () => {
  // A jump within the page holds no scenario.
  if (!location.hash.includes("=")) { history.replaceState(null, "", fragment(state)); return; }
  Object.assign(state, fromFragment(location.hash));
  if (offer) showControls(state);
  run();
});
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redrawn(); } });
