// Connects the parts of the page: unpacks a seed, builds its panels and tables, and updates them when a button is
// pressed or the view changes. Tests and the browser's console use `report`.

let panels = [];
const current = {}; // the panels by their ids
let doc = null;
let flowsTable = null;

function select(id, values, chosen, onChange) {
  const box = byId(id);
  if (!box) return;
  box.replaceChildren(...values.map((one) => make("option", { value: one, textContent: one })));
  box.value = chosen;
  box.onchange = () => onChange(box.value);
}

function legend() {
  const buttons = doc.classes.map(({ name, colour }) => {
    const many = doc.flows.class.filter((at) => doc.classes[at].name === name).length;
    const button = make("button", { type: "button", className: "class" }, swatch(colour), `${name} (${many.toLocaleString("en")} ${many === 1 ? "flow" : "flows"})`);
    button.ariaPressed = String(!view.hidden.has(name));
    button.addEventListener("click", () => {
      const hidden = new Set(view.hidden);
      if (hidden.has(name)) hidden.delete(name);
      else hidden.add(name);
      if (hidden.size < doc.classes.length) view.set({ hidden });
    });
    return button;
  });
  byId("legend").replaceChildren(...buttons);
}

// Hides static figures that were drawn from another seed, and the lines of hidden classes in the others.
function staticFigures() {
  for (const figure of document.querySelectorAll("figure[data-of]")) {
    figure.classList.toggle("of-another", Number(figure.dataset.of) !== doc.seed);
  }
  const numbers = new Map(doc.classes.map(({ name }) => [name, name.replace(/\W/g, "")]));
  for (const [name, id] of numbers) {
    for (const part of document.querySelectorAll(`figure [id*="-class-${id}-"]`)) {
      part.classList.toggle("off", view.hidden.has(name));
    }
  }
}

// Fills in the sentences and the tables about the chosen seed.
function words() {
  const { tables } = doc;
  byId("verdict-said").textContent = tables.verdict;
  byId("verdict-said").className = tables.outcast ? "verdict outcast" : "verdict";
  byId("keys").replaceChildren(...tables.keys.map(([name, value, note]) =>
    make("div", {}, make("dt", { textContent: name }), make("dd", {}, value, make("small", { textContent: note })))));
  for (const id of ["classes", "traffic", "completion", "ingress"]) fillRows(id, tables[id]);
  for (const one of document.querySelectorAll(".seed-said")) one.textContent = doc.seed;
}

function build() {
  for (const panel of panels) panel.plot?.destroy();
  panels = [];
  for (const kind of PANELS) {
    const place = byId(`${kind.id}-panel`);
    const known = kind.id === "queue" ? doc.queues.ports.length : doc.series[kind.column].some((one) => one.some((value) => value !== null));
    byId(`${kind.id}-live`).hidden = !known;
    if (!known) continue;
    place.replaceChildren();
    const panel = new Panel(kind, place, doc);
    panels.push(panel);
    current[kind.id] = panel;
    panel.build();
  }
  for (const id of ["unit", "cwnd-marks"]) byId(id).hidden = byId("cwnd-live").hidden;
  axisNames();
}

function axisNames() {
  const limit = doc.queues.limit;
  byId("queue-said").textContent = `line: mean, band: least to most${limit ? `, dashed: limit of ${limit.text}` : ""}`;
  for (const panel of panels) byId(`${panel.kind.id}-unit`).textContent = panel.unit;
}

async function chooseSeed(seed) {
  doc = await unpack(seed);
  first.port = doc.queues.ports[0]?.port ?? null;
  first.blackout = doc.blackouts?.shown ?? null;
  const port = doc.queues.ports.some((one) => one.port === view.port) ? view.port : first.port;
  const names = doc.blackouts?.list.map((one) => one.ingress) ?? [];
  const blackout = names.includes(view.blackout) ? view.blackout : first.blackout;
  view.set({ seed, port, blackout });
}

function draw() {
  words();
  legend();
  build();
  select("port", doc.queues.ports.map((one) => one.port), view.port, (port) => view.set({ port }));
  select("blackout-port", doc.blackouts?.list.map((one) => one.ingress) ?? [], view.blackout, (blackout) => view.set({ blackout }));
  select("seed", seeds, view.seed, (seed) => chooseSeed(Number(seed)));
  flowsTable = flowTable(doc);
  eventTables(doc);
  refresh();
}

function refresh() {
  for (const panel of panels) panel.refresh();
  followSpan();
  flowsTable.refresh();
  drawBlackout(doc);
  staticFigures();
  for (const row of document.querySelectorAll("tr[data-class]")) row.hidden = view.hidden.has(row.dataset.class);
  for (const [at, button] of [...byId("legend").children].entries()) {
    button.ariaPressed = String(!view.hidden.has(doc.classes[at].name));
  }
  byId("looked-at").textContent = view.flow === null ? "all flows" : flowName(doc, view.flow);
  byId("all-flows").hidden = view.flow === null;
  byId("unit").textContent = view.unit === "bytes" ? "Windows in segments" : "Windows in bytes";
}

function changed(changes) {
  if ("seed" in changes) draw();
  else if ("from" in changes && Object.keys(changes).length === 2) followSpan();
  else if ("unit" in changes || "port" in changes) {
    for (const panel of panels) panel.build();
    axisNames();
    refresh();
  } else refresh();
}

function wire() {
  const acts = {
    whole: () => show(0, doc.end), in: () => zoom(0.5), out: () => zoom(2),
    left: () => moveBy(-0.25), right: () => moveBy(0.25),
    unit: () => view.set({ unit: view.unit === "bytes" ? "segments" : "bytes" }),
    "all-flows": () => view.set({ flow: null }),
  };
  for (const [id, act] of Object.entries(acts)) byId(id).addEventListener("click", act);
  for (const table of document.querySelectorAll("table.sortable")) sortable(table);
  for (const button of document.querySelectorAll("button[data-choose-seed]")) {
    button.addEventListener("click", () => chooseSeed(Number(button.dataset.chooseSeed)));
  }
  for (const { id } of PANELS) watch(id);
  let wide = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === wide) return;
    wide = innerWidth;
    for (const panel of panels) panel.build();
    refresh();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const panel of panels) panel.build();
    refresh();
  });
  addEventListener("hashchange", () => open());
}

async function open() {
  const asked = Number(new URLSearchParams(location.hash.slice(1)).get("seed"));
  const seed = seeds.includes(asked) ? asked : Number(document.body.dataset.seed);
  doc = await unpack(seed);
  first.port = doc.queues.ports[0]?.port ?? null;
  first.blackout = doc.blackouts?.shown ?? null;
  view.set({ ...recall(doc), seed });
}

view.on(changed);
document.documentElement.classList.add("live");
wire();
open().then(() => {
  performance.mark("report-ready");
  window.report = { view, show, chooseSeed, panel: (id) => current[id], doc: () => doc, ready: true };
});
