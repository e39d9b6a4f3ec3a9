// Tables: a click on a heading sorts, and typed words filter. A click on a row of the table of flows selects that flow.
// There are also tables of rounds and of requests.

const ROWS_AT_ONCE = 60;

// A table whose rows are data in the page. A column has: key, title, unit, shown(value), text.
class DataTable {
  constructor(place, name, columns, rows, { onRow, isChosen, filterable, sort } = {}) {
    Object.assign(this, { place, name, columns, rows, onRow, isChosen, sort: sort ?? "" });
    this.limit = ROWS_AT_ONCE;
    this.words = "";
    this.count = make("p", { className: "note", role: "status" });
    this.more = make("button", { type: "button", textContent: "Show more rows" });
    this.more.addEventListener("click", () => {
      this.limit += 5 * ROWS_AT_ONCE;
      this.draw();
    });
    this.body = make("tbody");
    this.heads = columns.map((column) => this.head(column));
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...this.heads)), this.body);
    const scroll = make("div", { className: "scroll tall", tabIndex: 0, role: "region", ariaLabel: `Table: ${name}` }, table);
    const parts = [scroll, this.count, this.more];
    if (filterable) parts.unshift(this.filterBox(filterable));
    place.replaceChildren(...parts);
  }

  head(column) {
    const button = make("button", { type: "button", textContent: column.title });
    button.addEventListener("click", () => this.sortBy(column.key));
    const head = make("th", { scope: "col", className: column.words ? "words" : "" }, button);
    if (column.unit) head.append(make("span", { className: "unit", textContent: column.unit }));
    return head;
  }

  filterBox(hint) {
    this.box = make("input", { type: "search", placeholder: hint });
    this.box.addEventListener("input", () => this.onFilter(this.box.value));
    return make("label", { className: "filter" }, "Filter ", this.box);
  }

  onFilter(words) {
    this.words = words.toLowerCase();
    this.draw();
  }

  // A second click reverses the order: "goodput" is descending, "-goodput" ascending.
  sortBy(key) {
    this.onSort(this.sort === key ? `-${key}` : key);
  }

  onSort(sort) {
    this.sort = sort;
    this.draw();
  }

  chosen() {
    const words = this.words.split(/\s+/).filter(Boolean);
    const rows = words.length
      ? this.rows.filter((row) => words.every((word) => row.text.includes(word)))
      : [...this.rows];
    const ascending = this.sort.startsWith("-");
    const key = this.sort.replace(/^-/, "");
    const column = this.columns.find((one) => one.key === key);
    if (!column) return rows;
    const turn = ascending ? 1 : -1;
    return rows.sort((a, b) => compare(a[key], b[key], column.words ? -turn : turn));
  }

  draw() {
    const rows = this.chosen();
    const drawn = rows.slice(0, this.limit).map((row) => this.row(row));
    this.body.replaceChildren(...drawn);
    const count = rows.length.toLocaleString("en");
    this.count.textContent = rows.length > drawn.length
      ? `The first ${drawn.length} of ${count} rows.`
      : `${count} ${rows.length === 1 ? "row" : "rows"}.`;
    this.more.hidden = rows.length <= drawn.length;
    this.heads.forEach((head, at) => {
      const { key, words } = this.columns[at];
      const order = this.sort === key ? "descending" : this.sort === `-${key}` ? "ascending" : null;
      const turned = order && words ? (order === "ascending" ? "descending" : "ascending") : order;
      if (turned) head.setAttribute("aria-sort", turned);
      else head.removeAttribute("aria-sort");
    });
  }

  row(row) {
    const cells = this.columns.map((column, at) => {
      const text = column.shown ? column.shown(row[column.key], row) : String(row[column.key] ?? "–");
      const cell = make(at ? "td" : "th", { className: column.words ? "words" : "" });
      if (!at) cell.scope = "row";
      if (!at && this.onRow) {
        const button = make("button", { type: "button", textContent: text, title: "look at this flow" });
        button.ariaPressed = String(this.isChosen(row));
        cell.append(swatch(row.colour), button);
      } else cell.textContent = text;
      return cell;
    });
    const made = make("tr", {}, ...cells);
    if (this.onRow) {
      made.classList.toggle("chosen", this.isChosen(row));
      made.addEventListener("click", () => this.onRow(row));
    }
    return made;
  }
}

// The order of two values; unknown values come last.
function compare(a, b, turn) {
  if (a === null || b === null) return (a === null) - (b === null);
  return (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b) * turn;
}

// A square in a class's colour. It is an SVG drawing, because the page's policy forbids style attributes.
function swatch(colour) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  drawing.setAttribute("class", "swatch");
  drawing.setAttribute("viewBox", "0 0 10 10");
  drawing.setAttribute("aria-hidden", "true");
  const square = document.createElementNS(space, "rect");
  for (const [name, value] of Object.entries({ width: 10, height: 10, rx: 2, fill: ink(colour) })) {
    square.setAttribute(name, value);
  }
  drawing.append(square);
  return drawing;
}

// Rows from columns, which are lists.
function rowsOf(columns) {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, at) => Object.fromEntries(names.map((name) => [name, columns[name][at]])));
}

const scaled = (factor, digits) => (value) =>
  value === null ? "–" : (value * factor).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const whole = (value) => (value === null ? "–" : value.toLocaleString("en"));

