// What is shown of which seed, and the page's address, which holds it: `view.set({...})` changes it,
// and everybody who asked by `view.on` draws again.

const byId = (id) => document.getElementById(id);

// from, to: the shared span of time in s, null for the whole run. hidden: names of classes.
// flow: the one flow that is looked at. unit: of windows, "bytes" or "segments".
const view = {
  seed: null, from: null, to: null, hidden: new Set(), flow: null, unit: "bytes",
  port: null, blackout: null, filter: "", sort: "",
  listeners: [],
  on(listener) { this.listeners.push(listener); },
  set(changes) {
    Object.assign(this, changes);
    remember();
    for (const listener of this.listeners) listener(changes);
  },
};

const TEXTS = ["unit", "port", "blackout", "filter", "sort"];
const DEFAULTS = { unit: "bytes", filter: "", sort: "" };
let rememberAt = 0;

function remember() {
  clearTimeout(rememberAt);
  rememberAt = setTimeout(() => {
    const parts = new URLSearchParams();
    if (seeds.length > 1) parts.set("seed", view.seed);
    if (view.from !== null) {
      parts.set("from", Number(view.from.toPrecision(9)));
      parts.set("to", Number(view.to.toPrecision(9)));
    }
    if (view.hidden.size) parts.set("hidden", [...view.hidden].join(","));
    if (view.flow !== null) parts.set("flow", view.flow);
    for (const name of TEXTS) {
      if (view[name] && view[name] !== (DEFAULTS[name] ?? first[name])) parts.set(name, view[name]);
    }
    const text = parts.toString();
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  }, 120);
}

// What the document chooses by itself, which the address need not say.
const first = { port: null, blackout: null };

// What the address asks for; anything that is not there is ignored.
function recall(doc) {
  const given = new URLSearchParams(location.hash.slice(1));
  const changes = {};
  const [from, to] = ["from", "to"].map((name) => (given.has(name) ? Number(given.get(name)) : NaN));
  if (Number.isFinite(from) && Number.isFinite(to) && to > from) {
    changes.from = Math.max(from, 0);
    changes.to = Math.min(to, doc.end);
  }
  const names = new Set(doc.classes.map((one) => one.name));
  const hidden = (given.get("hidden") ?? "").split(",").filter((one) => names.has(one));
  changes.hidden = new Set(hidden.length < names.size ? hidden : []);
  const flow = given.has("flow") ? Number(given.get("flow")) : NaN;
  changes.flow = doc.flows.flow.includes(flow) ? flow : null;
  if (given.get("unit") === "segments") changes.unit = "segments";
  const ports = doc.queues.ports.map((one) => one.port);
  changes.port = ports.includes(given.get("port")) ? given.get("port") : first.port;
  const known = (doc.blackouts?.list ?? []).map((one) => one.ingress);
  changes.blackout = known.includes(given.get("blackout")) ? given.get("blackout") : first.blackout;
  changes.filter = given.get("filter") ?? "";
  changes.sort = given.get("sort") ?? "";
  return changes;
}

// The seeds that the page holds, and their documents as they are unpacked.
const seeds = [...document.querySelectorAll("script[data-seed]")].map((one) => Number(one.dataset.seed));
const unpacked = new Map();

async function unpack(seed) {
  if (!unpacked.has(seed)) {
    const text = document.querySelector(`script[data-seed="${seed}"]`).textContent;
    const bytes = Uint8Array.from(atob(text.trim()), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked.set(seed, JSON.parse(await new Response(stream).text()));
  }
  return unpacked.get(seed);
}

function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// A number in four digits, and thousands with commas: "0.1234", "12,340".
function four(value) {
  if (value === null || value === undefined) return "–";
  const rounded = Number(value.toPrecision(4));
  return Math.abs(rounded) >= 10000 ? Math.round(value).toLocaleString("en") : String(rounded);
}

// The page's blue is lighter on a dark ground.
const onGround = (colour) => (colour === "#0072b2" ? colourOf("--blue") : colour);
const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
