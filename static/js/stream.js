// @ts-check
// The live stream of one run: socket (or poll), gap check, DOM window, follow, inspector.
import { localTimes } from './shell.js';

const CHUNK = 100, KEEP = 12, POLL = 3000;
const el = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const stream = el('stream'), pill = el('live'), counted = el('counted'), fresh = el('fresh'), lanes = el('lanes');
const follow = el('follow'), inspector = el('inspector'), work = /** @type {HTMLElement} */ (inspector.closest('.work'));
const run = stream.dataset.run, all = stream.dataset.all === '1', query = stream.dataset.query || '';
const frozen = stream.dataset.frozen === '1';
let last = Number(stream.dataset.last), shown = Number(stream.dataset.shown), total = last, unseen = 0;
let following = !stream.dataset.seq && !frozen;
const count = (/** @type {number} */ n) => n.toLocaleString('en');

/** Server HTML into nodes. It is escaped there; here nothing of it is ever run. The one place with a policy for it. */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy('aiswe', { createHTML: (/** @type {string} */ html) => html });
const nodes = (/** @type {string} */ html) => {
  const t = document.createElement('template');
  t.innerHTML = policy ? policy.createHTML(html) : html;
  return t.content;
};

// ---- what the page says about itself
const WORDS = { live: 'live', reconnecting: 'reconnecting', poll: 'live by polling, 3 s', out: 'signed out', off: 'not live', over: 'no access' };
const state = (/** @type {keyof typeof WORDS} */ name, extra = '') => {
  pill.dataset.state = name === 'over' ? 'out' : name;
  pill.textContent = WORDS[name] + extra;
};
const tell = () => {
  counted.textContent = all ? `${count(last)} of ${count(Math.max(total, last))} events, no gaps` : `${count(shown)} shown of ${count(last)}, no gaps`;
  fresh.textContent = unseen ? `${count(unseen)} new below` : '';
};

// ---- following
let moved = 0; // when the page itself scrolled last: that says nothing about what the reader wants
const scrollTo = (/** @type {number} */ top) => { moved = Date.now(); stream.scrollTop = top; };
const bottom = () => scrollTo(stream.scrollHeight);
const setFollow = (/** @type {boolean} */ on) => {
  following = on;
  follow.setAttribute('aria-pressed', String(on));
  follow.textContent = on ? 'Following' : 'Follow';
  if (on) { unseen = 0; bottom(); tell(); }
};
follow.hidden = false;
follow.addEventListener('click', () => setFollow(!following));
let scrolledAt = 0;
stream.addEventListener('scroll', () => {
  const up = stream.scrollTop < scrolledAt - 4;
  scrolledAt = stream.scrollTop;
  const distance = stream.scrollHeight - stream.scrollTop - stream.clientHeight;
  if (following && up && distance > 60) setFollow(false);
  else if (!following && !frozen && !up && distance < 4 && Date.now() - moved > 300) setFollow(true);
}, { passive: true });
document.addEventListener('selectionchange', () => {
  const s = document.getSelection();
  if (following && s && !s.isCollapsed && stream.contains(s.anchorNode)) setFollow(false);
});

new ResizeObserver(() => { if (following) bottom(); }).observe(stream);

