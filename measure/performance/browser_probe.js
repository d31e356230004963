// What a measurement asks of a run's page from inside; put into each document before its own scripts.
// Times are milliseconds: of the page since its navigation began, or of the machine's clock (Date.now()).
window.probe = (() => {
  const stream = () => document.getElementById('stream');
  const rowAt = (x, y) => document.elementFromPoint(x, y)?.closest?.('.ev, .fold') || null;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const elements = () => document.querySelectorAll('*').length;

  // The first row of this document, and when each later one came into it.
  let first = 0;
  const arrived = new Map();
  const note = (node) => {
    if (node.nodeType !== 1) return;
    const rows = node.matches('.ev') ? [node] : node.querySelectorAll('.ev');
    for (const row of rows) if (!arrived.has(row.dataset.seq)) arrived.set(row.dataset.seq, Date.now());
    if (rows.length && !first) first = performance.now();
  };
  new MutationObserver((changes) => {
    for (const change of changes) for (const node of change.addedNodes) note(node);
  }).observe(document, { childList: true, subtree: true });

  const inView = (row) => {
    if (!row) return false;
    const box = row.getBoundingClientRect(), room = stream().getBoundingClientRect();
    return box.height > 0 && box.top >= room.top - 1 && box.bottom <= room.bottom + 1;
  };
  /** Frame after frame until it is so; the moment. */
  async function until(so, what) {
    const end = performance.now() + 30000;
    while (!so()) {
      if (performance.now() > end) throw new Error(`after 30 s: ${what}`);
      await frame();
    }
    return performance.now();
  }
  const seen = (seq) => until(() => inView(document.getElementById(`e${seq}`)), `event ${seq} is not in view`);

  /** The key e, until the row it leads to is marked, in view and opened beside the stream. */
  async function nextError() {
    const was = stream().querySelector('.here')?.id, began = performance.now();
    (document.activeElement || document.body).dispatchEvent(new KeyboardEvent('keydown', { key: 'e', bubbles: true }));
    const here = () => stream().querySelector('.ev.here');
    const opened = () => document.getElementById('inspector').textContent.includes(`event ${Number(here().dataset.seq).toLocaleString('en')}`);
    const at = await until(() => here() && here().id !== was && inView(here()) && opened(), 'no next error is open');
    return [Number(here().dataset.seq), at - began];
  }

  /** The slider to an event, until that event is in view. */
  async function slide(seq) {
    const slider = document.getElementById('scrub'), began = performance.now();
    slider.value = String(seq);
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    const said = () => document.getElementById('live').textContent.includes(`event ${seq.toLocaleString('en')}`);
    const at = await until(() => said() && inView(document.getElementById(`e${seq}`)), `the slider is not at ${seq}`);
    return at - began;
  }

  /** Scroll so many pixels a second for a while (negative: up): time between frames, frames without a row, elements. */
  async function scroll(speed, seconds) {
    const part = stream(), room = part.getBoundingClientRect(), frames = [];
    let blank = 0, most = 0, at = part.scrollTop, before = await frame();
    const end = before + 1000 * seconds;
    while (before < end) {
      const now = await frame();
      frames.push(now - before);
      at = Math.max(0, Math.min(part.scrollHeight, at + speed * (now - before) / 1000));
      before = now;
      part.scrollTop = at;
      if (!rowAt(room.left + 200, room.top + room.height / 2)) blank++;
      if (frames.length % 20 === 0) most = Math.max(most, elements());
    }
    return { frames, blank, most };
  }

  /** Time between frames where nothing happens. */
  async function idle(seconds) {
    const frames = [];
    let before = await frame();
    for (const end = before + 1000 * seconds; before < end;) { const now = await frame(); frames.push(now - before); before = now; }
    return frames;
  }

  /** Sequence numbers on the page that are there twice, out of order, or lack a neighbour within their part. */
  function wrong() {
    const found = [];
    for (const part of stream().querySelectorAll('.chunk:not(:empty)')) {
      const seqs = [...part.querySelectorAll('.ev')].map((row) => Number(row.dataset.seq));
      seqs.forEach((seq, at) => { if (seq !== Number(part.dataset.n) * 100 + 1 + at) found.push(seq); });
    }
    return found;
  }

  return { first: () => until(() => first, 'no row').then(() => first), seen, nextError, slide, scroll, idle, wrong, elements, arrived: () => [...arrived] };
})();
