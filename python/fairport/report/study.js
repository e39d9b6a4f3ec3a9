// The map of a study: choices above it, one panel per value of the remaining axes, and the chosen point with all its
// seeds. The page's address stores the choices.
"use strict";
(() => {
  const MOST_PANELS = 24;
  const [WIDE, BELOW] = [400, 34];
  const ALL = -1;
  let doc = null;
  const view = { number: 0, best: ALL, x: 0, y: ALL, fixed: [], point: null };

  const number = () => doc.numbers[view.number];
  const isAxis = (axis) => axis !== ALL;
  // --- choices ------------------------------------------------------------------------------

  const free = () => doc.axes.map((_, axis) => axis).filter((axis) => ![view.x, view.y, view.best].includes(axis));

  // The remaining axes become panels side by side, unless there would be too many panels.
  function spread() {
    let panels = 1;
    view.fixed = doc.axes.map(() => ALL);
    for (const axis of free()) {
      panels *= doc.axes[axis].labels.length;
      if (panels > MOST_PANELS) {
        panels /= doc.axes[axis].labels.length;
        view.fixed[axis] = 0;
      }
    }
  }

  function choice(label, options, chosen, onChange) {
    const box = make("select", {}, ...options.map(([value, text]) => make("option", { value, textContent: text })));
    box.value = String(chosen);
    box.addEventListener("change", () => onChange(Number(box.value)));
    return make("label", { textContent: label }, box);
  }

  function controls() {
    const axes = doc.axes.map((axis, at) => [at, axis.title]);
    const changed = (change) => (value) => {
      change(value);
      spread();
      refresh();
    };
    const parts = [
      choice("Number", doc.numbers.map((one, at) => [at, named(one)]), view.number, (value) => ((view.number = value), refresh())),
      choice("Horizontal", axes, view.x, changed((value) => {
        if (value === view.y) view.y = view.x;
        if (value === view.best) view.best = ALL;
        view.x = value;
      })),
    ];
    if (axes.length > 1) {
      parts.push(choice("Vertical", axes, view.y, changed((value) => {
        if (value === view.x) view.x = view.y;
        if (value === view.best) view.best = ALL;
        view.y = value;
      })));
    }
    const rest = axes.filter(([at]) => at !== view.x && at !== view.y);
    if (rest.length) {
      parts.push(choice("Colour", [[ALL, "the number"], ...rest.map(([at, title]) => [at, `best ${title}`])], view.best, changed((value) => (view.best = value))));
    }
    for (const axis of free()) {
      const each = doc.axes[axis].labels.map((label, at) => [at, label]);
      parts.push(choice(doc.axes[axis].title, [[ALL, "side by side"], ...each], view.fixed[axis], (value) => {
        view.fixed[axis] = value;
        refresh();
      }));
    }
    byId("controls").replaceChildren(...parts);
  }

  // --- cells ----------------------------------------------------------------------------------

  // Points by panel and cell. In a map of the best value a cell has several points.
  function panels() {
    const found = new Map();
    const over = free().filter((axis) => view.fixed[axis] === ALL);
    doc.points.forEach((at, point) => {
      if (view.fixed.some((fixed, axis) => fixed !== ALL && at[axis] !== fixed)) return;
      const key = over.map((axis) => at[axis]);
      const name = key.join();
      if (!found.has(name)) found.set(name, { key, cells: new Map() });
      const cell = `${at[view.x]},${isAxis(view.y) ? at[view.y] : 0}`;
      const { cells } = found.get(name);
      cells.set(cell, [...(cells.get(cell) ?? []), point]);
    });
    const title = (key) => key.map((value, index) => {
      const axis = doc.axes[over[index]];
      return /[a-z]/i.test(axis.labels[value]) ? axis.labels[value] : `${axis.title} ${axis.labels[value]}`;
    }).join(", ");
    const order = (one, two) => one.key.map((value, at) => value - two.key[at]).find((by) => by !== 0) ?? 0;
    return [...found.values()].sort(order).map((one) => ({ ...one, title: title(one.key) }));
  }

  // The best point, and those whose intervals overlap that of the best.
  function winner(points) {
    const of = number();
    const known = points.filter((point) => of.at[point]).map((point) => ({ point, ...counted(of, of.at[point]) }));
    const [best, ...others] = known.sort((one, two) => one.cost - two.cost);
    if (!best) return null;
    return { point: best.point, asGood: others.filter((other) => other.low <= best.high && best.low <= other.high).map((other) => other.point) };
  }

  const choiceColour = (point) => doc.choices[doc.points[point][view.best] % doc.choices.length];

  function cell(points, [x, y, wide, tall]) {
    const of = number();
    const box = { x, y, width: wide + 0.3, height: tall + 0.3 };
    if (isAxis(view.best)) {
      const won = winner(points);
      if (!won) return [draw("rect", { ...box, class: "none" })];
      const parts = [draw("rect", { ...box, fill: choiceColour(won.point) })];
      const others = won.asGood.length > doc.most_as_good ? [doc.many] : won.asGood.map(choiceColour);
      others.forEach((fill, at) => {
        parts.push(draw("rect", { class: "as-good", x: x + 0.8 * wide, y: y + (at * tall) / others.length, width: 0.2 * wide, height: tall / others.length + 0.3, fill }));
      });
      if (of.at[won.point][LOWER] !== null) parts.push(draw("line", { class: "cut", x1: x, y1: y + tall, x2: x + (others.length ? 0.8 : 1) * wide, y2: y }));
      parts.push(draw("rect", { ...box, class: "edge" }));
      return parts;
    }
    const at = of.at[points[0]];
    if (!at) return [draw("rect", { ...box, class: "none" })];
    if (at[LOWER] === null) return [draw("rect", { ...box, fill: colour(of, at[MEDIAN]) })];
    return [
      draw("polygon", { points: `${x},${y} ${x + wide},${y} ${x},${y + tall}`, fill: colour(of, at[UPPER]) }),
      draw("polygon", { points: `${x + wide},${y} ${x + wide},${y + tall} ${x},${y + tall}`, fill: colour(of, at[LOWER]) }),
      draw("line", { class: "cut", x1: x, y1: y + tall, x2: x + wide, y2: y }),
    ];
  }

  function panel({ title, cells }) {
    const [columns, rows] = [used(view.x), isAxis(view.y) ? used(view.y) : [0]];
    const names = isAxis(view.y) ? rows.map((y) => bare(doc.axes[view.y].labels[y])) : [];
    const left = 22 + 7 * Math.max(5, ...names.map((name) => name.length));
    const wide = (WIDE - left - 6) / columns.length;
    const tall = Math.min(Math.max(220 / rows.length, 14), 40);
    const high = tall * rows.length;
    const picture = draw("svg", { viewBox: `0 0 ${WIDE} ${high + BELOW + 6}`, tabindex: 0, role: "application", "aria-label": `Map ${title}: arrow keys move, Enter chooses` });
    const place = (column, row) => [left + column * wide, 4 + (rows.length - 1 - row) * tall, wide, tall];
    columns.forEach((x, column) => rows.forEach((y, row) => {
      const points = cells.get(`${x},${y}`);
      if (points) picture.append(...cell(points, place(column, row)));
    }));
    const [step, stepY] = [Math.ceil(columns.length / 9), Math.ceil(14 / tall)];
    columns.forEach((x, column) => {
      if (column % step) return;
      picture.append(draw("text", { x: left + (column + 0.5) * wide, y: high + 18, "text-anchor": "middle" }, bare(doc.axes[view.x].labels[x])));
    });
    if (isAxis(view.y)) {
      names.forEach((name, row) => {
        if (row % stepY === 0) picture.append(draw("text", { x: left - 5, y: 8 + (rows.length - 0.5 - row) * tall, "text-anchor": "end" }, name));
      });
      picture.append(draw("text", { class: "small", x: 11, y: 4 + high / 2, "text-anchor": "middle", transform: `rotate(-90 11 ${4 + high / 2})` }, doc.axes[view.y].title));
    }
    picture.append(draw("text", { class: "small", x: left + (WIDE - left) / 2, y: high + BELOW, "text-anchor": "middle" }, doc.axes[view.x].title));
    watch(picture, cells, columns, rows, place);
    const parts = title ? [make("h3", { textContent: title })] : [];
    return make("figure", {}, ...parts, picture);
  }

  // The values of an axis that have points.
  function used(axis) {
    const there = new Set(doc.points.map((at) => at[axis]));
    return doc.axes[axis].labels.map((_, at) => at).filter((at) => there.has(at));
  }

  // --- pointer and keys ---------------------------------------------------------------------

  function watch(picture, cells, columns, rows, place) {
    let at = null;
    const frames = ["frame under", "frame"].map((name) => draw("rect", { class: name, visibility: "hidden" }));
    picture.append(...frames);
    const points = () => (at && cells.get(`${columns[at[0]]},${rows[at[1]]}`)) ?? null;
    const move = (column, row, x, y) => {
      at = [Math.min(Math.max(column, 0), columns.length - 1), Math.min(Math.max(row, 0), rows.length - 1)];
      const [left, top, width, height] = place(...at);
      for (const frame of frames) {
        for (const [key, value] of Object.entries({ x: left, y: top, width, height, visibility: "visible" })) frame.setAttribute(key, value);
      }
      tell(points(), x, y);
    };
    const leave = () => {
      for (const frame of frames) frame.setAttribute("visibility", "hidden");
      byId("tip").hidden = true;
    };
    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect();
      const scale = WIDE / box.width;
      const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      const [left, top, wide, tall] = place(0, rows.length - 1);
      const [column, row] = [Math.floor((x - left) / wide), rows.length - 1 - Math.floor((y - top) / tall)];
      if (column < 0 || row < 0 || column >= columns.length || row >= rows.length) leave();
      else move(column, row, event.clientX, event.clientY);
    });
    picture.addEventListener("pointerleave", leave);
    picture.addEventListener("blur", leave);
    picture.addEventListener("click", () => choose(points()));
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    picture.addEventListener("keydown", (event) => {
      if (event.key === "Enter") choose(points());
      const by = steps[event.key];
      if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const box = picture.getBoundingClientRect();
      move((at?.[0] ?? -by[0]) + by[0], (at?.[1] ?? -by[1]) + by[1], box.left + 20, box.top);
    });
  }

  // If a label has a unit, the title does not repeat it.
  function where(point) {
    return doc.axes.map((axis, at) => {
      const label = axis.labels[doc.points[point][at]];
      return `${label.endsWith(" packets") ? axis.title.replace(/ \(packets\)$/, "") : axis.title} ${label}`;
    }).join(", ");
  }

  function words(point) {
    const of = number();
    const at = of.at[point];
    if (!at) return `${of.title}: no value`;
    const seeds = `${of.values[point].filter((one) => one !== null).length} seeds`;
    if (at[LOWER] !== null) return `${of.title}: two states, ${shown(at[LOWER])} and ${shown(at[UPPER])}${unit(of)}; ${seeds}`;
    return `${of.title}: ${shown(at[MEDIAN])}${unit(of)} (${shown(at[LOW])} to ${shown(at[HIGH])}), ${seeds}`;
  }

  function lines(points) {
    if (!points) return ["no run here"];
    if (!isAxis(view.best)) return [words(points[0]), where(points[0])];
    const won = winner(points);
    if (!won) return ["no value"];
    const of = doc.axes[view.best];
    const named = (point) => of.labels[doc.points[point][view.best]];
    const note = won.asGood.length ? `best; as good: ${won.asGood.map(named).join(", ")}` : "best";
    return [`${named(won.point)}: ${note}`, words(won.point), where(won.point)];
  }

  function tell(points, x, y) {
    const tip = byId("tip");
    const said = lines(points);
    tip.replaceChildren(...said.map((line, at) => make(at ? "span" : "b", { textContent: line })));
    tip.hidden = false;
    tip.style.left = `${Math.min(x + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(y + 14, innerHeight - tip.offsetHeight - 8)}px`;
    byId("said").textContent = said.join("; ");
  }

  function choose(points) {
    if (!points) return;
    view.point = isAxis(view.best) ? (winner(points)?.point ?? points[0]) : points[0];
    detail();
    remember();
  }

  // --- a point --------------------------------------------------------------------------------

  function detail() {
    const point = view.point;
    byId("choose").hidden = point !== null;
    if (point === null) return byId("detail").replaceChildren();
    const rows = doc.numbers.map((of) => {
      const at = of.at[point];
      const cells = at ? [shown(at[MEDIAN]), `${shown(at[LOW])} to ${shown(at[HIGH])}`, at[LOWER] === null ? "" : `${shown(at[LOWER])} and ${shown(at[UPPER])}`] : ["", "", ""];
      return make("tr", {}, make("th", { scope: "row", textContent: named(of) }), ...cells.map((text) => make("td", { textContent: text })));
    });
    const heads = ["number", "median", doc.interval, "two states"].map((text) => make("th", { scope: "col", textContent: text }));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
    const quoted = (text) => (/^-?[\d.]+(e-?\d+)?$/.test(text) ? text : `'${text.replaceAll("'", "''")}'`);
    const conditions = doc.axes.map((axis, at) => `"${axis.name}" = ${quoted(axis.values[doc.points[point][at]])}`);
    return byId("detail").replaceChildren(
      make("h3", { textContent: where(point) }),
      strip(point),
      make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Numbers of the point" }, table),
      make("pre", { textContent: `select * from runs where ${conditions.join(" and ")}` }),
    );
  }

  // One dot per seed, in the order of the seeds, with the interval of the median beside them.
  function strip(point) {
    const of = number();
    const values = of.values[point];
    const known = values.filter((one) => one !== null);
    const [wide, high, left] = [760, 150, 60];
    const picture = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${of.title} of every seed: ${known.map(shown).join(", ")}` });
    if (!known.length) return picture;
    // Ratios are drawn around 1, and values beyond the range at its edge. Other numbers are drawn from zero.
    const isRatio = of.goal === "even";
    const [least, most] = isRatio ? [of.least, of.most] : [Math.min(0, ...known), Math.max(0, ...known) || 1];
    const scaled = isRatio ? (value) => Math.log(Math.min(Math.max(value, least), most)) : (value) => value;
    const share = (value) => (scaled(value) - scaled(least)) / (scaled(most) - scaled(least));
    const y = (value) => 12 + (high - 46) * (1 - share(value));
    for (const value of [least, isRatio ? 1 : (least + most) / 2, most]) {
      picture.append(draw("line", { class: "line", x1: left, x2: wide, y1: y(value), y2: y(value) }));
      picture.append(draw("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, shown(value)));
    }
    const step = (wide - left - 30) / values.length;
    values.forEach((value, at) => {
      if (value === null) return;
      const name = `seed ${doc.seeds[point][at]}: ${shown(value)}${unit(of)}`;
      picture.append(draw("circle", { class: "dot", cx: left + 16 + (at + 0.5) * step, cy: y(value), r: 4.5 }, draw("title", {}, name)));
    });
    const at = of.at[point];
    if (at && at[LOWER] === null) picture.append(draw("line", { class: "band", x1: left + 6, x2: left + 6, y1: y(at[LOW]), y2: y(at[HIGH]) }));
    picture.append(draw("text", { class: "small", x: left, y: high - 6 }, `${named(of)}, a dot per seed; the bar is the ${doc.interval}`));
    return picture;
  }

  // --- key --------------------------------------------------------------------------------------

  function key() {
    const place = byId("key");
    place.classList.toggle("choices", isAxis(view.best));
    if (isAxis(view.best)) {
      const cells = panels().flatMap((one) => [...one.cells.values()].map(winner)).filter((one) => one);
      const value = (point) => doc.points[point][view.best];
      const wins = (at) => cells.filter((won) => value(won.point) === at).length;
      const few = cells.filter((won) => won.asGood.length <= doc.most_as_good);
      const ties = (at) => few.filter((won) => won.asGood.some((point) => value(point) === at)).length;
      const labels = used(view.best)
        .map((at) => ({ at, wins: wins(at), ties: ties(at) }))
        .filter((one) => one.wins + one.ties)
        .sort((one, two) => two.wins - one.wins || two.ties - one.ties)
        .map((one) => swatch(doc.choices[one.at % doc.choices.length], `${doc.axes[view.best].labels[one.at]}: ${one.wins} of ${cells.length}`));
      if (few.length < cells.length) labels.push(swatch(doc.many, `over ${doc.most_as_good} others`));
      place.replaceChildren(...labels);
      return;
    }
    const of = number();
    const [wide, left] = [420, 30];
    const stops = of.colours.map((fill, at) => draw("rect", { x: left + (at * wide) / of.colours.length, y: 4, width: wide / of.colours.length + 0.5, height: 14, fill }));
    const picture = draw("svg", { viewBox: `0 0 ${wide + 2 * left} 36`, role: "img", "aria-label": `Colours of ${named(of)}` }, ...stops);
    const ends = { 0.1: "starved", 1: "equal", 10: "favoured" };
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const value = of.log ? of.least * (of.most / of.least) ** share : of.least + (of.most - of.least) * share;
      const text = of.goal === "even" ? (ends[Number(value.toPrecision(2))] ?? shown(Number(value.toPrecision(1)))) : shown(value);
      picture.append(draw("text", { x: left + share * wide, y: 32, "text-anchor": "middle" }, text));
    }
    place.replaceChildren(picture);
  }

  function says() {
    const of = number();
    const better = { even: "the nearest to 1", less: "the lowest", more: "the highest" }[of.goal];
    byId("says").textContent = isAxis(view.best)
      ? `Which ${doc.axes[view.best].title} is best, by the median of ${named(of)}: ${better}. The strip at the right of a cell shows the values that are as good, by the ${doc.interval}s. A cut cell is bistable, and its worse state counts.`
      : `Median of ${named(of)} over the seeds. A cell cut in two is bistable: its seeds have two states, and both are shown.`;
  }

  // --- the page -------------------------------------------------------------------------------

  function refresh() {
    controls();
    says();
    key();
    const every = panels();
    byId("panels").classList.toggle("single", every.length === 1);
    byId("panels").replaceChildren(...every.map(panel));
    detail();
    remember();
  }

  function remember() {
    const kept = { number: number().name, x: view.x, y: view.y, best: view.best, fixed: view.fixed.join(), point: view.point ?? "" };
    history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
  }

  function recall() {
    const kept = new URLSearchParams(location.hash.slice(1));
    const axis = (name, first) => {
      const value = Number(kept.get(name) ?? first);
      return Number.isInteger(value) && value >= ALL && value < doc.axes.length ? value : first;
    };
    const asked = doc.numbers.findIndex((one) => one.name === (kept.get("number") ?? doc.first.number));
    Object.assign(view, { number: Math.max(asked, 0), x: axis("x", doc.first.x), y: axis("y", doc.first.y), best: axis("best", doc.first.best) });
    if (view.x === ALL || view.x === view.y || (isAxis(view.best) && [view.x, view.y].includes(view.best))) Object.assign(view, doc.first, { number: view.number });
    spread();
    const fixed = (kept.get("fixed") ?? "").split(",").map(Number);
    if (fixed.length === doc.axes.length) {
      fixed.forEach((value, at) => {
        if (free().includes(at) && Number.isInteger(value) && value >= ALL && value < doc.axes[at].labels.length) view.fixed[at] = value;
      });
    }
    const point = Number(kept.get("point") || NaN);
    view.point = Number.isInteger(point) && doc.points[point] ? point : null;
  }

  async function unpack() {
    const bytes = Uint8Array.from(atob(byId("data").textContent), (one) => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  unpack().then((found) => {
    doc = found;
    recall();
    document.documentElement.classList.add("live");
    refresh();
    window.study = { view, doc, refresh, choose, panels, ready: true };
  });
})();
