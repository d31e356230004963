// @ts-check
// The live stream of one run: socket (or poll), gap check, DOM window, follow, inspector.
import { localTimes } from './shell.js';

const CHUNK = 100, KEEP = 10, POLL = 3000;
const el = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const stream = el('stream'), pill = el('live'), counted = el('counted'), lanes = el('lanes');
const follow = el('follow'), inspector = el('inspector'), work = /** @type {HTMLElement} */ (stream.closest('.work'));
const run = stream.dataset.run, all = stream.dataset.all === '1', query = stream.dataset.query || '';
const frozen = stream.dataset.frozen === '1';
let ended = false, last = Number(stream.dataset.last), shown = Number(stream.dataset.shown), total = last, unseen = 0;
let following = !stream.dataset.seq && !frozen;
const count = (/** @type {number} */ n) => n.toLocaleString('en');

/** Server HTML into nodes. It is escaped there; here nothing of it is ever run. The one place with a policy for it. */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy('aiswe', { createHTML: (/** @type {string} */ html) => html });
export const nodes = (/** @type {string} */ html) => {
  const t = document.createElement('template');
  t.innerHTML = policy ? policy.createHTML(html) : html;
  return t.content;
};

// ---- an earlier moment is shown in place of what is live (scrub.js): until it is left, nothing here changes the page
let held = false;
export const newest = () => total;
export const hold = (/** @type {boolean} */ on) => { held = follow.hidden = lanes.hidden = on; if (!on && total > last) fill(total); };

// ---- the slider's script comes when somebody reaches for it, or when the run goes on
const slider = /** @type {HTMLFormElement|null} */ (document.querySelector('form.scrub'));
const bring = (/** @type {Event} */ event) => { if (slider) { if (event.type === 'click') slider.dataset.wanted = 'play'; import(slider.dataset.script || ''); } };
if (slider) {
  el('play').hidden = false;
  el('show-moment').hidden = true;
  for (const kind of ['pointerover', 'focusin', 'input']) slider.addEventListener(kind, bring, { once: true });
  el('play').addEventListener('click', bring, { once: true });
  document.addEventListener('run:head', bring, { once: true });
}

// ---- what the page says about itself
const WORDS = { live: 'live', reconnecting: 'reconnecting', poll: 'live by polling, 3 s', out: 'signed out', off: 'not live', over: 'no access' };
const state = (/** @type {keyof typeof WORDS} */ name, extra = '') => {
  if (held) return;
  pill.dataset.state = name === 'over' ? 'out' : name;
  pill.textContent = WORDS[name] + extra;
};
const tell = () => {
  counted.textContent = all ? `${count(last)} of ${count(Math.max(total, last))} events, no gaps` : `${count(shown)} shown of ${count(last)}, no gaps`;
  follow.textContent = following ? 'Following' : unseen ? `Jump to live, ${count(unseen)} new` : 'Follow';
};

// ---- following
let moved = 0; // when the page itself scrolled last: that says nothing about what the reader wants
const scrollTo = (/** @type {number} */ top) => { moved = Date.now(); stream.scrollTop = top; };
const bottom = () => scrollTo(stream.scrollHeight);
const setFollow = (/** @type {boolean} */ on) => {
  following = on;
  follow.setAttribute('aria-pressed', String(on));
  if (on) { unseen = 0; bottom(); }
  tell();
};
follow.hidden = false;
follow.addEventListener('click', () => setFollow(!following));
let scrolledAt = 0;
stream.addEventListener('scroll', () => {
  const up = stream.scrollTop < scrolledAt - 4;
  scrolledAt = stream.scrollTop;
  if (held) return;
  const distance = stream.scrollHeight - stream.scrollTop - stream.clientHeight;
  if (following && up && distance > 60) setFollow(false);
  else if (!following && !frozen && !up && distance < 4 && Date.now() - moved > 300) setFollow(true);
}, { passive: true });
document.addEventListener('selectionchange', () => {
  const s = document.getSelection();
  if (following && s && !s.isCollapsed && stream.contains(s.anchorNode)) setFollow(false);
});

