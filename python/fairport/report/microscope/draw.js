// Draws one view: lanes of packets, the queue, the windows, the axis. All positions are in CSS pixels.

const LEFT = 64;
const RIGHT = 10;
const LANE = 40;
const QUEUE = 110;
const WINDOWS = 130;
const GAP = 16;
const AXIS = 26;
// With more packets than this in the view, counts per bin are drawn instead of packets.
const MOST_PACKETS = 80000;
// With more values per pixel than this, a line becomes a band from the least to the greatest value.
const DENSE = 3;
const FATE_COLOURS = ["forwarded", "marked", "dropped", "forwarded"];
const DROPPED = 2;

// The page's colours, which are different on a dark background.
function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "muted", "grid", "card", "band", "forwarded", "marked", "dropped"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
}

// The positions of the panels.
function layout(width, state) {
  const lanes = doc.lanes.map((_, i) => i).filter((lane) => state.lanes.has(lane));
  const queue = { top: lanes.length * LANE + GAP, height: QUEUE };
  const windows = { top: queue.top + queue.height + GAP, height: doc.windows.length ? WINDOWS : 0 };
  const axis = windows.top + windows.height + (windows.height ? 4 : -GAP + 4);
  return { width, left: LEFT, right: width - RIGHT, lanes, queue, windows, axis, height: axis + AXIS };
}

class Painter {
  constructor(canvas, store) {
    this.canvas = canvas;
    this.store = store;
    this.context = canvas.getContext("2d");
  }

