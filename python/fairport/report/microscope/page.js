// The view, and what changes it: wheel, drag, keys, buttons, lists, and the page's address.

const SHORTEST = 1000; // ns
const NEAR = 8; // px; a packet nearer to the pointer than this is the one pointed at
const LISTED_FLOWS = 500;

const element = (id) => document.getElementById(id);
const canvas = element("view");
const tip = element("tip");
const store = new Store(() => repaint());
const painter = new Painter(canvas, store);
doc.flows.forEach((flow, number) => (flow.number = number));
const numberOf = new Map(doc.flows.map(({ flow, number }) => [flow, number]));
doc.focus.flow = numberOf.get(doc.focus.flow);
for (const one of doc.windows) one.number = numberOf.get(one.flow);
const grouped = new Set(doc.groups.map(({ flow }) => flow).filter((flow) => flow !== null));

// from, to: in ns. lanes, flows: those that are shown. others: whether flows are shown that the bins count together.
// marked: the flow under the pointer.
const state = {
  from: 0, to: doc.end, marked: null, others: true,
  lanes: new Set(doc.lanes.keys()), flows: new Set(doc.flows.keys()),
};
let drawn = "wait";
let waiting = false;
let frames = [];

function repaint() {
  if (waiting) return;
  waiting = true;
  drawn = "wait"; // the canvas still shows the state before
  requestAnimationFrame(() => {
    waiting = false;
    const begin = performance.now();
    drawn = painter.draw(state);
    frames.push(performance.now() - begin);
    if (frames.length > 1000) frames = frames.slice(-500);
    element("span").textContent = `${seconds(state.from)} to ${seconds(state.to)}`;
  });
}

function seconds(time) {
  const wide = state.to - state.from;
  return (time / 1e9).toFixed(wide < 1e5 ? 9 : wide < 1e8 ? 6 : 3) + " s";
}

// Shows a span of time, within the run.
function show(from, to) {
  const wide = Math.min(Math.max(to - from, SHORTEST), doc.end);
  from = Math.min(Math.max((from + to - wide) / 2, 0), doc.end - wide);
  [state.from, state.to] = [from, from + wide];
  tip.hidden = true;
  remember();
  repaint();
}

function zoom(factor, at = (state.from + state.to) / 2) {
  const wide = Math.min(Math.max((state.to - state.from) * factor, SHORTEST), doc.end);
  const left = at - ((at - state.from) / (state.to - state.from)) * wide;
  show(left, left + wide);
}

function move(share) {
  const by = (state.to - state.from) * share;
  show(state.from + by, state.to + by);
}

// Stores the view in the address: from and to in ns, and what is hidden.
let rememberAt = 0;
function remember() {
  clearTimeout(rememberAt);
  rememberAt = setTimeout(() => {
    const parts = [`from=${Math.round(state.from)}`, `to=${Math.round(state.to)}`];
    const listed = (all, shown) => [...all.keys()].filter((one) => shown.has(one)).join(".");
    if (state.lanes.size < doc.lanes.length) parts.push("ports=" + listed(doc.lanes, state.lanes));
    if (state.flows.size < doc.flows.length) parts.push("flows=" + listed(doc.flows, state.flows));
    history.replaceState(null, "", "#" + parts.join("&"));
  }, 150);
}

function recall() {
  const given = new URLSearchParams(location.hash.slice(1));
  const chosen = (name, all, otherwise) => {
    const numbers = given.has(name) ? given.get(name).split(".").filter(Boolean).map(Number) : otherwise;
    return new Set(numbers.filter((one) => Number.isInteger(one) && one >= 0 && one < all.length));
  };
  state.lanes = chosen("ports", doc.lanes, doc.shown);
  state.flows = chosen("flows", doc.flows, [...doc.flows.keys()]);
  choose();
  const [from, to] = ["from", "to"].map((name) => (given.has(name) ? Number(given.get(name)) : NaN));
  if (Number.isFinite(from) && Number.isFinite(to) && to > from) show(from, to);
  else show(0, doc.end);
}

// Sets the boxes of the lists to what is chosen.
function choose() {
  for (const box of document.querySelectorAll("input[type=checkbox]")) {
    box.checked = state[box.name].has(Number(box.value));
  }
  state.others = [...state.flows].some((flow) => !grouped.has(flow));
  remember();
  repaint();
}

function list(parent, name, entries) {
  for (const [value, text, detail] of entries) {
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", name, value });
    const small = Object.assign(document.createElement("small"), { textContent: " " + detail });
    box.addEventListener("change", () => {
      if (box.checked) state[name].add(value);
      else state[name].delete(value);
      choose();
    });
    label.append(box, " " + text, small);
    parent.append(label);
  }
}