new ResizeObserver(() => { if (following && !held) bottom(); }).observe(stream);

// ---- the window: rows near the view are in the DOM, the rest is space of the same height
const chunkAt = (/** @type {number} */ n) => /** @type {HTMLElement|null} */ (stream.querySelector(`[data-n="${n}"]`));
const makeChunk = (/** @type {number} */ n) => {
  let c = chunkAt(n);
  if (c) return c;
  c = document.createElement('div');
  c.className = 'chunk';
  c.dataset.n = String(n);
  stream.append(c);
  stream.ariaBusy = 'false'; // a feed without a row waits for its first
  near.observe(c);
  return c;
};
/** Space for rows that are not there: so many of each height. */
const reserve = (/** @type {HTMLElement} */ chunk, /** @type {unknown} */ short, /** @type {unknown} */ tall) => {
  chunk.style.setProperty('--short', String(short));
  chunk.style.setProperty('--tall', String(tall));
};
const seqOf = (/** @type {Element|null|undefined} */ row) => Number(/** @type {HTMLElement|null} */ (row)?.dataset.seq || 0);
const rowsIn = (/** @type {Element} */ part) => part.matches('.ev') ? [part] : [...part.querySelectorAll('.ev')];
const opened = new Set(); // folds the reader opened, and the row that is open: a chunk that comes back comes back as it was
let here = Number(stream.dataset.seq || 0);
export function restore(/** @type {Element} */ chunk) {
  chunk.querySelector('.here')?.classList.remove('here');
  for (const id of opened) { const fold = chunk.querySelector(`#${id} > details`); if (fold) fold.setAttribute('open', ''); }
  if (here) chunk.querySelector(`#e${here}`)?.classList.add('here');
}
/** A part of the stream as the page of a moment has it; what it does not have yet is loaded when it comes into view. */
export function adopt(/** @type {HTMLElement} */ chunk) {
  restore(chunk);
  if (!all) return;
  reserve(chunk, chunk.dataset.short, chunk.dataset.tall);
  near.observe(chunk);
}
const loading = new Map();
function load(/** @type {HTMLElement} */ chunk) {
  const n = Number(chunk.dataset.n);
  if (chunk.childElementCount) return Promise.resolve();
  if (!loading.has(n)) loading.set(n, fetched(chunk, n).finally(() => { loading.delete(n); trim(); }));
  return loading.get(n);
}
async function fetched(/** @type {HTMLElement} */ chunk, /** @type {number} */ n) {
  try {
    do {
      const answer = await fetch(`/runs/${run}/c/${n}`);
      if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
      chunk.replaceChildren(nodes(await answer.text()));
      // Rows that came while it was under way were not put into it: then it is fetched once more.
    } while (seqOf([...chunk.querySelectorAll('.ev')].pop()) < Math.min(last, (n + 1) * CHUNK));
    restore(chunk);
    localTimes(chunk);
    if (following && !held) bottom();
  } catch { if (!ended) window.setTimeout(() => { if (chunk.isConnected) load(chunk); }, POLL); }
}
stream.addEventListener('toggle', (event) => {
  const fold = /** @type {HTMLDetailsElement} */ (event.target), id = fold.parentElement?.id || '';
  if (fold.open) opened.add(id); else opened.delete(id);
}, true);
for (const fold of stream.querySelectorAll('.fold:has(> [open])')) opened.add(fold.id);
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
    // Only a whole chunk may be emptied: its space is known, and it can be fetched again as it was. The open row stays.
    const held = c.querySelectorAll('.ev').length, open = Math.floor((here - 1) / CHUNK);
    if (far(c) < (stream.clientHeight + c.offsetHeight) / 2) break; // in view, as are those that follow: folds can be low
    if ([tail, open].includes(Number(c.dataset.n)) || held !== CHUNK || c.contains(document.activeElement)) continue;
    const tall = c.querySelectorAll('.tall').length, away = c.querySelectorAll('details:not([open]) > .ev').length;
    reserve(c, c.querySelectorAll('.line').length - away, tall);
    c.replaceChildren();
  }
}
if (all) for (const c of /** @type {NodeListOf<HTMLElement>} */ (stream.querySelectorAll('.chunk'))) { reserve(c, c.dataset.short, c.dataset.tall); near.observe(c); }

