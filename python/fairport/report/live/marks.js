// TCP's decisions as marks on the line of the window: timeouts with their cause, recoveries, ECN, undo, the end of
// slow start. If a flow is selected, they are that flow's. Otherwise they are those of all flows shown, if these are
// few enough to tell them apart.

const MARKS = {
  rto: { text: "timeout (RTO)", shape: "cross" },
  undo: { text: "undo of a reduction", shape: "up" },
  "ecn-reduction": { text: "reduction for ECN marks", shape: "square" },
  "enter-recovery": { text: "fast recovery", shape: "down" },
  "slow-start-end": { text: "end of slow start", shape: "circle" },
};
const MOST_MARKS = 1500;

class Marks {
  constructor(doc) {
    this.doc = doc;
    this.placed = []; // the marks drawn last: x and y in CSS pixels, and the index of the decision
  }

  // Indices of the decisions between two times, for the flows for which `shows` is true.
  within(from, to, shows) {
    const { time, flow } = this.doc.decisions;
    const found = [];
    for (let at = lowerBound(time, from); at < time.length && time[at] <= to; at += 1) {
      if (shows(flow[at])) found.push(at);
    }
    return found;
  }

  // Draws the marks into a uPlot panel and returns their number. `factor` converts bytes into the panel's unit.
  draw(plot, shows, factor, ink, paper) {
    const { time, what, before } = this.doc.decisions;
    const { min, max } = plot.scales.x;
    this.placed = [];
    const places = this.within(min, max, shows);
    if (places.length > MOST_MARKS) return places.length;
    const ratio = devicePixelRatio;
    const context = plot.ctx;
    context.save();
    context.beginPath();
    context.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
    context.clip();
    context.lineWidth = 1.5 * ratio;
    for (const at of places) {
      const x = plot.valToPos(time[at], "x", true);
      // a window that was larger than every sample is marked at the upper edge
      const y = Math.max(plot.valToPos(before[at] * factor, "y", true), plot.bbox.top + 5 * ratio);
      const kind = this.doc.decisions.kinds[what[at]];
      shape(context, MARKS[kind].shape, x, y, 4 * ratio, ink, paper);
      this.placed.push({ x: (x - plot.bbox.left) / ratio, y: (y - plot.bbox.top) / ratio, at });
    }
    context.restore();
    return places.length;
  }

  // The mark nearest to a point of the panel, at most `within` pixels away.
  near(x, y, within = 9) {
    let nearest = null, least = within;
    for (const one of this.placed) {
      const apart = Math.hypot(one.x - x, one.y - y);
      if (apart < least) [nearest, least] = [one.at, apart];
    }
    return nearest;
  }

  // The text about a mark.
  words(at, unit, factor) {
    const { kinds, causes, what, cause, before, after, time, flow } = this.doc.decisions;
    const why = causes[cause[at]].replace(/^rto-/, "").replaceAll("-", " ");
    return {
      flow: flow[at],
      time: time[at],
      text: `${MARKS[kinds[what[at]]].text}: ${why}`,
      value: `window ${four(before[at] * factor)} → ${four(after[at] * factor)} ${unit}`,
    };
  }
}

function shape(context, name, x, y, r, ink, paper) {
  context.strokeStyle = ink;
  context.fillStyle = paper;
  context.beginPath();
  if (name === "cross") {
    context.moveTo(x - r, y - r);
    context.lineTo(x + r, y + r);
    context.moveTo(x + r, y - r);
    context.lineTo(x - r, y + r);
  } else if (name === "circle") {
    context.arc(x, y, r * 0.9, 0, 2 * Math.PI);
  } else if (name === "square") {
    context.rect(x - r * 0.8, y - r * 0.8, r * 1.6, r * 1.6);
  } else {
    const tip = name === "down" ? r : -r;
    context.moveTo(x - r, y - tip * 0.7);
    context.lineTo(x + r, y - tip * 0.7);
    context.lineTo(x, y + tip);
    context.closePath();
  }
  if (name !== "cross") context.fill();
  context.stroke();
}

// The first index in a sorted list whose value is not below `value`.
function lowerBound(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
