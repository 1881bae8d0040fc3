// What the laboratory answers, on the page.

import { bar, digits, html, parts, timeline } from "./plot.js";

const $ = id => document.getElementById(id);
// The parts of the time in the order of the answer, as colours of the style sheet.
const TIME = ["--t0", "--t1", "--t2", "--t3", "--t4", "--t5", "--t6"].map(name => `var(${name})`);
const COLOURS = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5"].map(name => `var(${name})`);
const DASHES = ["none", "7 3", "2 3", "9 3 2 3", "4 2", "1 2"];
// The most lines of a plot.
const LINES = COLOURS.length;
let last = null;

export function errorShown(text) {
  $("error").textContent = text;
  $("error").hidden = false;
  $("sentences").replaceChildren(html("p", {}, "There is no answer."));
  $("sentences").className = "";
  $("progress").textContent = "";
}

export function planShown(plan, chosen) {
  $("warnings").replaceChildren(...plan.warnings.map(text => html("li", {}, text)));
  const schedulers = plan.runs.filter(name => !name.startsWith("tcp-path"));
  $("explain-scheduler").replaceChildren(...schedulers.map(name => html("option", { value: name }, name)));
  if (schedulers.includes(chosen)) $("explain-scheduler").value = chosen;
  $("explain-from").max = Math.max(0, plan.duration_s - 1);
  $("explain-from").value = Math.min(plan.measure_from_s, Math.max(0, plan.duration_s - 1));
  $("progress").textContent = "The first runs are made.";
  $("digests").replaceChildren();
}

export function progressShown(progress) {
  const counted = last ? `${last.seeds} ${last.seeds === 1 ? "seed is" : "seeds are"} counted` : "";
  if (progress) $("digests").append(html("li", {}, `${progress.run.scheduler}: ${progress.run.digest}`));
  $("progress").textContent = progress ? `First seed: ${progress.finished} of ${progress.of} runs.` : `${counted}; that is all.`;
}

export function answerShown(answer) {
  last = answer;
  const [first, ...more] = answer.sentences;
  const box = $("sentences");
  // Read out again only if the words change.
  if (box.textContent !== answer.sentences.join("")) {
    box.replaceChildren(html("p", { class: "first" }, first ?? "There is nothing to compare."), ...more.map(text => html("p", {}, text)));
  }
  box.className = answer.tone;
  const seeds = answer.seeds === 1 ? "1 seed is counted" : `${answer.seeds} seeds are counted`;
  $("progress").textContent = `${seeds}; more are added as time passes.`;
  const problems = answer.problems.slice(0, 5).map(text => html("li", {}, text));
  for (const old of $("warnings").querySelectorAll(".problem")) old.remove();
  for (const item of problems) { item.className = "problem"; $("warnings").append(item); }
  $("command").textContent = `# The scenario above, saved as playground.toml:\n${answer.command}`;
  redrawn();
}

// Draws the last answer again, after it or the window's width changed.
export function redrawn() {
  if (!last) return;
  ranking();
  plots();
  time();
}

// Names of a row: its own, and those of schedulers that sent the same packets.
const named = row => row.same.length ? `${row.label} = ${row.same.join(", ")}` : row.label;

function difference({ against }, unit) {
  if (!against) return "";
  const sign = x => (x < 0 ? "−" : "+") + digits(Math.abs(x));
  if (against.always) return `${sign(against.mean)} on every seed`;
  if (against.low == null) return sign(against.mean);
  const margin = digits((against.high - against.low) / 2);
  return `${sign(against.mean)} ± ${margin} ${unit}${against.significant ? "" : ", not significant"}`;
}