// ---- the window: rows near the view are in the DOM, the rest is space of the same height
const chunkAt = (/** @type {number} */ n) => /** @type {HTMLElement|null} */ (stream.querySelector(`[data-n="${n}"]`));
const makeChunk = (/** @type {number} */ n) => {
  let c = chunkAt(n);
  if (c) return c;
  c = document.createElement('div');
  c.className = 'chunk';
  c.dataset.n = String(n);
  stream.append(c);
  near.observe(c);
  return c;
};
const loading = new Set();
async function load(/** @type {HTMLElement} */ chunk) {
  const n = Number(chunk.dataset.n);
  if (chunk.childElementCount || loading.has(n)) return;
  loading.add(n);
  try {
    const answer = await fetch(`/runs/${run}/c/${n}`);
    if (answer.ok && !chunk.childElementCount) { chunk.replaceChildren(nodes(await answer.text())); localTimes(chunk); }
  } catch { /* it is tried again when it comes into view again */ } finally { loading.delete(n); }
  trim();
}
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) load(/** @type {HTMLElement} */ (entry.target));
}, { root: stream, rootMargin: '200% 0px' });
function trim() {
  const held = /** @type {HTMLElement[]} */ ([...stream.querySelectorAll('.chunk:not(:empty)')]);
  if (held.length <= KEEP) return;
  const middle = stream.scrollTop + stream.clientHeight / 2, tail = Math.floor((last - 1) / CHUNK);
  const far = (/** @type {HTMLElement} */ c) => Math.abs(c.offsetTop + c.offsetHeight / 2 - middle);
  held.sort((a, b) => far(b) - far(a));
  for (const c of held.slice(0, held.length - KEEP)) {
    // Only a whole chunk may be emptied: its space is known, and it can be fetched again as it was.
    if (Number(c.dataset.n) !== tail && c.childElementCount === CHUNK && !c.contains(document.activeElement)) c.replaceChildren();
  }
}
if (all) for (const c of stream.querySelectorAll('.chunk')) near.observe(c);

// ---- frames: in order, without a hole, nothing twice
let filling = false;
const waiting = /** @type {any[]} */ ([]);
function take(/** @type {any} */ f) {
  for (const t of f.tok || []) delta(t);
  if (f.last !== undefined) total = Math.max(total, f.last);
  if (f.to === undefined || f.to <= last) return;
  if (f.from > last + 1) { waiting.push(f); fill(f.from - 1); return; }
  place(f);
  for (const row of waiting.splice(0).sort((a, b) => a.from - b.from)) take(row);
}
function place(/** @type {any} */ f) {
  const before = last;
  if (f.skip) {
    for (let n = Math.floor(last / CHUNK); n <= Math.floor((f.to - 1) / CHUNK); n++) {
      const c = makeChunk(n);
      if (c.childElementCount && c.childElementCount < CHUNK) { c.replaceChildren(); if (n * CHUNK < f.to) load(c); }
    }
  } else if (f.rows) {
    const content = nodes(f.rows);
    for (const row of [...content.children]) {
      const seq = Number(/** @type {HTMLElement} */ (row).dataset.seq);
      if (seq <= before) continue;
      if (all) {
        const chunk = makeChunk(Math.floor((seq - 1) / CHUNK));
        // A tail that was emptied (or never sent) is fetched whole instead of being begun in its middle.
        if (!chunk.childElementCount && (seq - 1) % CHUNK) load(chunk); else chunk.append(row);
      } else { stream.firstElementChild?.append(row); shown++; }
      // The finished thought takes the place of its words in the making.
      if (/lane-thought|lane-error/.test(row.className)) {
        const role = row.querySelector('.r')?.textContent || '', task = /** @type {HTMLElement} */ (row).dataset.task || 'plan';
        for (const name of [role, `${task} ${role}`]) lanes.querySelector(`[data-lane="${CSS.escape(name)}"]`)?.remove();
      }
    }
    if (!all) { const list = stream.firstElementChild; while (list && list.childElementCount > 600) list.firstElementChild?.remove(); }
    if (!following) unseen += all ? f.to - before : f.n || 0;
  }
  last = f.to;
  panels(f.ui);
  for (const s of f.say || []) say(s);
  trim();
  if (following) bottom();
  tell();
}
async function fill(/** @type {number} */ upto) {
  if (filling) return;
  filling = true;
  try {
    while (last < upto) {
      const answer = await fetch(`/runs/${run}/rows?after=${last}&upto=${upto}&${query}`);
      if (!answer.ok || answer.redirected) break;
      const f = await answer.json(), before = last;
      if (f.to > last) place(f);
      if (last === before) break;
    }
  } catch { /* the socket or the poll comes again with the same hole */ } finally { filling = false; }
  for (const f of waiting.splice(0).sort((a, b) => a.from - b.from)) if (f.from <= last + 1) take(f);
}