  // Draws a view. Returns what was drawn: `packets`, `bins`, or `wait` while a block is being unpacked.
  draw(state) {
    const { canvas, context: c } = this;
    const width = canvas.clientWidth;
    const place = layout(width, state);
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = place.height + "px";
    const [w, h] = [Math.round(width * ratio), Math.round(place.height * ratio)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.place = place;
    this.state = state;
    this.colours = colours();
    this.scale = (place.right - place.left) / (state.to - state.from);
    c.clearRect(0, 0, width, place.height);
    c.font = "12px system-ui, sans-serif";
    this.background();
    c.save();
    c.beginPath();
    c.rect(place.left, 0, place.right - place.left, place.height);
    c.clip();
    const drawn = this.packetsOrBins();
    this.windows();
    c.restore();
    this.labels();
    return drawn;
  }

  x(time) {
    return this.place.left + (time - this.state.from) * this.scale;
  }

  // The whole pixels that a span of time touches. Fractions of pixels would give stripes.
  pixels(from, length) {
    const left = Math.floor(this.x(from));
    return [left, Math.max(Math.ceil(this.x(from + length)) - left, 1)];
  }

  background() {
    const { context: c, place, state } = this;
    if (doc.focus.dark) {
      const [from, to] = doc.focus.dark.map((time) => this.x(time));
      c.fillStyle = this.colours.band;
      const left = Math.max(from, place.left);
      const right = Math.min(Math.max(to, from + 1), place.right);
      if (right > left) c.fillRect(left, 0, right - left, place.axis);
    }
    c.strokeStyle = this.colours.grid;
    c.fillStyle = this.colours.muted;
    c.textAlign = "center";
    c.beginPath();
    for (const [time, text] of ticks(state.from, state.to, (place.right - place.left) / 110)) {
      const x = Math.round(this.x(time)) + 0.5;
      c.moveTo(x, 0);
      c.lineTo(x, place.axis);
      const half = c.measureText(text).width / 2;
      if (x + half <= place.width) c.fillText(text, Math.max(x, half), place.axis + 16);
    }
    c.stroke();
  }

  // Draws single packets if they are few enough and their blocks are unpacked, otherwise bins.
  packetsOrBins() {
    const { from, to } = this.state;
    const { found, packets } = blocksBetween(from, to);
    if (packets <= MOST_PACKETS) {
      const blocks = found.map((entry) => this.store.packets(entry));
      if (blocks.every(Boolean)) {
        this.packets(blocks);
        return "packets";
      }
    }
    const drawn = this.bins();
    return packets <= MOST_PACKETS ? "wait" : drawn;
  }

  packets(blocks) {
    const { context: c, place, state } = this;
    const row = new Map(place.lanes.map((lane, i) => [lane, i * LANE]));
    const shown = blocks.map((one) => [
      Math.max(lowerBound(one.time, state.from) - 1, 0), lowerBound(one.time, state.to)]);
    const count = shown.reduce((sum, [low, high]) => sum + high - low, 0);
    const wide = Math.max(1, Math.min(5, (0.5 * (place.right - place.left)) / Math.max(count, 1)));
    // Dropped packets are drawn last, so that no other packet covers them.
    for (const fate of [0, 3, 1, 2]) {
      c.fillStyle = c.strokeStyle = this.colours[FATE_COLOURS[fate]];
      const last = new Map();
      c.beginPath();
      blocks.forEach((one, b) => {
        for (let i = shown[b][0]; i < shown[b][1]; i++) {
          if (one.fate[i] !== fate || !state.flows.has(one.flow[i])) continue;
          const top = row.get(one.lane[i]);
          if (top === undefined) continue;
          const x = this.x(one.time[i]);
          if (wide === 1 && last.get(top) === (x | 0)) continue;
          last.set(top, x | 0);
          if (fate === DROPPED && wide >= 2.5) {
            c.moveTo(x - 4, top + 20);
            c.lineTo(x + 4, top + 36);
            c.moveTo(x + 4, top + 20);
            c.lineTo(x - 4, top + 36);
          } else {
            const tall = fate === DROPPED ? 20 : 14;
            c.fillRect(x - wide / 2, top + 28 - tall / 2, wide, tall);
          }
        }
      });
      c.lineWidth = 2;
      c.stroke();
    }
    this.queueOfPackets(blocks, shown);
  }

  // The queue as a line through the lengths that the packets found.
  queueOfPackets(blocks, shown) {
    const { context: c } = this;
    let top = 1;
    blocks.forEach((one, b) => {
      for (let i = shown[b][0]; i < shown[b][1]; i++) top = Math.max(top, one.queue[i]);
    });
    const line = new Line(this);
    blocks.forEach((one, b) => line.add(one.time, one.queue, ...shown[b]));
    c.strokeStyle = c.fillStyle = this.colours.ink;
    c.lineWidth = 1;
    line.draw(this.queueScale(top), false);
  }

  queueScale(top) {
    const { top: y0, height } = this.place.queue;
    this.queueTop = top;
    return (bytes) => y0 + height - (bytes / (1.1 * top)) * height;
  }

  bins() {
    const { context: c, place, state } = this;
    const pixels = place.right - place.left;
    // The coarsest level with at least one bin per two pixels.
    let number = doc.levels.length - 1;
    const visible = (level) => (level.bins * (state.to - state.from)) / doc.end;
    while (number > 0 && visible(doc.levels[number]) < pixels / 2) number--;
    let level = this.store.level(number);
    let drawn = "bins";
    for (let other = doc.levels.length - 1; !level && other >= 0; other--) {
      drawn = "wait";
      if (other !== number) level = this.store.level(other);
    }
    if (!level) return "wait";
    const { bins, counts: all, least, most } = level;
    const length = doc.end / bins;
    const first = Math.max(Math.floor(state.from / length), 0);
    const last = Math.min(Math.ceil(state.to / length), bins);
    const groups = doc.groups.map((group, g) => [group, g]).filter(([group]) =>
      group.flow === null ? state.others : state.flows.has(group.flow));
    place.lanes.forEach((lane, i) => {
      const mine = groups.filter(([group]) => group.lane === lane).map(([, g]) => g);
      const sum = [0, 1, 2].map(() => new Float64Array(Math.max(last - first, 0)));
      let highest = 1;
      for (let b = first; b < last; b++) {
        let total = 0;
        for (let fate = 0; fate < 3; fate++) {
          for (const g of mine) sum[fate][b - first] += all[(3 * g + fate) * bins + b];
          total += sum[fate][b - first];
        }
        highest = Math.max(highest, total);
      }
      const bottom = i * LANE + LANE - 2;
      for (let b = first; b < last; b++) {
        let y = bottom;
        const [x, wide] = this.pixels(b * length, length);
        for (const fate of [0, 1, 2]) {
          const n = sum[fate][b - first];
          if (!n) continue;
          const tall = Math.max((n / highest) * (LANE - 18), fate === DROPPED ? 2 : 0.5);
          c.fillStyle = this.colours[FATE_COLOURS[fate]];
          c.fillRect(x, y - tall, wide, tall);
          y -= tall;
        }
      }
    });
    let top = 1;
    for (let b = first; b < last; b++) top = Math.max(top, most[b]);
    const y = this.queueScale(top);
    c.fillStyle = this.colours.muted;
    for (let b = first; b < last; b++) {
      if (least[b] === NO_WAIT) continue;
      const high = y(most[b]);
      const [x, wide] = this.pixels(b * length, length);
      c.fillRect(x, high, wide, Math.max(y(least[b]) - high, 1));
    }
    this.drawnLevel = { level, groups };
    return drawn;
  }

  windows() {
    const { context: c, place, state } = this;
    if (!place.windows.height) return;
    const shown = doc.windows.filter((one) => state.flows.has(one.number));
    const ranges = shown.map(({ time }) =>
      [Math.max(lowerBound(time, state.from) - 1, 0), lowerBound(time, state.to)]);
    let top = 1;
    shown.forEach(({ bytes }, k) => {
      for (let i = ranges[k][0]; i < ranges[k][1]; i++) top = Math.max(top, bytes[i]);
    });
    this.windowTop = top;
    const { top: y0, height } = place.windows;
    const y = (bytes) => y0 + height - (bytes / (1.1 * top)) * height;
    const marked = state.marked ?? doc.focus.flow;
    const [thick, thin] = [new Line(this), new Line(this)];
    shown.forEach(({ number, time, bytes }, k) => {
      (number === marked ? thick : thin).add(time, bytes, ...ranges[k]);
    });
    for (const [line, colour, wide] of [[thin, "muted", 0.7], [thick, "ink", 2.5]]) {
      c.strokeStyle = c.fillStyle = this.colours[colour];
      c.lineWidth = wide;
      line.draw(y, true);
    }
  }

  labels() {
    const { context: c, place } = this;
    c.fillStyle = this.colours.ink;
    c.textAlign = "left";
    place.lanes.forEach((lane, i) => {
      const { name, packets, dropped } = doc.lanes[lane];
      const text = `from ${name}: ${number(dropped)} of ${number(packets)} dropped`;
      c.fillText(text, place.left + 4, i * LANE + 13);
    });
    const axis = ({ top, height }, title, most) => {
      c.textAlign = "left";
      c.fillText(title, 4, top + 10);
      c.textAlign = "right";
      c.fillText(kilobytes(1.1 * most), place.left - 5, top + 24);
      c.fillText("0", place.left - 5, top + height);
      c.strokeStyle = this.colours.muted;
      c.lineWidth = 1;
      c.strokeRect(place.left + 0.5, top + 0.5, place.right - place.left - 1, height);
    };
    axis(place.queue, "queue", this.queueTop ?? 1);
    if (!place.windows.height) return;
    axis(place.windows, doc.windowsName, this.windowTop ?? 1);
    const marked = doc.flows[this.state.marked ?? doc.focus.flow];
    if (!marked) return;
    c.textAlign = "left";
    const text = `thick: flow ${marked.flow}, ${marked.src} to ${marked.dst}`;
    c.fillText(text, place.left + 4, place.windows.top - 3);
  }
}

// Step lines in one colour. If they are dense, they become one band.
class Line {
  constructor(painter) {
    this.painter = painter;
    this.parts = [];
    this.count = 0;
  }

