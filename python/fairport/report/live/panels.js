// Panels over time: goodput, window, round-trip time, queue. uPlot draws them. They share the cursor and the span of
// time. A class of few flows has a line for each. Over a long span, a class of many is a band with its mean, and the
// selected flow is a line over it.

const LARGER = { "Mbit/s": [2000, "Gbit/s"], kB: [10000, "MB"], ms: [10000, "s"] };
const MINUTE = { kB: [0.5, "B"], ms: [0.5, "µs"] };

// The unit for values up to `most`, and the factor that converts from the base unit.
function unitFor(unit, factor, most) {
  if (LARGER[unit] && most * factor >= LARGER[unit][0]) return [LARGER[unit][1], factor / 1000];
  if (MINUTE[unit] && most * factor < MINUTE[unit][0]) return [MINUTE[unit][1], factor * 1000];
  return [unit, factor];
}

const largest = (lists) => lists.reduce((most, list) => list.reduce((a, b) => (b > a ? b : a), most), 0);

// how wide a tick's label may be, in pixels, in a view from `from` to `to`: the seconds, the decimals of a step, point and unit
const timeWidth = (from, to) => 6 + 7 * (3 + String(Math.floor(to)).length + Math.max(0, Math.ceil(-Math.log10((to - from) / 100))));

const PANELS = [
  { id: "goodput", column: "goodput_bps", title: "goodput", unit: "Mbit/s", factor: 1e-6 },
  { id: "cwnd", column: "cwnd_bytes", title: "cwnd", unit: "kB", factor: 1e-3, marks: true },
  { id: "rtt", column: "rtt_mean_s", title: "RTT", unit: "ms", factor: 1e3 },
  { id: "queue", title: "queue", unit: "kB", factor: 1e-3 },
];

// Flows of classes with more flows than this have thinner and paler lines, so that a starved flow stands out.
// A class that is alone has no other to stand out from: its lines are thin only if they are many.
const FEW = 3, FEW_ALONE = 12;

// Over at most so many steps of time, the flows of a class of at most so many are lines and not a band.
const FEW_STEPS = 100, MOST_LINES = 40;

class Panel {
  constructor(kind, place, doc) {
    Object.assign(this, { place, doc, plot: null, lines: [], marks: null });
    this.kind = kind.id === "rtt" ? { ...kind, title: doc.rtt } : kind;
    if (kind.marks) this.marks = new Marks(doc);
  }

  // Builds the panel again: for another seed, unit, port or colours.
  build() {
    this.plot?.destroy();
    [this.unit, this.factor] = this.measure();
    this.lines = this.kind.id === "queue" ? this.queueLines() : this.flowLines();
    const times = this.kind.id === "queue" ? this.queue()?.times ?? [] : this.doc.series.times;
    const scaled = this.lines.map((line) => line.values.map((one) => (one === null ? null : one * this.factor)));
    this.plot = new uPlot(this.options(), [times, ...scaled], this.place);
    this.place.setAttribute("aria-label", this.label());
  }

  measure() {
    const { kind, doc } = this;
    if (kind.id === "queue") {
      return unitFor(kind.unit, kind.factor, largest([this.queue()?.high ?? []]));
    }
    if (kind.marks && view.unit === "segments") return ["segments", 1 / doc.mss];
    const bands = (doc.series.bands[kind.column] ?? []).flatMap((one) => (one ? [one.high] : []));
    return unitFor(kind.unit, kind.factor, largest([...doc.series[kind.column], ...bands]));
  }

  queue() {
    return this.doc.queues.ports.find((one) => one.port === view.port);
  }

  queueLines() {
    const queue = this.queue();
    if (!queue) return [];
    const ink = colourOf("--ink");
    return [
      { name: "most", values: queue.high, colour: "#0000", width: 0, spoken: "most" },
      { name: "least", values: queue.low, colour: "#0000", width: 0, spoken: "least" },
      { name: "mean", values: queue.mean, colour: ink, width: 1.2, spoken: "mean" },
    ];
  }

  flowLines() {
    const { doc, kind } = this;
    const { flows: shown, bands } = doc.series;
    const lines = [], means = [];
    const few = doc.classes.length > 1 ? FEW : FEW_ALONE;
    const classOf = new Map(doc.flows.flow.map((flow, at) => [flow, doc.flows.class[at]]));
    const band = bands[kind.column] ?? [];
    const sizes = doc.classes.map((_, at) => doc.flows.class.filter((one) => one === at).length);
    // whether a class is a band, and whether it is one over short spans, too
    const bandOf = (at) => (band[at] ? (sizes[at] > MOST_LINES ? "always" : "long") : null);
    doc.classes.forEach(({ name, colour }, at) => {
      if (!band[at]) return;
      const of = { class: name, colour, width: 0, band: true, banded: bandOf(at) };
      lines.push({ ...of, name: `${name}: 95th percentile`, values: band[at].high });
      lines.push({ ...of, name: `${name}: 5th percentile`, values: band[at].low });
      means.push({ ...of, name: `${name}: mean`, values: band[at].mean, width: 2, band: false });
    });
    // no band covers a mean
    lines.push(...means);
    // small classes are drawn over large ones
    const places = shown.map((_, at) => at).sort((a, b) => sizes[classOf.get(shown[b])] - sizes[classOf.get(shown[a])] || a - b);
    places.forEach((at) => {
      const flow = shown[at];
      const { name, colour } = doc.classes[classOf.get(flow)];
      const many = sizes[classOf.get(flow)] > few;
      const banded = bandOf(classOf.get(flow));
      lines.push({ name: flowName(doc, flow), flow, class: name, colour, many, banded, values: doc.series[kind.column][at] });
    });
    return lines;
  }

