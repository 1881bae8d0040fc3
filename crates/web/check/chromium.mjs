// Chromium without a window, driven over a pipe by its DevTools protocol.
import { spawn } from "node:child_process";

const ARGUMENTS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
  // No name is looked up.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];
// How long an answer of the browser may take, ms.
const PATIENCE = 60_000;

// Whether a condition becomes true in this time.
export async function until(condition, patience) {
  for (let waited = 0; waited <= patience; waited += 50) {
    if (await condition()) return true;
    await new Promise(done => setTimeout(done, 50));
  }
  return false;
}

export class Browser {
  constructor(program, profile) {
    // Messages on the consoles of pages, frames and workers.
    this.console = [];
    this.waiting = new Map();
    // Sessions by kind: pages, frames, workers.
    this.sessions = new Map();
    this.last = 0;
    this.child = spawn(program, [...ARGUMENTS, `--user-data-dir=${profile}`, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.ended = new Promise(done => this.child.once("exit", done));
    let text = "";
    this.child.stdio[4].on("data", data => {
      const parts = (text + data).split("\0");
      text = parts.pop();
      parts.forEach(part => this.take(JSON.parse(part)));
    });
  }

  take({ id, method, params, result, error, sessionId }) {
    if (id !== undefined) {
      const [done, failed] = this.waiting.get(id) ?? [];
      this.waiting.delete(id);
      if (error) failed?.(new Error(error.message)); else done?.(result);
    } else if (method === "Target.attachedToTarget") {
      this.attached(params.sessionId, params.targetInfo.type);
    } else if (method === "Target.detachedFromTarget") {
      this.sessions.delete(params.sessionId);
    } else if (method === "Runtime.exceptionThrown") {
      this.console.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    } else if (method === "Runtime.consoleAPICalled") {
      this.console.push(params.args.map(a => a.value ?? a.description).join(" "));
    } else if (method === "Log.entryAdded") {
      this.console.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    }
  }

  // Listens to what was attached, and to what it attaches.
  attached(session, type) {
    this.sessions.set(session, type);
    const ask = (method, params) => this.send(method, params, session).catch(() => null);
    ask("Runtime.enable");
    ask("Log.enable");
    ask("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: true });
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.last;
    return new Promise((done, failed) => {
      const timer = setTimeout(() => failed(new Error(`${method} is not answered`)), PATIENCE);
      const over = then => value => { clearTimeout(timer); then(value); };
      this.waiting.set(id, [over(done), over(failed)]);
      this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  // A new page.
  async page() {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const send = (method, params) => this.send(method, params, sessionId);
    for (const domain of ["Page", "Accessibility"]) await send(`${domain}.enable`);
    return { send, evaluate: text => this.evaluate(text, sessionId), close: () => this.send("Target.closeTarget", { targetId }) };
  }

  // The value of an expression in a frame with a process of its own; nothing without such a frame.
  async frame(text) {
    const [session] = [...this.sessions].find(([, type]) => type === "iframe") ?? [];
    return session ? this.evaluate(text, session).catch(() => null) : null;
  }

  async evaluate(expression, session) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true }, session);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  // Ends the browser that was started here.
  async end() {
    const forced = setTimeout(() => this.child.kill("SIGKILL"), 5000);
    this.send("Browser.close").catch(() => null);
    await this.ended;
    clearTimeout(forced);
  }
}