// ---- frames: in order, without a hole, nothing twice
let filling = false;
const waiting = /** @type {any[]} */ ([]);
function take(/** @type {any} */ f) {
  if (f.last > total) { total = f.last; document.dispatchEvent(new CustomEvent('run:head', { detail: total })); }
  if (held) return;
  for (const t of f.tok || []) delta(t);
  if (f.to === undefined) panels(f.ui); // what the run as a whole is at: it comes by itself, at most twice a second
  if (f.to === undefined || f.to <= last) return;
  if (f.from > last + 1) { waiting.push(f); fill(f.from - 1); return; }
  // A frame must hold each row it speaks of, once and in order; else they are fetched again.
  if (all && f.rows) {
    const seqs = [...f.rows.matchAll(/data-seq="(\d+)"/g)].map((found) => Number(found[1])).filter((seq) => seq > last);
    if (seqs.length !== f.to - last || seqs.some((seq, at) => seq !== last + 1 + at)) { fill(f.to); return; }
  }
  place(f);
  for (const row of waiting.splice(0).sort((a, b) => a.from - b.from)) take(row);
}
function place(/** @type {any} */ f) {
  const before = last;
  if (f.skip) {
    for (const [n, short, tall] of f.heights || []) reserve(makeChunk(n), short, tall);
    for (let n = Math.floor(last / CHUNK); n <= Math.floor((f.to - 1) / CHUNK); n++) {
      const c = makeChunk(n);
      if (c.childElementCount && c.childElementCount < CHUNK) { c.replaceChildren(); if (n * CHUNK < f.to) load(c); }
    }
  } else if (f.rows) {
    for (const part of [...nodes(f.rows).children]) {
      const rows = rowsIn(part), seq = seqOf(rows[rows.length - 1]);
      if (seq <= before) continue;
      if (all) {
        const chunk = makeChunk(Math.floor((seq - 1) / CHUNK));
        // A tail that was emptied (or never sent) is fetched whole instead of being begun in its middle.
        if (!chunk.childElementCount && ((seqOf(rows[0]) - 1) % CHUNK || loading.has(Number(chunk.dataset.n)))) load(chunk); else put(part, rows, chunk);
      } else { stream.firstElementChild?.append(part); shown++; }
      for (const row of rows) if (seqOf(row) > before) laneOf(/** @type {HTMLElement} */ (row));
    }
    if (!all) { const list = stream.firstElementChild; while (list && list.childElementCount > 600) list.firstElementChild?.remove(); }
    if (!following) unseen += all ? f.to - before : f.n || 0;
  }
  last = f.to;
  if (f.errors) {
    const told = el('error-count');
    told.dataset.count = String(Number(told.dataset.count) + f.errors);
    told.textContent = count(Number(told.dataset.count));
  }
  panels(f.ui);
  for (const s of f.say || []) say(s);
  trim();
  if (following) bottom();
  tell();
}
/** A row, or a fold that has grown: what it holds is never there twice, and what was open, marked or in focus still is. */
function put(/** @type {Element} */ part, /** @type {Element[]} */ rows, /** @type {HTMLElement} */ chunk) {
  const held = document.activeElement?.closest('.ev')?.id, fold = document.getElementById(part.id);
  const onFold = !held && fold?.contains(document.activeElement);
  if (opened.has(part.id)) part.firstElementChild?.setAttribute('open', '');
  for (const row of rows) {
    const old = document.getElementById(row.id);
    if (old?.classList.contains('here')) row.classList.add('here');
    if (old && old !== fold) old.remove();
  }
  localTimes(/** @type {ParentNode} */ (part));
  if (fold) fold.replaceWith(part);
  else if (seqOf([...chunk.querySelectorAll('.ev')].pop()) < seqOf(rows[0])) chunk.append(part);
  else [...chunk.querySelectorAll('.ev')].find((row) => seqOf(row) > seqOf(rows[0]))?.closest('.chunk > *')?.before(part);
  if (onFold) part.querySelector('summary')?.focus();
  if (held && rows.some((row) => row.id === held)) /** @type {HTMLElement|null} */ (part.querySelector(`#${held} a.s`) || part.querySelector('a.s'))?.focus();
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
    if (fresh.id === 'run-status') isNow(/** @type {HTMLElement} */ (fresh).dataset.state || '');
  }
}
/** What may be done with the run in this state. */
export function isNow(/** @type {string} */ now) {
  if (/finished|failed|cancelled/.test(now)) lanes.replaceChildren();
  lanes.dataset.state = now;
  for (const form of document.querySelectorAll('#controls form[data-when]')) {
    /** @type {HTMLElement} */ (form).hidden = !(/** @type {HTMLElement} */ (form).dataset.when || '').split(' ').includes(now);
  }
}

