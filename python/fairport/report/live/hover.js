// Shows what is under the pointer, or under the cursor that keys move: host, flow, value, time, seed.

const tip = byId("tip");

// Listens to the pointer and the keys over a panel's place, whichever panel is drawn there.
function watch(id) {
  const place = byId(`${id}-panel`);
  const within = (event) => {
    const over = current[id].plot.over.getBoundingClientRect();
    return [event.clientX - over.left, event.clientY - over.top];
  };
  place.addEventListener("mousemove", (event) => point(current[id], ...within(event)));
  place.addEventListener("mouseleave", () => (tip.hidden = true));
  place.addEventListener("blur", () => (tip.hidden = true));
  let pressed = 0;
  place.addEventListener("mousedown", (event) => (pressed = event.clientX));
  place.addEventListener("click", (event) => {
    if (Math.abs(event.clientX - pressed) > 3) return; // the user dragged, to choose a span
    const flow = current[id].near(...within(event))?.line.flow;
    if (flow !== undefined) view.set({ flow: flow === view.flow ? null : flow });
  });
  place.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return; // the wheel alone scrolls the page
    event.preventDefault();
    const time = current[id].plot.posToVal(within(event)[0], "x");
    zoom(event.deltaY + event.deltaX > 0 ? 1.25 : 0.8, time);
  }, { passive: false });
  place.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act(current[id], event.shiftKey);
  });
}

const KEYS = {
  ArrowLeft: (panel, far) => step(panel, far ? -10 : -1),
  ArrowRight: (panel, far) => step(panel, far ? 10 : 1),
  ArrowUp: (panel) => nextLine(panel, 1),
  ArrowDown: (panel) => nextLine(panel, -1),
  "+": (panel) => zoom(0.5, timeAt(panel)),
  "-": (panel) => zoom(2, timeAt(panel)),
  Home: () => show(0, panels[0].doc.end),
  Escape: () => (tip.hidden = true),
};

const timeAt = (panel) => (panel.at === undefined ? undefined : panel.plot.data[0][panel.at]);

// Moves the cursor by steps of time and reads the value there.
function step(panel, by) {
  const times = panel.plot.data[0];
  const { min, max } = panel.plot.scales.x;
  const [low, high] = [lowerBound(times, min), Math.max(lowerBound(times, max) - 1, 0)];
  panel.at = Math.min(Math.max((panel.at ?? low - by) + by, low), high);
  readOut(panel);
}

// Moves the cursor to another line at the same time, and reads the value there.
function nextLine(panel, by) {
  const shown = panel.lines.filter((line) => panel.shows(line) && !line.band);
  const now = shown.indexOf(panel.line);
  panel.line = shown[(now + by + shown.length) % shown.length];
  step(panel, 0);
}

function readOut(panel) {
  if (!panel.line || !panel.shows(panel.line)) panel.line = panel.lines.find((line) => panel.shows(line) && !line.band);
  if (!panel.line) return;
  const value = panel.plot.data[panel.lines.indexOf(panel.line) + 1][panel.at];
  const time = panel.plot.data[0][panel.at];
  const left = panel.plot.valToPos(time, "x");
  const top = value == null ? 20 : panel.plot.valToPos(value, "y");
  panel.plot.setCursor({ left, top });
  const lines = said(panel, { line: panel.line, value, time });
  say(panel, left, top, lines);
  byId("said").textContent = lines.join(", ");
}

function point(panel, left, top) {
  if (left < 0 || left > panel.plot.over.clientWidth) {
    tip.hidden = true;
    return;
  }
  const mark = panel.marks?.near(left, top);
  if (mark !== null && mark !== undefined) {
    const { flow, time, text, value } = panel.marks.words(mark, panel.unit, panel.factor);
    say(panel, left, top, [flowName(panel.doc, flow), text, value, `at ${time.toFixed(6)} s, seed ${panel.doc.seed}`]);
    return;
  }
  const found = panel.near(left, top);
  if (found) say(panel, left, top, said(panel, found));
  else tip.hidden = true;
}

function said(panel, { line, value, time }) {
  const { kind, doc, unit } = panel;
  if (kind.id === "queue") {
    const at = panel.plot.data[0].indexOf(time);
    const part = (number) => four(panel.plot.data[number][at]);
    return [`${view.port}: ${part(3)} ${unit}`, `least ${part(2)}, most ${part(1)} ${unit}`, `at ${four(time)} s, seed ${doc.seed}`];
  }
  const amount = value == null ? `no ${kind.title}` : `${kind.title} ${four(value)} ${unit}`;
  const [host, ...rest] = line.flow === undefined ? [line.name] : [line.name, line.class];
  return [host, ...rest, amount, `at ${four(time)} s, seed ${doc.seed}`];
}

// Shows lines of text beside a point of a panel, within the window.
function say(panel, left, top, lines) {
  tip.replaceChildren(...lines.map((line, at) => make(at ? "span" : "b", { textContent: line })));
  tip.hidden = false;
  const over = panel.plot.over.getBoundingClientRect();
  const [x, y] = [over.left + left, over.top + top];
  const right = x + 16 + tip.offsetWidth < innerWidth;
  tip.style.left = `${Math.max(right ? x + 14 : x - 14 - tip.offsetWidth, 4)}px`;
  tip.style.top = `${Math.max(Math.min(y + 12, innerHeight - tip.offsetHeight - 4), 4)}px`;
}
