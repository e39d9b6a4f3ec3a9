// A blackout, packet by packet: one lane per ingress port, how long accepted packets waited, and a table of the
// packets. The reader can choose the ingress port whose blackout is shown.

const LANE = 40, WAITS = 80, LEFT = 8, FOOT = 34;

function drawBlackout(doc) {
  const place = byId("blackout-view");
  if (!place) return;
  const one = doc.blackouts?.list.find((each) => each.ingress === view.blackout);
  byId("blackout-live").hidden = !one;
  if (!one) return;
  const { us, out_us: out, dropped, ingress, flow, seq } = one.packets;
  const ports = [...new Set(ingress)].sort();
  const wide = Math.max(place.clientWidth, 300);
  const tall = LANE * ports.length + WAITS + FOOT;
  const last = us[us.length - 1] || 1;
  const middleOf = (lane) => LANE * lane + 27;
  const x = (time) => LEFT + (time / last) * (wide - LEFT - 14);
  const waits = us.map((time, at) => (out[at] === null ? null : out[at] - time));
  const most = Math.max(...waits, 1);
  const base = LANE * ports.length + WAITS;
  const y = (wait) => base - (wait / most) * (WAITS - 30);
  const parts = [];
  ports.forEach((port, lane) => {
    const middle = middleOf(lane);
    const lost = us.filter((_, at) => ingress[at] === port && dropped[at]).length;
    const all = us.filter((_, at) => ingress[at] === port).length;
    parts.push(svg("line", { x1: LEFT, x2: wide, y1: middle, y2: middle, class: "lane" }));
    const name = svg("text", { x: LEFT, y: middle - 13 }, svg("tspan", { class: "port" }, port));
    name.append(svg("tspan", { class: "small" }, ` ${lost} of ${all} lost`));
    parts.push(name);
  });
  us.forEach((time, at) => {
    const lane = ports.indexOf(ingress[at]);
    const middle = middleOf(lane);
    const colour = doc.blackouts.colours[ingress[at]];
    const words = `${dropped[at] ? "dropped" : "accepted"}: ${flowName(doc, flow[at])}, sequence ${seq[at]}, ${time.toFixed(3)} µs`
      + (waits[at] === null ? "" : `, waited ${waits[at].toFixed(1)} µs`) + `, seed ${doc.seed}`;
    const mark = dropped[at]
      ? svg("path", { d: cross(x(time), middle, 5), class: "lost" })
      : svg("path", { d: `M${x(time).toFixed(1)} ${middle - 7}v14`, stroke: ink(colour), "stroke-width": 2 });
    mark.append(svg("title", {}, words));
    parts.push(mark);
    if (waits[at] !== null) {
      parts.push(svg("circle", { cx: x(time).toFixed(1), cy: y(waits[at]).toFixed(1), r: 2, fill: ink(colour) }));
    }
  });
  parts.push(svg("text", { x: LEFT, y: base - WAITS + 16, class: "small" }, `wait of the accepted, up to ${four(most)} µs`));
  parts.push(svg("line", { x1: LEFT, x2: wide - 14, y1: base, y2: base, class: "axis" }));
  for (const tick of ticks(last, wide < 500 ? 3 : 5)) {
    parts.push(svg("line", { x1: x(tick), x2: x(tick), y1: base, y2: base + 4, class: "axis" }));
    parts.push(svg("text", { x: x(tick), y: base + 16, "text-anchor": tick ? "middle" : "start", class: "small" }, `${four(tick)} µs`));
  }
  const lost = dropped.filter(Boolean).length;
  const drawing = svg("svg", {
    viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "img",
    "aria-label": `Blackout of ${one.ingress}: ${us.length} packets from ${ports.length} ingress ports, ${lost} dropped. The table below has each of them.`,
  }, ...parts);
  place.replaceChildren(drawing);
  const why = one.ingress === doc.blackouts.shown ? ` It is shown first because ${doc.blackouts.why}.` : "";
  const part = one.part && ` These are ${one.part} at the port.`;
  byId("blackout-said").textContent = `The longest recorded blackout of ${one.ingress} at ${doc.blackouts.port}, from ${one.from.toFixed(6)} s.${why}${part} Crosses are dropped, bars are accepted.`;
  byId("blackout-of").textContent = one.ingress;
  document.querySelector("#trace-rows").replaceChildren(...us.map((time, at) => {
    const cells = [ingress[at], time.toFixed(3), dropped[at] ? "dropped" : "forwarded",
      dropped[at] ? "–" : doc.blackouts.port, out[at] === null ? "–" : out[at].toFixed(3), flow[at]];
    const row = make("tr", {}, ...cells.map((cell) => make("td", { textContent: cell })));
    row.className = dropped[at] ? "dropped" : "forwarded";
    return row;
  }));
}

// Round times from 0 to `last`, at most `most` of them, in steps of 1, 2 or 5 times a power of ten. The last one is
// far enough from the end that its number is not cut off.
function ticks(last, most) {
  const power = 10 ** Math.floor(Math.log10(last / most));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one * most >= last);
  const found = [];
  for (let at = 0; at * step <= last * 0.97; at += 1) found.push(at * step);
  return found;
}

// Grey and blue are replaced by the page's own, which are lighter on a dark background.
const ink = (colour) => ({ "#5d6b78": "var(--muted)", "#0072b2": "var(--blue)" })[colour] || colour;
const cross = (x, y, r) => `M${(x - r).toFixed(1)} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