  // Adds the values with indices from `low` to below `high`.
  add(time, values, low, high) {
    this.parts.push([time, values, low, high]);
    this.count += high - low;
  }

  // With `separate`, each part is its own line, which continues to the right edge.
  draw(y, separate) {
    const { context: c, place } = this.painter;
    const lines = separate ? this.parts.length : 1;
    if (this.count > DENSE * lines * (place.right - place.left)) return this.band(y);
    let level = null;
    c.beginPath();
    for (const [time, values, low, high] of this.parts) {
      if (separate) level = null;
      for (let i = low; i < high; i++) {
        const x = this.painter.x(time[i]);
        if (level === null) c.moveTo(x, y(values[i]));
        else c.lineTo(x, level);
        level = y(values[i]);
        c.lineTo(x, level);
      }
      if (separate && level !== null) c.lineTo(place.right, level);
    }
    c.stroke();
  }

  band(y) {
    const { context: c, place } = this.painter;
    const pixels = Math.ceil(place.right - place.left) + 1;
    const least = new Float64Array(pixels).fill(Infinity);
    const most = new Float64Array(pixels).fill(-Infinity);
    for (const [time, values, low, high] of this.parts) {
      for (let i = low; i < high; i++) {
        const x = Math.floor(this.painter.x(time[i]) - place.left);
        if (x < 0 || x >= pixels) continue;
        if (values[i] < least[x]) least[x] = values[i];
        if (values[i] > most[x]) most[x] = values[i];
      }
    }
    for (let x = 0; x < pixels; x++) {
      if (most[x] < least[x]) continue;
      const top = y(most[x]);
      c.fillRect(Math.floor(place.left) + x, top, 1, Math.max(y(least[x]) - top, 1));
    }
  }
}

// Times for the axis with their texts, at most `most`.
function ticks(from, to, most) {
  const rough = (to - from) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((one) => one >= rough);
  const digits = Math.min(Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9)), 9);
  const found = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    found.push([time, (time / 1e9).toFixed(digits) + " s"]);
  }
  return found;
}

function number(value) {
  return value.toLocaleString("en");
}

function kilobytes(bytes) {
  return bytes >= 99500 ? (bytes / 1e3).toFixed(0) + " kB" : (bytes / 1e3).toFixed(1) + " kB";
}
