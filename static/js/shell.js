// @ts-check
// What every page has: shortcuts, copy buttons, times in the reader's zone, the graph's arrow keys.

const typing = (/** @type {EventTarget|null} */ el) =>
  el instanceof HTMLElement && (el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName));

// The palette: a dialog over the page; without it (or its answer) the same search is a page.
const palette = document.getElementById('palette');
if (palette instanceof HTMLDialogElement) {
  const field = /** @type {HTMLInputElement} */ (palette.querySelector('input'));
  // Enter opens the first of what was found for the words as they are: typed fast, it waits for that answer.
  let opensFirst = false;
  const openFirst = () => {
    const found = /** @type {HTMLElement | null} */ (palette.querySelector('.found'));
    opensFirst = found?.dataset.q !== field.value.slice(0, 200).trim();
    if (!opensFirst) palette.querySelector('a')?.click();
  };
  field.addEventListener('input', () => { opensFirst = false; });
  palette.addEventListener('close', () => { opensFirst = false; });
  document.addEventListener('htmx:after:swap', () => { if (opensFirst) openFirst(); });
  const show = () => {
    if (palette.open) return;
    palette.showModal();
    field.select();
    field.dispatchEvent(new Event('open'));
  };
  // htmx reads a page after its load event: what was opened or typed before then is asked for now.
  field.addEventListener('htmx:after:init', () => { if (palette.open) field.dispatchEvent(new Event('open')); });
  document.addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === 'k') { event.preventDefault(); show(); }
  });
  document.getElementById('find-link')?.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show();
  });
  palette.addEventListener('click', (event) => { if (event.target === palette) palette.close(); });
  palette.addEventListener('keydown', (event) => {
    const links = /** @type {HTMLElement[]} */ ([...palette.querySelectorAll('a')]);
    const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (event.key === 'ArrowDown') (links[at + 1] || links[0])?.focus();
    else if (event.key === 'ArrowUp') (at <= 0 ? field : links[at - 1]).focus();
    else if (event.key === 'Enter' && document.activeElement === field) openFirst();
    else return;
    event.preventDefault();
  });
}

let prefix = 0;
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && typing(event.target)) /** @type {HTMLElement} */ (event.target).blur();
  if (document.body.dataset.keys !== 'on' || typing(event.target)) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const go = (/** @type {string} */ selector) => {
    const el = document.querySelector(selector);
    if (!(el instanceof HTMLAnchorElement)) return false;
    event.preventDefault();
    location.href = el.href;
    return true;
  };
  if (Date.now() - prefix < 1200) {
    prefix = 0;
    if (/^[a-z]$/.test(event.key) && go(`.nav [data-key="${event.key}"]`)) return;
  }
  if (event.key === 'g') prefix = Date.now();
  else if (event.key === '?') go('#keys-link');
  else if (event.key === '/') {
    const field = document.querySelector('[data-search]');
    if (field instanceof HTMLElement) { event.preventDefault(); field.focus(); }
  }
});

const copyable = (/** @type {ParentNode} */ root) => {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll('button[data-copy][hidden]')) button.removeAttribute('hidden');
};
document.addEventListener('click', async (event) => {
  const button = event.target instanceof Element ? event.target.closest('button[data-copy]') : null;
  if (!(button instanceof HTMLElement)) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy || '');
    button.textContent = 'Copied';
  } catch { button.textContent = 'Select and copy'; }
});

/** Times of day and dates in the reader's own zone; the exact UTC moment stays in the title. */
export function localTimes(/** @type {ParentNode} */ root) {
  for (const el of root.querySelectorAll('time[title$=" UTC"]')) {
    const time = /** @type {HTMLTimeElement} */ (el);
    if (time.dataset.local) continue;
    time.dataset.local = '1';
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const clock = moment.toLocaleTimeString([], { hour12: false });
    const pad = (/** @type {number} */ n) => String(n).padStart(2, '0');
    const date = `${moment.getFullYear()}-${pad(moment.getMonth() + 1)}-${pad(moment.getDate())}`;
    time.textContent = /^\d\d:/.test(time.textContent || '') ? clock : `${date} ${clock.slice(0, 5)}`;
  }
}