  // Whether the line is visible in the present view.
  shows(line) {
    if (line.class && view.hidden.has(line.class)) return false;
    if (!line.banded || (line.flow !== undefined && line.flow === view.flow)) return true;
    const apart = line.banded === "long" && this.isShort();
    return (line.flow !== undefined) === apart;
  }

  // Whether the view has so few steps that the lines of many flows can be told apart.
  isShort() {
    return (view.to ?? this.doc.end) - (view.from ?? 0) <= FEW_STEPS * this.doc.series.step * 1.001;
  }

  widthOf(line) {
    if (line.width !== undefined) return line.width;
    if (line.flow === view.flow) return 2.2;
    return line.many ? 0.8 : 1.4;
  }

  strokeOf(line) {
    if (line.colour === "#0000") return line.colour;
    const faded = view.flow !== null && line.flow !== undefined && line.flow !== view.flow;
    const behind = line.many && line.flow !== view.flow;
    return onGround(line.colour) + (faded ? "55" : behind ? "80" : "");
  }

  options() {
    const grid = { stroke: colourOf("--grid"), width: 1 };
    const axis = { stroke: colourOf("--muted"), grid, ticks: grid, font: "12px system-ui, sans-serif" };
    const narrow = this.place.clientWidth < 500;
    const limit = this.kind.id === "queue" ? this.doc.queues.limit : null;
    return {
      width: this.place.clientWidth,
      height: narrow ? 200 : 230,
      legend: { show: false },
      cursor: {
        sync: { key: "time", scales: ["x", null] },
        drag: { x: true, y: false, setScale: true },
        points: { show: false },
      },
      scales: {
        x: { time: false, min: view.from ?? 0, max: view.to ?? this.doc.end },
        y: { range: (plot, low, high) => [0, this.top(high, limit)] },
      },
      axes: [
        { ...axis, size: 34, space: (plot, at, from, to) => Math.max(narrow ? 60 : 50, timeWidth(from, to)), values: (plot, splits) => splits.map((one) => Number(one.toPrecision(7)) + " s") },
        { ...axis, size: 56, values: (plot, splits) => splits.map((one) => one.toLocaleString("en")) },
      ],
      series: [{}, ...this.lines.map((line) => ({
        label: line.name,
        stroke: () => this.strokeOf(line),
        width: this.widthOf(line),
        show: this.shows(line),
        points: { show: false, filter: lonely, size: 4 },
        paths: this.kind.id === "queue" || line.values.length < 2 ? undefined : uPlot.paths.linear(),
      }))],
      bands: this.bands(),
      hooks: {
        draw: [(plot) => this.drawn(plot, limit)],
        setScale: [(plot, key) => key === "x" && spanChosen(plot)],
      },
    };
  }

  top(high, limit) {
    const most = Number.isFinite(high) && high > 0 ? high * 1.08 : 1;
    const held = limit ? limit.bytes * this.factor : 0;
    return held > 0 && held < most * 3 ? Math.max(most, held * 1.06) : most;
  }

  bands() {
    const found = [];
    this.lines.forEach((line, at) => {
      if (line.band && this.lines[at + 1]?.band && line.name.includes("95th")) {
        found.push({ series: [at + 1, at + 2], fill: onGround(line.colour) + "40" });
      }
    });
    if (this.kind.id === "queue" && this.lines.length) {
      found.push({ series: [1, 2], fill: colourOf("--muted") + "55" });
    }
    return found;
  }

  // Draws over the lines: the buffer's limit, and the marks of decisions.
  drawn(plot, limit) {
    const ratio = devicePixelRatio;
    if (limit) {
      const y = plot.valToPos(limit.bytes * this.factor, "y", true);
      if (y >= plot.bbox.top) {
        plot.ctx.save();
        plot.ctx.strokeStyle = colourOf("--alarm");
        plot.ctx.lineWidth = ratio;
        plot.ctx.setLineDash([6 * ratio, 4 * ratio]);
        plot.ctx.beginPath();
        plot.ctx.moveTo(plot.bbox.left, y);
        plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
        plot.ctx.stroke();
        plot.ctx.restore();
      }
    }
    if (!this.marks) return;
    const shows = flowsShown(this.doc);
    const count = this.marks.draw(plot, shows, this.factor, colourOf("--ink"), colourOf("--card"));
    byId("marks-said").textContent = marksSaid(this.doc, count);
  }