function ranking() {
  const { drawn, intervals } = last;
  const most = Math.max(1e-9, ...drawn.rows.map((row, i) => Math.max(row.value?.mean ?? 0, intervals[i]?.[1] ?? 0)));
  const cell = (label, ...content) => html("td", { "data-label": label }, ...content);
  const rows = drawn.rows.map((row, i) => {
    const interval = intervals[i];
    const value = row.value ? digits(row.value.mean) + (interval ? ` ± ${digits((interval[1] - interval[0]) / 2)}` : "") : drawn.no_value;
    const role = i === drawn.best ? "best" : i === drawn.reference ? "reference" : "";
    const shares = row.share.map((part, p) => ({ part, colour: `var(--p${p % 4})` }));
    const said = row.share.map((part, p) => `${drawn.paths[p]} ${Math.round(100 * part)} %`).join(", ");
    return html("tr", { class: role }, html("td", { class: "rank" }, String(i + 1)), html("th", { scope: "row" }, named(row)),
      cell(`${drawn.judged}, ${drawn.unit}`, html("span", { class: "number" }, value), row.value ? bar(row.value.mean, interval, most, role === "best" ? "var(--best)" : row.plain_tcp == null ? "var(--plain)" : "var(--ref)") : ""),
      cell("Against the reference", i === drawn.reference ? "reference" : difference(row, drawn.unit)),
      cell("Share of the links", parts(shares, 1), html("span", { class: "small" }, said)));
  });
  const head = ["", "Scheduler", `${drawn.judged}, ${drawn.unit}`, "Against the reference", "Share of the links"].map(text => html("th", { scope: "col" }, text));
  const spread = intervals.some(Boolean) ? "Means with 95 % intervals over the seeds; the difference is seed by seed." : "With one seed nothing is known of the spread.";
  const table = html("table", {}, html("caption", {}, spread), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
  $("ranking").replaceChildren(table);
}

// The rows of the plots: the best ones and the reference.
function plotted() {
  const { drawn } = last;
  const rows = drawn.rows.map((row, i) => ({ row, i })).filter(({ row }) => row.goodput_series.median.length);
  const wanted = rows.filter(({ i }) => i === drawn.reference);
  for (const entry of rows) if (wanted.length < LINES && !wanted.includes(entry) && entry.row.plain_tcp == null) wanted.push(entry);
  return wanted.sort((a, b) => a.i - b.i).map(({ row }, n) => ({ row, colour: COLOURS[n], dash: DASHES[n] }));
}

function plots() {
  const lines = plotted();
  const keys = lines.map(({ row, colour, dash }) => {
    const line = timelineKey(colour, dash);
    return html("span", {}, line, ` ${row.label}`);
  });
  document.querySelector(".legend").replaceChildren(...keys);
  for (const [id, title, unit, series] of [["goodput", "Goodput, Mbit/s", "Mbit/s", "goodput_series"], ["queue", "Data that waits, KB", "KB", "queue_series"]]) {
    const shown = lines.map(({ row, colour, dash }) => ({ label: row.label, colour, dash, step: row.step, ...row[series] }));
    $(id).replaceChildren(html("p", { class: "small soft" }, title), timeline(Math.max(280, $(id).clientWidth), title, unit, shown));
  }
}

function timelineKey(colour, dash) {
  const key = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  key.setAttribute("width", 26);
  key.setAttribute("height", 10);
  key.setAttribute("aria-hidden", "true");
  key.innerHTML = "<path class='line' d='M0 5H26'/>";
  key.firstChild.setAttribute("stroke", colour);
  key.firstChild.setAttribute("stroke-dasharray", dash);
  return key;
}

function time() {
  const { drawn } = last;
  const select = $("why");
  const chosen = drawn.rows.some(row => row.name === select.value && select.dataset.touched) ? select.value : drawn.rows[drawn.chosen ?? 0]?.name;
  select.replaceChildren(...drawn.rows.map(row => html("option", { value: row.name }, row.label)));
  select.value = chosen;
  select.onchange = () => { select.dataset.touched = "yes"; time(); };
  const row = drawn.rows.find(r => r.name === chosen);
  if (!row) { $("time").replaceChildren(); return; }
  const whole = row.parts.reduce((sum, [, seconds]) => sum + seconds, 0);
  if (whole <= 0) { $("time").replaceChildren(html("p", {}, "No time was measured.")); return; }
  const list = row.parts.map(([name, seconds], i) => ({ name, part: seconds, colour: TIME[i] })).filter(p => p.part >= 0.005 * whole);
  const legend = list.map(({ name, part, colour }) => {
    const mark = html("span", { class: "mark", "aria-hidden": "true" });
    mark.style.background = colour;
    return html("li", {}, mark, ` ${name}: ${digits(part)} s`);
  });
  const numbers = drawn.paths.map((path, p) => html("tr", {}, html("th", { scope: "row" }, path), ...row.by_path[p].map(s => html("td", { class: "right" }, digits(s)))));
  const head = ["Link", "slow start", "recovery", "blocked the receiver", "filled the window"].map(text => html("th", { scope: "col" }, text));
  $("time").replaceChildren(
    html("p", {}, `Where the ${digits(whole)} s of a run went with ${row.label}:`), parts(list, whole), html("ul", { class: "keys" }, ...legend),
    html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Seconds by link" }, html("table", {}, html("caption", {}, "Seconds by link. Blocked the receiver: later data had arrived and waited for a byte on this link. With several links this is usual, often for most of the time. It delays data, but costs goodput only while the receive window is full."), html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...numbers))));
}
