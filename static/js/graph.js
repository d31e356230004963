// @ts-check
// A run's graph: cards follow the list of tasks, clocks count on, zoom, layers that open and close.
import { arrowKeys } from './shell.js';

const list = document.querySelector('ul.tasks');
const attr = (/** @type {Element|null|undefined} */ el, /** @type {string} */ name) => el?.getAttribute(name) || '';
const graph = () => document.getElementById('graph');
const items = () => /** @type {HTMLElement[]} */ ([...(list?.children || [])]);
const put = (/** @type {Element|null|undefined} */ el, /** @type {string} */ text) => { if (el && el.textContent !== text) el.textContent = text; };

/** Seconds as a clock: 7:12, 1:02:03. */
const clock = (/** @type {number} */ s) => {
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0'), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
  return h ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
};
const passed = (/** @type {string} */ since) => Math.max(0, Math.floor((Date.now() - Date.parse(since)) / 1000));

/** The same words for a narrow place, as the server shortens them. */
const short = (/** @type {string} */ meta) => meta.replace(/^try (\d+) of (\d+) · .*?([^ ]+( min)?)$/, '$1/$2 · $3').replace(/^(about|[a-z]+ ·) (?=\d)/, '');

/** One card from its entry in the list: class, symbol, words, bar. Its place stays. */
function draw(/** @type {HTMLElement} */ item) {
  const d = item.dataset, node = graph()?.querySelector(`[data-task="${item.id.slice(1)}"]`);
  let meta = d.meta || '';
  if (d.since) {
    const seconds = passed(d.since);
    meta = meta.replace(/[\d:]+$/, clock(seconds));
    const box = node?.querySelector('.box');
    if (box) node?.querySelector('.fill')?.setAttribute('width', String(Math.round((Number(attr(box, 'width')) - 2) * Math.min(1, seconds / 60 / Number(d.minutes || 1)))));
  } else node?.querySelector('.fill')?.setAttribute('width', '0');
  put(item.querySelector('.st'), meta);
  put(node?.querySelector('.st'), graph()?.classList.contains('roomy') ? meta.replace(' of ', '/') : short(meta));
  if (!node || node.classList.contains(`s-${d.status}`)) return;
  const kept = [...node.classList].filter((name) => !/^(s|tone)-/.test(name));
  const before = attr(node, 'aria-label'), word = [...STATES.entries()].find(([state]) => node.classList.contains(`s-${state}`))?.[1];
  node.setAttribute('class', [...kept, `s-${d.status}`, `tone-${d.tone}`].join(' '));
  node.setAttribute('aria-label', before.replace(`, ${word}`, `, ${d.word}`));
  node.querySelector('use')?.setAttribute('href', `#i-${d.icon}`);
  graph()?.querySelector(`[data-of="${item.id.slice(1)}"]`)?.setAttribute('class', `tone-${d.tone}`);
}
/** Words of the states met so far, to find the one that a label still has. */
const STATES = new Map(items().map((item) => [item.dataset.status || '', item.dataset.word || '']));

/** Edges lead into a task at work, come from a settled one, or wait. */
function edges() {
  const status = new Map(items().map((item) => [item.dataset.key, item.dataset.status || '']));
  for (const edge of graph()?.querySelectorAll('.edge') || []) {
    const look = status.get(attr(edge, 'data-to')) === 'running' ? 'live' : /merged|skipped|cancelled/.test(status.get(attr(edge, 'data-from')) || '') ? 'done' : 'wait';
    if (!edge.classList.contains(look)) edge.setAttribute('class', `edge ${look}${edge.classList.contains('crit') ? ' crit' : ''}`);
  }
}

/** The badge of the task that most others wait for. */
function hold() {
  const head = document.getElementById('tasks-h'), badge = graph()?.querySelector('.hold');
  if (!badge) return;
  const node = graph()?.querySelector(`[data-key="${CSS.escape(head?.dataset.hold || '')}"]`);
  badge.toggleAttribute('hidden', !node);
  if (!node) return;
  put(badge.querySelector('text'), head?.dataset.behind || '');
  const right = Number(attr(node, 'data-x')) + Number(attr(node.querySelector('.box'), 'width')) - 104;
  badge.setAttribute('transform', `translate(${right} ${Number(attr(node, 'data-y')) - 12})`);
}

function all() {
  for (const item of items()) { draw(item); STATES.set(item.dataset.status || '', item.dataset.word || ''); }
  edges();
  hold();
}
if (list) new MutationObserver(all).observe(list, { childList: true });
const strip = document.querySelector('.strip');
let bound = graph();
if (strip) {
  // A sub-task changes the drawing itself: the server sends it anew.
  new MutationObserver(() => {
    const fresh = graph();
    if (fresh && fresh !== bound) { bound = fresh; arrowKeys(fresh); all(); } else hold();
  }).observe(strip, { childList: true, subtree: true });
}
all();
document.addEventListener('run:shown', all); // an earlier moment, or the newest again (scrub.js)
setInterval(() => { for (const item of items()) if (item.dataset.since) draw(item); }, 1000);
setInterval(() => { for (const el of document.querySelectorAll('[data-clock]')) put(el, clock(passed(attr(el, 'data-clock')))); }, 1000);

// ---- zoom: buttons for cards that are too small or too large; the strip scrolls
const zoom = document.getElementById('zoom');
if (zoom) zoom.hidden = false;
zoom?.addEventListener('click', (event) => {
  const by = Number(attr(event.target instanceof Element ? event.target.closest('[data-zoom]') : null, 'data-zoom') || NaN);
  const drawing = graph()?.querySelector('.drawing');
  if (!drawing || Number.isNaN(by)) return;
  const now = drawing.getBoundingClientRect(), [, , w, h] = attr(drawing, 'viewBox').split(' ').map(Number);
  graph()?.classList.toggle('zoomed', by > 0);
  const wide = by ? Math.min(2 * w, Math.max(w / 4, now.width * by)) : w * 1.08;
  drawing.setAttribute('width', String(Math.round(wide)));
  drawing.setAttribute('height', String(Math.round(wide * h / w)));
});

// ---- layers open and close where they are; without a script the link opens one
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-fold]') : null;
  if (!link || /** @type {MouseEvent} */ (event).ctrlKey || /** @type {MouseEvent} */ (event).metaKey) return;
  event.preventDefault();
  link.setAttribute('aria-expanded', String(link.closest('.layer')?.classList.toggle('open')));
});