const FLOW_COLUMNS = [
  { key: "flow", title: "Flow" },
  { key: "src", title: "From", words: true },
  { key: "dst", title: "To", words: true },
  { key: "class", title: "Class", words: true },
  { key: "congestion_control", title: "Control", words: true, of: "tcp" },
  { key: "goodput_bps", title: "Goodput", unit: "Mbit/s", shown: scaled(1e-6, 3) },
  { key: "fct_s", title: "FCT", unit: "ms", shown: scaled(1e3, 3), of: "finite" },
  { key: "slowdown", title: "Slowdown", shown: scaled(1, 2), of: "finite" },
  { key: "size_bytes", title: "Size", unit: "kB", shown: scaled(1e-3, 1), of: "finite" },
  { key: "timeouts", title: "Timeouts", shown: whole, of: "tcp" },
  { key: "timeout_period_s", title: "Timeout period", unit: "s", shown: scaled(1, 3), of: "tcp" },
  { key: "drops", title: "Drops", shown: whole },
  { key: "retransmits", title: "Retransmits", shown: whole, of: "tcp" },
  { key: "rtt_mean_s", title: "RTT mean", unit: "ms", shown: scaled(1e3, 3), of: "tcp" },
  { key: "rtt_mean_s", title: "Delay mean", unit: "ms", shown: scaled(1e3, 3), of: "udp" },
];

function flowTable(doc) {
  const rows = rowsOf(doc.flows).map((row) => ({
    ...row,
    class: doc.classes[row.class].name,
    colour: doc.classes[row.class].colour,
    slowdown: row.fct_s === null || !row.ideal_fct_s ? null : row.fct_s / row.ideal_fct_s,
    text: `${row.flow} ${row.src} ${row.dst} ${doc.classes[row.class].name} ${row.congestion_control} ${row.workload}`.toLowerCase(),
  }));
  // columns that only some runs have
  const kinds = { tcp: doc.rtt === "RTT", udp: doc.rtt !== "RTT", finite: rows.some((row) => row.size_bytes !== null) };
  const table = new DataTable(byId("flow-table"), "Flows", FLOW_COLUMNS.filter((one) => kinds[one.of] ?? true), rows, {
    onRow: (row) => view.set({ flow: view.flow === row.flow ? null : row.flow }),
    isChosen: (row) => view.flow === row.flow,
    filterable: "host, class, number",
    sort: view.sort,
  });
  table.onFilter = (words) => view.set({ filter: words });
  table.onSort = (sort) => view.set({ sort });
  table.refresh = () => {
    if (table.box.value !== view.filter) table.box.value = view.filter;
    table.words = view.filter.toLowerCase();
    table.sort = view.sort;
    const all = table.rows;
    table.rows = all.filter((row) => !view.hidden.has(row.class));
    table.draw();
    table.rows = all;
  };
  return table;
}

const EVENT_COLUMNS = {
  rounds: [
    { key: "round", title: "Round" }, { key: "traffic", title: "Traffic" },
    { key: "start_s", title: "Start", unit: "ms", shown: scaled(1e3, 3) },
    { key: "completion_s", title: "Took", unit: "ms", shown: scaled(1e3, 3) },
    { key: "bytes", title: "Size", unit: "kB", shown: scaled(1e-3, 1) },
  ],
  requests: [
    { key: "request", title: "Request" }, { key: "traffic", title: "Traffic" }, { key: "flow", title: "Flow" },
    { key: "start_s", title: "Start", unit: "ms", shown: scaled(1e3, 3) },
    { key: "response_s", title: "Took", unit: "ms", shown: scaled(1e3, 3) },
    { key: "response_bytes", title: "Answer", unit: "kB", shown: scaled(1e-3, 1) },
  ],
};

function eventTables(doc) {
  for (const [name, columns] of Object.entries(EVENT_COLUMNS)) {
    const section = byId(`${name}-live`);
    const rows = rowsOf(doc.events[name]);
    section.hidden = rows.length === 0;
    if (rows.length) new DataTable(byId(`${name}-table`), name, columns, rows).draw();
  }
}

// Makes the headings of a table that is already in the page sort its rows, too.
function sortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    const button = make("button", { type: "button" }, ...[...head.childNodes].filter((one) => one.nodeType === 3));
    head.prepend(button);
    button.addEventListener("click", () => {
      const ascending = head.getAttribute("aria-sort") === "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const value = (row) => {
        const text = row.cells[at]?.textContent.trim().replaceAll(",", "") ?? "";
        return text === "" ? null : Number.isNaN(parseFloat(text)) ? text : parseFloat(text);
      };
      const rows = [...table.tBodies[0].rows];
      table.tBodies[0].append(...rows.sort((a, b) => compare(value(a), value(b), ascending ? 1 : -1)));
    });
  });
}

// Fills a table that has other rows for each seed.
function fillRows(id, rows) {
  const body = document.querySelector(`#${id}-rows`);
  if (!body) return;
  body.replaceChildren(...rows.map((row) => {
    const head = make("th", { scope: "row" });
    if (row.colour) head.append(swatch(row.colour));
    head.append(row.label);
    const made = make("tr", {}, head, ...row.cells.map((cell) => make("td", { textContent: cell })));
    if (row.colour === "") made.className = "paper";
    if (row.class) made.dataset.class = row.class;
    return made;
  }));
}
