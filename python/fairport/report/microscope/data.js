// The page's data: the document, and compressed blocks that are unpacked when a view needs them.

const NO_WAIT = 0xffffffff;
// The most unpacked blocks that are kept. The block that was drawn longest ago is removed first.
const MOST_KEPT = 48;

const doc = JSON.parse(document.getElementById("document").textContent);

// Unpacks a block into its bytes.
async function unpack(number) {
  const text = atob(document.getElementById("block" + number).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// The packets of a block, column by column; times are absolute.
function columns(buffer, { count, from }) {
  const word = (i) => new Uint32Array(buffer, 4 * i * count, count);
  const half = (i) => new Uint16Array(buffer, 20 * count + 2 * i * count, count);
  const small = (i) => new Uint8Array(buffer, 24 * count + i * count, count);
  const gaps = word(0);
  const time = new Float64Array(count);
  for (let i = 0, now = from; i < count; i++) time[i] = now += gaps[i];
  return { count, time, wait: word(1), seq: word(2), flow: word(3), queue: word(4),
    size: half(0), lane: half(1), fate: small(0), reason: small(1) };
}

// The counts of a level. The count of group g and fate f in bin b is at index (3 g + f) bins + b.
function counts(buffer, { bins }) {
  const rows = 3 * doc.groups.length;
  const row = (i, n) => new Uint32Array(buffer, 4 * i * bins, n * bins);
  return { bins, counts: row(0, rows), least: row(rows, 1), most: row(rows + 1, 1) };
}

// Blocks that are unpacked or being unpacked. `changed` is called when one is ready.
class Store {
  constructor(changed) {
    this.changed = changed;
    this.kept = new Map();
  }

  // The result of `read` for an entry's block; undefined while the block is being unpacked.
  get(entry, read) {
    const kept = this.kept.get(entry.block);
    if (kept) {
      this.kept.delete(entry.block);
      this.kept.set(entry.block, kept);
      return kept.content;
    }
    const coming = { content: undefined };
    this.kept.set(entry.block, coming);
    unpack(entry.block).then((buffer) => {
      coming.content = read(buffer, entry);
      this.changed();
    });
    for (const [number, old] of this.kept) {
      if (this.kept.size <= MOST_KEPT) break;
      if (old.content) this.kept.delete(number);
    }
    return undefined;
  }

  level(number) {
    return this.get(doc.levels[number], counts);
  }

  packets(entry) {
    return this.get(entry, columns);
  }
}

// The first index in a sorted array whose value is not below x.
function lowerBound(values, x, count = values.length) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The blocks with packets between two times, and roughly how many packets these are.
function blocksBetween(from, to) {
  const found = doc.blocks.filter((one) => one.to >= from && one.from <= to);
  let packets = 0;
  for (const one of found) {
    const length = Math.max(one.to - one.from, 1);
    const shown = Math.min(one.to, to) - Math.max(one.from, from);
    packets += one.count * Math.max(shown / length, 0);
  }
  return { found, packets };
}
