// The sliders and choices, and the settings behind them.

import { html } from "./plot.js";
import { MOST_LINKS, PRESETS, RANGES, WORKLOADS, fromSpeedTests, within } from "./scenario.js";

const $ = id => document.getElementById(id);
const STEPS = 1000;
let settings = null, changed = null, whole = null;

// Fills the page's controls; `change` is called after each change of a setting.
export function controls(state, offer, change) {
  whole = state;
  changed = change;
  for (const [name, { title }] of Object.entries(PRESETS)) {
    const button = html("button", { type: "button", "data-preset": name }, title);
    button.onclick = () => {
      state.settings = structuredClone(PRESETS[name].settings);
      state.toml = null;
      showControls(state);
      change();
    };
    $("presets").append(button);
  }
  for (const { name, summary } of offer.controllers) $("congestion").append(html("option", { value: name, title: summary }, name));
  for (const [value, title] of Object.entries(WORKLOADS)) $("workload").append(html("option", { value }, title));
  for (const id of ["congestion", "workload"]) $(id).onchange = () => { settings[id] = $(id).value; change(); };
  // The telling ones first.
  const telling = ({ name }) => offer.telling.includes(name);
  const names = [...offer.schedulers.filter(telling), ...offer.schedulers.filter(s => !telling(s))];
  for (const { name, summary } of names) {
    const box = html("input", { type: "checkbox", value: name });
    box.onchange = () => {
      const ticked = [...$("schedulers").querySelectorAll("input:checked")].map(b => b.value);
      if (!ticked.length) { box.checked = true; return; }
      // Those with parameters, from an address, stay until the plain ones change.
      settings.schedulers = ticked;
      change();
    };
    $("schedulers").append(html("label", { class: telling({ name }) ? "" : "other", title: summary }, box, ` ${name}`));
  }
  const more = html("button", { type: "button", "aria-expanded": "false" }, `All ${names.length}`);
  more.onclick = () => more.setAttribute("aria-expanded", String($("schedulers").classList.toggle("all")));
  $("schedulers").append(more);
  $("add-link").onclick = () => {
    settings.links.push({ name: `link${settings.links.length + 1}`, rate: 20, delay: 30, queue: 150, loss: 0 });
    showControls(state);
    change();
  };
  $("speed-use").onclick = () => {
    const links = fromSpeedTests($("speed-text").value);
    $("speed-fault").textContent = links ? "" : "Two tests are needed, each with a rate such as 48.2 Mbps.";
    if (!links) return;
    settings.links = links;
    state.toml = null;
    showControls(state);
    change();
  };
  showControls(state);
}

// Shows the settings of `state`.
export function showControls(state) {
  settings = state.settings;
  $("links").replaceChildren(...settings.links.map(linkBox));
  $("connection").replaceChildren(slider("window", settings, "connection"), slider("duration", settings, "connection"));
  $("congestion").value = settings.congestion;
  $("workload").value = settings.workload;
  for (const box of $("schedulers").querySelectorAll("input")) box.checked = settings.schedulers.includes(box.value);
  $("add-link").disabled = settings.links.length >= MOST_LINKS;
}

function linkBox(link, i) {
  const box = html("fieldset", { class: `link p${i}` }, html("legend", {}, `Link ${i + 1}: ${link.name}`));
  for (const name of ["rate", "delay", "queue", "loss"]) box.append(slider(name, link, `link ${i + 1}`));
  if (settings.links.length > 2) {
    const remove = html("button", { type: "button", class: "small" }, `Remove link ${i + 1}`);
    remove.onclick = () => { settings.links.splice(i, 1); showControls(whole); changed(); };
    box.append(remove);
  }
  return box;
}

// A slider with a field for the exact number beside it.
function slider(name, target, owner) {
  const { least, most, step, logarithmic, unit, label } = RANGES[name];
  const id = `${owner}-${name}`.replaceAll(" ", "-");
  const at = value => logarithmic ? STEPS * Math.log(value / least) / Math.log(most / least) : STEPS * (value - least) / (most - least);
  const value = place => within(name, logarithmic ? least * (most / least) ** (place / STEPS) : least + (most - least) * place / STEPS);
  const range = html("input", { type: "range", id, min: 0, max: STEPS, step: 1 });
  const field = html("input", { type: "number", min: least, max: most, step, "aria-label": `${label} of ${owner}, ${unit}` });
  const show = () => {
    range.value = at(target[name]);
    range.setAttribute("aria-valuetext", `${target[name]} ${unit}`);
  };
  range.oninput = () => {
    const next = value(Number(range.value));
    range.setAttribute("aria-valuetext", `${next} ${unit}`);
    if (next === target[name]) return;
    target[name] = next;
    field.value = next;
    changed();
  };
  // A logarithmic slider's step may be less than the value's: arrow keys move by at least one step of the value.
  range.onkeydown = event => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const next = way > 0 ? Math.max(target[name] + step, value(Number(range.value) + 10)) : Math.min(target[name] - step, value(Number(range.value) - 10));
    target[name] = within(name, next);
    field.value = target[name];
    show();
    changed();
  };
  field.onchange = () => {
    target[name] = within(name, Number(field.value) || least);
    field.value = target[name];
    show();
    changed();
  };
  field.value = target[name];
  show();
  return html("div", { class: "slider" }, html("label", { for: id }, label), range, field, html("span", { class: "unit" }, unit));
}