// ---- what each agent does now: the words of a model as they come, or the command that runs; always as high
const laneAt = (/** @type {string} */ name) => /** @type {HTMLElement|null} */ (lanes.querySelector(`[data-lane="${CSS.escape(name)}"]`));
const more = document.createElement('p');
more.className = 'more';
function arrange() {
  const there = /** @type {HTMLElement[]} */ ([...lanes.querySelectorAll('.lane')]), over = there.length - 3;
  there.forEach((lane, at) => { lane.hidden = at > 2; });
  more.textContent = over > 0 ? `${over} more` : '';
  if (over > 0) lanes.append(more); else more.remove();
}
function laneFor(/** @type {string} */ name, /** @type {string} */ id, /** @type {string} */ does, command = false) {
  const old = laneAt(name);
  if (old && old.dataset.id === id) return old;
  const [role, task] = name.split(' ').reverse(), lane = document.createElement('div');
  lane.className = `lane by-${role}`;
  lane.dataset.lane = name;
  lane.dataset.id = id;
  const head = document.createElement('header'), who = document.createElement('b'), what = document.createElement('span');
  who.textContent = role;
  what.textContent = task ? `${task} · ${does}` : does;
  head.append(who, what);
  const text = document.createElement(command ? 'pre' : 'p'), inner = document.createElement('span');
  inner.append(document.createTextNode(''));
  text.append(inner);
  lane.append(head, text);
  if (old) old.replaceWith(lane); else lanes.append(lane);
  arrange();
  return lane;
}
function delta(/** @type {any} */ t) {
  const node = /** @type {Text} */ (laneFor(t.lane, t.id, 'writes').querySelector('p span')?.firstChild);
  node.appendData(t.s);
  if (node.length > 4000) node.deleteData(0, node.length - 3000);
}
/** A row says what its author does next, or that it is done: the finished thought takes the place of its words. */
function laneOf(/** @type {HTMLElement} */ row) {
  const role = row.querySelector('.r')?.textContent || '', name = row.dataset.task ? `${row.dataset.task} ${role}` : `plan ${role}`;
  if (row.matches('.intent')) {
    const text = row.querySelector('a.s')?.lastChild?.textContent?.trim() || '', command = row.matches('.lane-cmd');
    if (/^asks /.test(text)) laneFor(name, row.id, 'thinks');
    else /** @type {Text} */ (laneFor(name, row.id, command ? 'runs' : 'works', command).querySelector('pre span, p span')?.firstChild).data = command ? `$ ${text}` : text;
  } else if (!row.matches('.lane-llmusage')) { for (const one of [name, role]) laneAt(one)?.remove(); arrange(); }
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
let socket = /** @type {WebSocket|null} */ (null), tries = 0, worked = false, poller = 0, heard = 0, retry = 0;
function connect() {
  clearTimeout(retry);
  if (ended || frozen) return;
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws', was = last;
  let first = true;
  try { socket = new WebSocket(`${scheme}://${location.host}/ws/runs/${run}?after=${last}&${query}`); } catch { socket = null; again(); return; }
  const mine = socket;
  mine.onmessage = (event) => {
    heard = Date.now();
    if (first) { first = false; worked = true; tries = 0; stopPoll(); if (document.hidden) mine.send('{"hidden":true}'); }
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
  if (tries >= (worked ? 4 : 2)) startPoll();
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
    if (f.to < f.last && !held) poll();
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
  here = Number(seq);
  try {
    const answer = await fetch(`/runs/${run}/i/${seq}`);
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const html = await answer.text();
    if (mine !== asked) return;
    inspector.replaceChildren(nodes(html));
    localTimes(inspector);
    /** @type {HTMLElement} */ (inspector.parentElement).scrollTop = 0;
    const at = row.getBoundingClientRect().top;
    work.dataset.inspector = 'open';
    scrollTo(stream.scrollTop + row.getBoundingClientRect().top - at); // the stream keeps its place
  } catch { location.href = `/runs/${run}/e/${seq}`; }
}
function shut() {
  const row = stream.querySelector('.here'), at = row?.getBoundingClientRect().top || 0;
  work.dataset.inspector = 'closed';
  here = 0;
  row?.classList.remove('here');
  if (row) scrollTo(stream.scrollTop + row.getBoundingClientRect().top - at);
  /** @type {HTMLElement} */ (row?.querySelector('a.s') || stream).focus({ preventScroll: true });
}
el('inspector-close').addEventListener('click', (event) => { event.preventDefault(); shut(); });
/** Bring an event of any place of the run into view and open it. */
async function jump(/** @type {number} */ seq) {
  if (following) setFollow(false);
  const chunk = all ? chunkAt(Math.floor((seq - 1) / CHUNK)) : null;
  here = seq; // before its rows come: far from the view, they would be emptied again
  if (chunk) await load(chunk);
  const row = document.getElementById(`e${seq}`);
  if (!row) { location.href = `/runs/${run}/e/${seq}`; return; }
  row.closest('details')?.setAttribute('open', '');
  scrollTo(stream.scrollTop + row.getBoundingClientRect().top - stream.getBoundingClientRect().top - stream.clientHeight / 2);
  /** @type {HTMLElement} */ (row.querySelector('a.s')).focus({ preventScroll: true });
  open(row);
}
const nextError = /** @type {HTMLAnchorElement|null} */ (document.getElementById('next-error'));
/** The next or the previous error of the whole run: the server knows it, loaded or not. */
async function seek(back = false) {
  const after = seqOf(document.activeElement?.closest('.ev')) || here || (back ? last + 1 : 0);
  const answer = await fetch(`/runs/${run}/seek?after=${after}${back ? '&back=1' : ''}`, { headers: { Accept: 'application/json' } }).catch(() => null);
  if (!answer?.ok) return;
  const found = await answer.json();
  const words = nextError?.querySelector('span');
  if (words) words.textContent = found.count ? `${found.seq ? found.number : found.count} of ${found.count}` : 'none';
  if (found.seq) jump(found.seq); else el('say-polite').textContent = back ? 'No earlier error.' : 'No later error.';
}
nextError?.addEventListener('click', (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  seek();
});
stream.addEventListener('click', (event) => {
  if (following && event.target instanceof Element && event.target.closest('summary')) setFollow(false);
  const link = event.target instanceof Element ? event.target.closest('a.s') : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (following) setFollow(false);
  open(/** @type {HTMLElement} */ (link.closest('.ev')));
});
const step = (/** @type {number} */ by, /** @type {string} */ selector) => {
  const rows = /** @type {HTMLElement[]} */ ([...stream.querySelectorAll(selector)].filter((row) => !row.closest('details:not([open])')));
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
  else if (event.key === 'e') seek();
  else if (event.key === 'E') seek(true);
  else if (event.key === 'Escape' && work.dataset.inspector === 'open') shut();
  else if (event.key === 'f') setFollow(!following);
});
const target = stream.dataset.seq ? el(`e${stream.dataset.seq}`) : null;
if (target) scrollTo(target.offsetTop - stream.clientHeight / 2);
setFollow(following);
if (stream.dataset.at) bottom();
else tell();
if (!frozen) { state('reconnecting'); connect(); } else if (!stream.dataset.at) state('off');