// Graph: one tab stop, arrows along edges and within a column.
export function arrowKeys(/** @type {Element} */ graph) {
  const nodes = /** @type {SVGAElement[]} */ ([...graph.querySelectorAll('a.node')]);
  const edges = [...graph.querySelectorAll('.edge')];
  const attr = (/** @type {Element} */ el, /** @type {string} */ name) => el.getAttribute(name) || '';
  const at = (/** @type {Element} */ n) => [Number(attr(n, 'data-x')), Number(attr(n, 'data-y'))];
  const byKey = new Map(nodes.map((n) => [attr(n, 'data-key'), n]));
  const beside = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ by) => {
    const [first] = nodes.filter((n) => (at(n)[0] - x) * by > 0).sort((a, b) => (at(a)[0] - at(b)[0]) * by || Math.abs(at(a)[1] - y) - Math.abs(at(b)[1] - y));
    return first;
  };
  const stop = (/** @type {SVGAElement} */ node) => {
    for (const other of nodes) other.setAttribute('tabindex', other === node ? '0' : '-1');
  };
  if (nodes[0]) stop(nodes[0]);
  const related = (/** @type {string} */ key, /** @type {string} */ from, /** @type {string} */ to) => {
    const seen = new Set([key]);
    for (const one of seen) for (const e of edges) if (attr(e, from) === one) seen.add(attr(e, to));
    return seen;
  };
  const mark = (/** @type {string|null} */ key) => {
    const near = key === null ? null : new Set([...related(key, 'data-from', 'data-to'), ...related(key, 'data-to', 'data-from')]);
    for (const n of nodes) n.classList.toggle('far', near !== null && !near.has(attr(n, 'data-key')));
    for (const e of edges) e.classList.toggle('far', near !== null && !(near.has(attr(e, 'data-from')) && near.has(attr(e, 'data-to'))));
  };
  graph.addEventListener('focusin', (e) => { const n = /** @type {Element} */ (e.target).closest('a.node'); if (n) { stop(/** @type {SVGAElement} */ (n)); mark(attr(n, 'data-key')); } });
  graph.addEventListener('focusout', () => mark(null));
  graph.addEventListener('keydown', (event) => {
    const e = /** @type {KeyboardEvent} */ (event);
    const node = /** @type {Element} */ (e.target).closest('a.node');
    if (!node) return;
    const key = attr(node, 'data-key'), [x, y] = at(node);
    const column = nodes.filter((n) => at(n)[0] === x).sort((a, b) => at(a)[1] - at(b)[1]);
    const next = {
      ArrowRight: () => byKey.get(attr(edges.find((d) => attr(d, 'data-from') === key) || graph, 'data-to')) || (edges.length ? null : beside(x, y, 1)),
      ArrowLeft: () => byKey.get(attr(edges.find((d) => attr(d, 'data-to') === key) || graph, 'data-from')) || (edges.length ? null : beside(x, y, -1)),
      ArrowDown: () => column.find((n) => at(n)[1] > y),
      ArrowUp: () => column.filter((n) => at(n)[1] < y).pop(),
      Home: () => nodes[0],
      End: () => nodes[nodes.length - 1],
    }[e.key]?.();
    if (!next) return;
    e.preventDefault();
    next.focus();
  });
}
for (const graph of document.querySelectorAll('.dag')) arrowKeys(graph);

copyable(document);
localTimes(document);
// A part of the page that could not be brought up to date says so; what it shows is out of date until it can.
const trouble = document.getElementById('trouble');
const troubled = (/** @type {string} */ words) => { if (trouble) { trouble.textContent = words; trouble.hidden = !words; } };
document.addEventListener('htmx:response:error', (event) => {
  const status = /** @type {CustomEvent} */ (event).detail?.ctx?.response?.status;
  if (status >= 500) troubled(`The server could not answer (error ${status}). This page may be out of date. Reload it; if the error persists, see the server log.`);
});
document.addEventListener('htmx:error', (event) => {
  const { error, ctx } = /** @type {CustomEvent} */ (event).detail || {};
  if (error instanceof TypeError && !ctx?.response) troubled('The server is not responding. This page may be out of date; the request is retried.');
});
document.addEventListener('htmx:after:swap', (event) => {
  // It is told of an answer that was not put into the page, too.
  if (!(/** @type {CustomEvent} */ (event).detail?.ctx?.response?.status >= 500)) troubled('');
  copyable(document);
  localTimes(document);
});