// The packet nearest to a point, by its index in its block; undefined if none is near.
function packetAt(x, y) {
  const { place } = painter;
  const lane = place.lanes[Math.floor(y / LANE)];
  const inQueue = y >= place.queue.top && y < place.queue.top + place.queue.height;
  if (drawn !== "packets" || (lane === undefined && !inQueue)) return undefined;
  const time = state.from + (x - place.left) / painter.scale;
  const reach = NEAR / painter.scale;
  let [best, distance] = [undefined, reach];
  for (const entry of blocksBetween(time - reach, time + reach).found) {
    const block = store.packets(entry);
    if (!block) continue;
    for (let i = lowerBound(block.time, time - reach); i < block.count && block.time[i] <= time + reach; i++) {
      const far = Math.abs(block.time[i] - time);
      const isMeant = inQueue ? state.lanes.has(block.lane[i]) : block.lane[i] === lane;
      if (far <= distance && isMeant && state.flows.has(block.flow[i])) {
        [best, distance] = [{ block, i, row: entry.first + i }, far];
      }
    }
  }
  return best;
}

// The values of a packet.
function facts({ block, i, row }) {
  const { flow, src, dst, hops } = doc.flows[block.flow[i]];
  const fate = doc.fates[block.fate[i]];
  return {
    row, time_ns: block.time[i], ingress_port: doc.lanes[block.lane[i]].name, flow, src, dst, hops,
    seq: block.seq[i], size_bytes: block.size[i], queue_bytes: block.queue[i], fate,
    reason: fate === "dropped" ? (doc.reasons[block.reason[i]] ?? null) : null,
    wait_ns: block.wait[i] === NO_WAIT ? null : block.wait[i],
  };
}

function describe(one) {
  const hops = one.hops === null ? "" : `, ${one.hops} hops`;
  const lines = [
    `flow ${one.flow}: ${one.src} to ${one.dst}${hops}`,
    `sequence number ${one.seq}, ${one.size_bytes} bytes`,
    `arrived at ${(one.time_ns / 1e9).toFixed(9)} s from ${one.ingress_port}`,
    one.reason === null ? one.fate : `${one.fate}: ${one.reason}`,
  ];
  if (one.wait_ns !== null) lines.push(`left ${(one.wait_ns / 1e3).toFixed(3)} µs later`);
  lines.push(`found ${number(one.queue_bytes)} bytes in the queue`);
  return lines.join("\n");
}

function hover(event) {
  const { x: left, y: top } = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - left, event.clientY - top];
  const found = packetAt(x, y);
  const marked = found ? found.block.flow[found.i] : null;
  if (marked !== state.marked) {
    state.marked = marked;
    repaint();
  }
  tip.hidden = !found;
  if (!found) return;
  tip.textContent = describe(facts(found));
  const room = canvas.clientWidth - tip.offsetWidth - 4;
  tip.style.left = Math.max(Math.min(x + 14, room), 0) + "px";
  tip.style.top = y + 16 + "px";
}

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  drag = { x: event.clientX, from: state.from, to: state.to };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (!drag) return hover(event);
  const by = (drag.x - event.clientX) / painter.scale;
  show(drag.from + by, drag.to + by);
});
for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (drag = null));
canvas.addEventListener("pointerleave", () => (tip.hidden = true));
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const left = canvas.getBoundingClientRect().x;
  const at = state.from + (event.clientX - left - painter.place.left) / painter.scale;
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / 1000);
  else zoom(1.0015 ** event.deltaY, at);
}, { passive: false });
canvas.addEventListener("dblclick", (event) => {
  const left = canvas.getBoundingClientRect().x;
  zoom(0.25, state.from + (event.clientX - left - painter.place.left) / painter.scale);
});
const KEYS = {
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), "+": () => zoom(0.5), "=": () => zoom(0.5),
  "-": () => zoom(2), Home: () => show(0, doc.end), f: () => show(doc.focus.from, doc.focus.to),
};
canvas.addEventListener("keydown", (event) => {
  const act = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});
element("all").onclick = KEYS.Home;
element("focus").onclick = KEYS.f;
element("in").onclick = KEYS["+"];
element("out").onclick = KEYS["-"];
element("every").onclick = () => { state.flows = new Set(doc.flows.keys()); choose(); };
element("none").onclick = () => { state.flows = new Set(); choose(); };
element("why").textContent = `${number(doc.packets)} packets. Blue band: ${doc.focus.why}.`;
list(element("ports"), "lanes", doc.lanes.map((one, i) =>
  [i, one.name, `${number(one.packets)} packets, ${number(one.dropped)} dropped`]));
const listed = [...doc.flows].sort((a, b) => b.dropped - a.dropped).slice(0, LISTED_FLOWS);
list(element("flows"), "flows", listed.sort((a, b) => a.number - b.number).map((one) =>
  [one.number, `${one.flow}: ${one.src} to ${one.dst}`, `${number(one.packets)}, ${number(one.dropped)} dropped`]));
if (doc.flows.length > LISTED_FLOWS) {
  element("flows").append(`The ${LISTED_FLOWS} flows with most drops of ${number(doc.flows.length)}.`);
}
new ResizeObserver(() => repaint()).observe(canvas);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint());
addEventListener("hashchange", recall);
recall();
if (!location.hash) KEYS.f();

// For other scripts: what is shown, and the values of the packet at a point of the canvas.
window.microscope = {
  show, state, frames: () => frames, drawn: () => drawn,
  packet: (x, y) => { const found = packetAt(x, y); return found ? facts(found) : null; },
  place: () => ({ ...painter.place, scale: painter.scale, lane: LANE }),
};