  // Shows and hides lines as the view says, without building the panel again.
  refresh() {
    this.wasShort = this.isShort();
    this.plot.batch(() => {
      this.lines.forEach((line, at) => {
        const series = this.plot.series[at + 1];
        series.width = this.widthOf(line);
        if (series.show !== this.shows(line)) this.plot.setSeries(at + 1, { show: this.shows(line) });
      });
    });
    this.plot.redraw(true);
  }

  label() {
    const shown = this.lines.filter((line) => this.shows(line)).length;
    return `${this.kind.title} in ${this.unit} over time, ${shown} lines. Left and right read values, plus and minus zoom, Home shows the whole run.`;
  }

  // The value nearest to a point of the panel: its line and its index in time.
  near(left, top) {
    const at = this.plot.posToIdx(left);
    let nearest = null, least = Infinity;
    this.lines.forEach((line, number) => {
      if (!this.shows(line)) return;
      const value = this.plot.data[number + 1][at];
      if (value === null || value === undefined) return;
      const apart = Math.abs(this.plot.valToPos(value, "y") - top);
      if (apart < least) [nearest, least] = [{ line, value, at, time: this.plot.data[0][at] }, apart];
    });
    return nearest;
  }
}

// A value whose two neighbours are unknown is drawn as a point, because it has no line.
function lonely(plot, series, show, gaps) {
  if (show) return null;
  const values = plot.data[series];
  const found = [];
  for (let at = 0; at < values.length; at += 1) {
    if (values[at] != null && values[at - 1] == null && values[at + 1] == null) found.push(at);
  }
  return found;
}

const flowName = (doc, flow) => {
  const at = doc.flows.flow.indexOf(flow);
  return `flow ${flow}, ${doc.flows.src[at]} to ${doc.flows.dst[at]}`;
};

// Whether a flow's decisions are marked: it is the selected one, or it has a line and its class is visible.
// Beside endless flows, transfers have no line.
function flowsShown(doc) {
  if (view.flow !== null) return (flow) => flow === view.flow;
  const classOf = new Map(doc.flows.flow.map((flow, at) => [flow, doc.classes[doc.flows.class[at]].name]));
  const lines = new Set(doc.series.flows);
  return (flow) => lines.has(flow) && !view.hidden.has(classOf.get(flow));
}

function marksSaid(doc, count) {
  const { kinds, left_out: left } = doc.decisions;
  const others = Object.entries(left).map(([kind, many]) => `${many.toLocaleString("en")} times ${MARKS[kind].text}`);
  const more = others.length ? ` Not on this page: ${others.join(", ")}.` : "";
  if (!kinds.length) return `No decisions of TCP were recorded.${more}`;
  if (!count) return `There are none in this span.${more}`;
  if (count <= MOST_MARKS) return `${count.toLocaleString("en")} decisions are marked.${more}`;
  return `${count.toLocaleString("en")} decisions in this span: zoom in, or choose one flow, to see them.${more}`;
}

// The user chose a span in one panel: all panels show it.
let following = false;
function spanChosen(plot) {
  if (following || plot.scales.x.min === null) return;
  const { min, max } = plot.scales.x;
  const end = panels[0].doc.end;
  if (Math.abs(min - (view.from ?? 0)) < 1e-12 && Math.abs(max - (view.to ?? end)) < 1e-12) return;
  queueMicrotask(() => show(min, max));
}

// Shows a span of time in all panels; without a span, the whole run.
function show(from, to) {
  const end = panels[0].doc.end;
  const wide = Math.min(Math.max(to - from, end * 1e-6), end);
  from = Math.min(Math.max((from + to - wide) / 2, 0), end - wide);
  const whole = wide >= end * 0.9999;
  view.set({ from: whole ? null : from, to: whole ? null : from + wide });
}

function zoom(factor, at) {
  const end = panels[0].doc.end;
  const [from, to] = [view.from ?? 0, view.to ?? end];
  const middle = at ?? (from + to) / 2;
  show(middle - (middle - from) * factor, middle + (to - middle) * factor);
}

function moveBy(share) {
  const [from, to] = [view.from ?? 0, view.to ?? panels[0].doc.end];
  show(from + (to - from) * share, to + (to - from) * share);
}

function followSpan() {
  following = true;
  for (const panel of panels) {
    panel.plot.setScale("x", { min: view.from ?? 0, max: view.to ?? panel.doc.end });
    if (panel.isShort() !== panel.wasShort) panel.refresh();
  }
  following = false;
  const [from, to] = [view.from ?? 0, view.to ?? panels[0].doc.end];
  const digits = to - from < 0.01 ? 6 : 3;
  byId("span").textContent = `${from.toFixed(digits)} s to ${to.toFixed(digits)} s`;
}