// ---- panels: replaced by id, focus kept
function panels(/** @type {string} */ html) {
  if (!html) return;
  for (const fresh of [...nodes(html).children]) {
    const old = document.getElementById(fresh.id);
    if (!old) {
      if (fresh.matches('li[data-key]')) document.querySelector('ul.tasks')?.append(fresh); // a sub-task
      continue;
    }
    const index = [...old.querySelectorAll('a,button')].indexOf(/** @type {any} */ (document.activeElement));
    old.replaceWith(fresh);
    if (index >= 0) /** @type {HTMLElement|undefined} */ (fresh.querySelectorAll('a,button')[index])?.focus();
    localTimes(fresh);
    if (fresh.id === 'run-status') {
      const now = /** @type {HTMLElement} */ (fresh).dataset.state || '';
      if (/finished|failed|cancelled/.test(now)) lanes.replaceChildren();
      for (const form of document.querySelectorAll('#controls form[data-when]')) {
        /** @type {HTMLElement} */ (form).hidden = !(/** @type {HTMLElement} */ (form).dataset.when || '').split(' ').includes(now);
      }
    }
  }
}

// ---- words of a model as they come
function delta(/** @type {any} */ t) {
  let lane = /** @type {HTMLElement|null} */ (lanes.querySelector(`[data-lane="${CSS.escape(t.lane)}"]`));
  if (!lane || lane.dataset.id !== t.id) {
    lane?.remove();
    lane = document.createElement('div');
    lane.className = 'lane';
    lane.dataset.lane = t.lane;
    lane.dataset.id = t.id;
    const name = document.createElement('b'), text = document.createElement('pre'), inner = document.createElement('span');
    name.textContent = t.lane;
    inner.append(document.createTextNode(''));
    text.append(inner);
    lane.append(name, text);
    lanes.append(lane);
  }
  const node = /** @type {Text} */ (lane.querySelector('span')?.firstChild);
  node.appendData(t.s);
  if (node.length > 4000) node.deleteData(0, node.length - 3000);
}

// ---- said aloud: approvals at once, of the rest the weightiest, at most one in ten seconds
let spoken = 0, best = /** @type {any} */ (null), timer = 0;
function say(/** @type {any} */ s) {
  if (s.p === 'assertive') { el('say-now').textContent = s.t; return; }
  if (!best || s.w > best.w) best = s;
  if (timer) return;
  timer = window.setTimeout(() => { timer = 0; spoken = Date.now(); el('say-polite').textContent = best.t; best = null; },
    Math.max(0, 10000 - (Date.now() - spoken)));
}

