// The settings of the page as a scenario: presets, TOML, and what a link's fragment holds. Without a page, so that Node can use it too.

export const MOST_LINKS = 4;

// A control's range. Rates, queues and windows have logarithmic sliders.
export const RANGES = {
  rate: { least: 0.5, most: 300, step: 0.5, logarithmic: true, unit: "Mbit/s", label: "Rate" },
  delay: { least: 1, most: 300, step: 1, logarithmic: true, unit: "ms", label: "Delay, one way" },
  queue: { least: 5, most: 2000, step: 5, logarithmic: true, unit: "packets", label: "Queue" },
  loss: { least: 0, most: 5, step: 0.05, logarithmic: false, unit: "%", label: "Random loss" },
  window: { least: 32, most: 16384, step: 32, logarithmic: true, unit: "KiB", label: "Receive window" },
  duration: { least: 2, most: 60, step: 1, logarithmic: false, unit: "s", label: "Length of a run" },
};

const link = (name, rate, delay, queue, loss) => ({ name, rate, delay, queue, loss });
const settings = (links, window, duration, measured) =>
  ({ links, window, duration, measured, congestion: "cubic", workload: "bulk", schedulers: ["minrtt", "roundrobin", "blest", "ecf", "weave"] });

// The first is shown if the address names no scenario; it has the same network as the built-in scenario wifi-lte.
export const PRESETS = {
  "wifi-lte": { title: "WiFi + LTE", settings: settings([link("wifi", 30, 10, 60, 0.1), link("lte", 12, 35, 200, 0)], 512, 20, 10) },
  "dsl-5g": { title: "DSL + 5G", settings: settings([link("dsl", 16, 12, 130, 0), link("5g", 60, 18, 500, 0)], 512, 12, 4) },
  "starlink-lte": { title: "Starlink + LTE", settings: settings([link("starlink", 40, 20, 250, 0.05), link("lte", 12, 35, 200, 0)], 512, 12, 4) },
};

export const WORKLOADS = {
  bulk: "As fast as possible",
  "transfer:size=5MB": "A file of 5 MB",
  "cbr:rate=4Mbps:message=20KB": "Messages of 20 KB, 25 a second",
};

// TOML of the settings. Uploads over links that are alike both ways; what the lines mean is in crates/lab/scenarios/wifi-lte.toml.
export function toml(settings) {
  const lines = [
    "format = 1", 'name = "playground"', `duration = "${settings.duration}s"`,
  ];
  if (settings.workload === "bulk") lines.push(`measure_from = "${Math.min(settings.measured, Math.floor(settings.duration / 2))}s"`);
  for (const { name, rate, delay, queue, loss } of settings.links) {
    lines.push("", "[[path]]", `name = ${JSON.stringify(name)}`, `rate = "${rate}Mbps"`, `delay = "${delay}ms"`, `queue = "${queue}packets"`);
    if (loss > 0) lines.push(`loss = "${loss}%"`);
    // Half of a packet's time on the link, so that no packet overtakes another.
    lines.push(`jitter = "uniform:amplitude=${Math.round(6e6 / rate)}ns"`);
    lines.push(`down = { rate = "token-bucket:rate=${rate}Mbps:burst=3028B", loss = 0 }`);
  }
  lines.push("", "[[connection]]", 'name = "bulk"', 'direction = "upload"', `workload = "${settings.workload}"`, 'start_spread = "100ms"',
    `congestion = "${settings.congestion}"`, 'send_buffer = "16MiB"', `receive_buffer = "${settings.window}KiB"`, 'path_manager = "default"',
    "pr = false", 'host = "rfc"', 'failure_detection = "fast"', "share_data_acks = false", "");
  return lines.join("\n");
}

