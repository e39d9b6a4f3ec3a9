// The view: which seed is shown, and which part of it. The page's address stores it. `view.set({...})` changes it, and
// then calls every function that was registered with `view.on`.

const byId = (id) => document.getElementById(id);

// from, to: the span of time that all panels show, in s; null: the whole run. hidden: names of hidden classes.
// flow: the selected flow. unit: the unit of windows, "bytes" or "segments".
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

// The choices with which the page opens; the address does not store them.
const first = { port: null, blackout: null };

// Reads the view from the address, and ignores what the document does not have.
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

// The seeds in the page, and the documents that have been unpacked.
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

// A number with four digits, and with commas between thousands: "0.1234", "12,340".
function four(value) {
  if (value === null || value === undefined) return "–";
  const rounded = Number(value.toPrecision(4));
  return Math.abs(rounded) >= 10000 ? Math.round(value).toLocaleString("en") : String(rounded);
}

// The page's own blue instead of the figures', because it is lighter on a dark background.
const onGround = (colour) => (colour === "#0072b2" ? colourOf("--blue") : colour);
const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