// ---- connection
let socket = /** @type {WebSocket|null} */ (null), tries = 0, opened = false, poller = 0, heard = 0, ended = false, retry = 0;
function connect() {
  clearTimeout(retry);
  if (ended || frozen) return;
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws', was = last;
  let first = true;
  try { socket = new WebSocket(`${scheme}://${location.host}/ws/runs/${run}?after=${last}&${query}`); } catch { socket = null; again(); return; }
  const mine = socket;
  mine.onmessage = (event) => {
    heard = Date.now();
    if (first) { first = false; opened = true; tries = 0; stopPoll(); if (document.hidden) mine.send('{"hidden":true}'); }
    take(JSON.parse(event.data));
    state('live', was && last - was > 1 && Date.now() - since < 4000 ? `, caught up ${count(last - was)}` : '');
  };
  const since = Date.now();
  heard = since;
  mine.onclose = (event) => {
    if (socket !== mine) return;
    socket = null;
    if (event.code === 4401) { ended = true; stopPoll(); state('out'); return; }
    if (event.code === 4403) { ended = true; stopPoll(); state('over'); return; }
    again();
  };
}
function again() {
  tries++;
  state('reconnecting');
  if (tries >= (opened ? 4 : 2)) startPoll();
  clearTimeout(retry);
  retry = window.setTimeout(connect, Math.min(15000, 300 * 2 ** Math.min(tries, 6)) * (0.75 + Math.random() / 2));
}
async function poll() {
  try {
    const answer = await fetch(`/runs/${run}/rows?after=${last}&${query}`, { redirect: 'manual' });
    if (answer.type === 'opaqueredirect' || answer.status === 404) { ended = true; stopPoll(); state('out'); return; }
    if (!answer.ok) throw new Error(String(answer.status));
    const f = await answer.json();
    take(f);
    if (!socket || socket.readyState !== 1) state('poll');
    if (f.to < f.last) poll();
  } catch { state('reconnecting'); }
}
const startPoll = () => { if (!poller && !frozen) { poll(); poller = window.setInterval(poll, POLL); } };
const stopPoll = () => { clearInterval(poller); poller = 0; };
setInterval(() => { if (socket && Date.now() - heard > 20000) { const dead = socket; socket = null; dead.close(); again(); } }, 5000);
window.addEventListener('online', () => { if (!socket) { tries = 0; connect(); } });
window.addEventListener('offline', () => { const dead = socket; socket = null; dead?.close(); again(); });
document.addEventListener('visibilitychange', () => { if (socket?.readyState === 1) socket.send(`{"hidden":${document.hidden}}`); });

// ---- the inspector, and the stream's own keys
let asked = 0;
async function open(/** @type {HTMLElement} */ row) {
  const seq = row.dataset.seq, mine = ++asked;
  for (const other of stream.querySelectorAll('.here')) other.classList.remove('here');
  row.classList.add('here');
  try {
    const answer = await fetch(`/runs/${run}/i/${seq}`);
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const html = await answer.text();
    if (mine === asked) { inspector.replaceChildren(nodes(html)); localTimes(inspector); work.dataset.inspector = 'open'; }
  } catch { location.href = `/runs/${run}/e/${seq}`; }
}
stream.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a.s') : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (following) setFollow(false);
  open(/** @type {HTMLElement} */ (link.closest('.ev')));
});
el('inspector-close').addEventListener('click', (event) => { event.preventDefault(); work.dataset.inspector = 'closed'; stream.focus(); });
const step = (/** @type {number} */ by, /** @type {string} */ selector) => {
  const rows = /** @type {HTMLElement[]} */ ([...stream.querySelectorAll(selector)]);
  const here = document.activeElement?.closest('.ev') || stream.querySelector('.here');
  const from = here ? Number(/** @type {HTMLElement} */ (here).dataset.seq) : by > 0 ? 0 : Infinity;
  const next = by > 0 ? rows.find((r) => Number(r.dataset.seq) > from) : rows.reverse().find((r) => Number(r.dataset.seq) < from);
  if (!next) return;
  if (following) setFollow(false);
  /** @type {HTMLElement} */ (next.querySelector('a.s')).focus();
  next.scrollIntoView({ block: 'nearest' });
};
document.addEventListener('keydown', (event) => {
  if (document.body.dataset.keys !== 'on' || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  if (event.key === 'j') step(1, '.ev');
  else if (event.key === 'k') step(-1, '.ev');
  else if (event.key === 'e') step(1, '.ev.tone-err');
  else if (event.key === 'E') step(-1, '.ev.tone-err');
  else if (event.key === 'f') setFollow(!following);
});
const target = stream.dataset.seq ? el(`e${stream.dataset.seq}`) : null;
if (target) scrollTo(target.offsetTop - stream.clientHeight / 2);
setFollow(following);
if (stream.dataset.at) bottom();
else tell();
if (!frozen) { state('reconnecting'); connect(); } else if (!stream.dataset.at) state('off');