// Two or more speed tests, as text: each has a rate with "Mbps", "Mbit/s" or "Mb/s" and a time with "ms". The first rate after
// "download" or "down" is taken, else the first rate; the ping is the way there and back. Nothing if there are fewer than two.
export function fromSpeedTests(text) {
  const rate = /(\d+(?:[.,]\d+)?)\s*(?:mbps|mbit\/s|mb\/s|mbits?)/gi, ping = /(\d+(?:[.,]\d+)?)\s*ms\b/gi;
  const number = match => Number(match[1].replace(",", "."));
  const tests = text.split(/\n\s*\n/).filter(part => part.match(rate));
  const parts = tests.length > 1 ? tests : text.split("\n").filter(line => line.match(rate));
  const links = parts.slice(0, MOST_LINKS).map((part, i) => {
    const down = part.search(/down(?:load)?/i);
    const rates = [...part.matchAll(rate)], named = down < 0 ? null : rates.find(match => match.index > down);
    const time = [...part.matchAll(ping)][0];
    const mbps = within("rate", number(named ?? rates[0])), delay = within("delay", time ? number(time) / 2 : 15);
    // A queue of 100 ms, as many access links have.
    return link(`link${i + 1}`, mbps, delay, within("queue", mbps * 100 / 12), 0);
  });
  return links.length > 1 ? links : null;
}

// The nearest value that a control has.
export function within(name, value) {
  const { least, most, step } = RANGES[name];
  const stepped = Math.round(value / step) * step;
  return Number(Math.min(most, Math.max(least, stepped)).toFixed(2));
}

// The fragment of a link, and back. A fragment is text of others: whatever is not as expected becomes the first preset's.
export function fragment(state) {
  return state.toml === null ? `#s=${encodeURIComponent(JSON.stringify(state.settings))}`
    : `#toml=${encodeURIComponent(state.toml)}&schedulers=${encodeURIComponent(state.settings.schedulers.join(","))}`;
}

export function fromFragment(hash) {
  const values = new URLSearchParams(hash.replace(/^#/, "").replaceAll("+", "%2B"));
  const usual = structuredClone(PRESETS["wifi-lte"].settings);
  const preset = values.get("preset");
  if (preset && Object.hasOwn(PRESETS, preset)) return { settings: structuredClone(PRESETS[preset].settings), toml: null };
  const names = list => (Array.isArray(list) ? list : []).filter(name => typeof name === "string" && /^[\w:=.%-]+$/.test(name));
  if (values.get("toml")) {
    const schedulers = names((values.get("schedulers") ?? "").split(","));
    return { settings: { ...usual, schedulers: schedulers.length ? schedulers : usual.schedulers }, toml: values.get("toml") };
  }
  let given = null;
  try { given = JSON.parse(values.get("s")); } catch { /* not a fragment of this page */ }
  if (!given || typeof given !== "object") return { settings: usual, toml: null };
  const number = (name, value, otherwise) => within(name, typeof value === "number" && Number.isFinite(value) ? value : otherwise);
  const text = (value, pattern, otherwise) => typeof value === "string" && pattern.test(value) ? value : otherwise;
  const links = (Array.isArray(given.links) ? given.links : usual.links).slice(0, MOST_LINKS).map((l, i) => ({
    name: text(l?.name, /^[\w-]{1,20}$/, `link${i + 1}`), rate: number("rate", l?.rate, 20), delay: number("delay", l?.delay, 20),
    queue: number("queue", l?.queue, 100), loss: number("loss", l?.loss, 0),
  }));
  const schedulers = names(given.schedulers);
  return {
    toml: null,
    settings: {
      links: links.length > 1 ? links : usual.links,
      window: number("window", given.window, usual.window), duration: number("duration", given.duration, usual.duration),
      measured: number("duration", given.measured, usual.measured),
      congestion: text(given.congestion, /^[\w-]+$/, usual.congestion), workload: Object.hasOwn(WORKLOADS, given.workload) ? given.workload : usual.workload,
      schedulers: schedulers.length ? schedulers : usual.schedulers,
    },
  };
}
