// @ts-check
// Time travel: the slider below a run, its keys, playing it, and panels of an earlier moment in place of the live ones.
import { localTimes } from './shell.js';
import { adopt, hold, isNow, nodes, restore, newest as total } from './stream.js';

const CHUNK = 100, PAUSE = 120, FRAME = 500, FRAMES = 120, TRACK_EVERY = 10000; // ms; a whole run plays in a minute
const el = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const form = /** @type {HTMLFormElement | null} */ (document.querySelector('.scrub'));
/** Make `old` look like `fresh` and touch only what differs: places of scroll bars, focus and open folds stay. */
function match(/** @type {Element} */ old, /** @type {Element} */ fresh) {
  for (const { name } of [...old.attributes]) if (name !== 'open' && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  const was = [...old.childNodes], now = [...fresh.childNodes];
  for (const [n, one] of was.entries()) {
    const then = now[n];
    if (!then) one.remove();
    else if (one instanceof Element && then instanceof Element && one.nodeName === then.nodeName && one.id === then.id) match(one, then);
    else if (!one.isEqualNode(then)) one.replaceWith(then);
  }
  old.append(...now.slice(was.length));
}
if (form) start(form);
function start(/** @type {HTMLFormElement} */ form) {
  const play = el('play'), pill = el('live'), toLive = el('to-live'), past = el('past');
  const address = form.action, loadedAt = Number(form.dataset.at);
  const range = () => /** @type {HTMLInputElement} */ (el('scrub'));
  const at = () => Number(range().value), head = () => Number(range().max);
  const count = (/** @type {number} */ n) => n.toLocaleString('en');
  const rows = el('stream'), html = new WeakMap(); // a part of the stream: what the server sent of it
  let live = /** @type {{ rows: Node[], time: Element | null } | null} */ (null); // what a moment took the place of, until it is left
  let was = /** @type {string[]} */ ([]), timer = 0, playing = 0, request = new AbortController(), top = 0, trackAt = Date.now(), grown = false;

  // ---- where the slider stands, in words; the server's words follow with the panels
  function tell(/** @type {string} */ text) {
    const words = text || `event ${count(at())} of ${count(head())}`;
    range().setAttribute('aria-valuetext', words);
    el('track').querySelector('.rail-on')?.setAttribute('width', `${100 * (at() - 1) / Math.max(1, head() - 1)}%`);
    const said = el('moment').querySelector('span');
    if (said) said.textContent = `event ${count(at())} of ${count(head())}`;
  }

  // ---- panels of a moment
  async function show() {
    const wanted = at();
    if (wanted >= head()) { goLive(); return; }
    request.abort();
    request = new AbortController();
    const page = new URL(address), query = new URLSearchParams(location.search);
    query.set('at', String(wanted));
    page.search = query.toString();
    try {
      put(await fetched(page), wanted);
      history.replaceState(null, '', page);
    } catch (error) { failed(error); }
  }
  /** The parts of the run's page that follow the slider. */
  async function fetched(/** @type {URL} */ page) {
    const answer = await fetch(page, { signal: request.signal, redirect: 'manual', headers: { 'HX-Request': 'true' } });
    if (!answer.ok) throw new Error(String(answer.status));
    return nodes(await answer.text());
  }
  function failed(/** @type {unknown} */ error) {
    if (/** @type {Error} */ (error).name === 'AbortError') return;
    stop();
    pill.textContent = 'this moment could not be loaded';
  }
  function panels(/** @type {DocumentFragment} */ page) {
    localTimes(page);
    page.getElementById('zoom')?.removeAttribute('hidden'); // its script is here
    for (const then of /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll('[data-panel]'))) {
      const now = document.querySelector(`[data-panel="${then.dataset.panel}"]`), zoomed = now?.querySelector('.zoomed .drawing');
      for (const name of zoomed ? ['width', 'height'] : []) then.querySelector('.drawing')?.setAttribute(name, zoomed?.getAttribute(name) || '');
      if (zoomed) then.querySelector('#graph')?.classList.add('zoomed');
      if (now && now !== rows) match(now, then);
    }
    document.dispatchEvent(new Event('run:shown'));
  }
  function put(/** @type {DocumentFragment} */ page, /** @type {number} */ wanted) {
    if (!loadedAt && !live) {
      hold(true);
      top = rows.scrollTop;
      const time = document.getElementById('time'); // it asks for news by itself
      live = { rows: [...rows.childNodes], time };
      time?.replaceWith(time.cloneNode(true));
      rows.replaceChildren();
    }
    panels(page);
    const parts = /** @type {HTMLElement[]} */ ([...page.querySelectorAll('#stream > .chunk')]);
    for (const [n, then] of parts.entries()) {
      const now = rows.children[n], sent = then.innerHTML;
      // What did not come along is loaded when it is scrolled to; a whole part that is there stays.
      if (now && (sent ? html.get(now) === sent : now.querySelectorAll('.ev').length === CHUNK)) continue;
      html.set(then, sent);
      if (now) now.replaceWith(then); else rows.append(then);
      adopt(then);
    }
    for (const later of [...rows.children].slice(parts.length)) later.remove();
    rows.scrollTop = rows.scrollHeight;
    const moment = page.getElementById('moment');
    if (moment && wanted === at()) el('moment').replaceWith(moment);
    if (wanted === at()) tell(page.getElementById('scrub')?.getAttribute('aria-valuetext') || '');
    inPast(true, wanted);
  }
  function inPast(/** @type {boolean} */ on, wanted = 0) {
    const saying = /** @type {HTMLInputElement} */ (el('say'));
    if (on && !was.length) was = [pill.dataset.state || '', pill.textContent || '', saying.placeholder];
    [pill.dataset.state, pill.textContent, saying.placeholder] = on ? ['off', `at event ${count(wanted)}`, 'Go back to live to write to the agents'] : was;
    if (!on) was = [];
    toLive.hidden = past.hidden = !on;
    for (const control of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll('#controls form button, #dock .say :is(input, button)'))) {
      if (on && !control.disabled) { control.disabled = true; control.dataset.held = '1'; }
      else if (!on && control.dataset.held) { control.disabled = false; delete control.dataset.held; }
    }
  }
  async function goLive() {
    stop();
    request.abort();
    if (loadedAt) location.assign(address);
    const before = live;
    if (loadedAt || !before) return;
    request = new AbortController();
    const page = new URL(address), query = new URLSearchParams(location.search);
    query.delete('at');
    page.search = query.toString();
    try {
      const now = await fetched(page);
      if (before.time) { now.getElementById('time')?.replaceWith(before.time.cloneNode(true)); el('time').replaceWith(before.time); }
      panels(now);
    } catch (error) { failed(error); return; }
    rows.replaceChildren(...before.rows);
    for (const part of rows.children) restore(part);
    rows.scrollTop = top;
    live = null;
    history.replaceState(null, '', page);
    inPast(false);
    hold(false);
    isNow(el('run-status').dataset.state || '');
    tell('');
  }
  const soon = () => { tell(''); clearTimeout(timer); timer = window.setTimeout(show, PAUSE); };
  const go = (/** @type {number} */ seq) => { range().value = String(seq); soon(); };

  // ---- keys: arrows go by event (the browser's own), with Shift by phase
  form.addEventListener('input', () => { stop(); soon(); });
  form.addEventListener('submit', (event) => { event.preventDefault(); show(); });
  form.addEventListener('keydown', (event) => {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key] || 0;
    if (!event.shiftKey || !by || event.target !== range()) return;
    event.preventDefault();
    stop();
    const phases = (el('track').dataset.phases || '').split(' ').map(Number).filter(Boolean);
    go((by > 0 ? phases.find((seq) => seq > at()) : phases.reverse().find((seq) => seq < at())) || (by > 0 ? head() : 1));
  });
  toLive.addEventListener('click', (event) => { if (!loadedAt) { event.preventDefault(); range().value = range().max; goLive(); } });

  const pressed = (/** @type {string} */ word) => { play.setAttribute('aria-pressed', String(word === 'Pause')); play.lastElementChild?.replaceChildren(word); };

  // ---- playing: by events, so nothing is waited for where nothing happened
  function stop() {
    clearInterval(playing);
    playing = 0;
    pressed('Play the run');
  }
  const toggle = () => {
    if (playing) { stop(); return; }
    if (at() >= head()) range().value = '1';
    const step = Math.max(1, Math.ceil(head() / FRAMES));
    pressed('Pause');
    playing = window.setInterval(() => { range().value = String(Math.min(head(), at() + step)); tell(''); show(); }, FRAME);
    tell('');
    show();
  };
  play.addEventListener('click', toggle);
  if (form.dataset.wanted) toggle();
  else if (at() < head() && at() !== loadedAt) soon(); // it was moved before this script was here

  // ---- at the live end the slider follows; marks and bars are drawn again now and then
  function follow() {
    const follows = !live && !loadedAt && !playing && at() >= head(), input = range();
    input.max = String(Math.max(head(), total()));
    form.hidden = head() < 2;
    if (follows) input.value = input.max;
    grown = true;
    tell('');
  }
  document.addEventListener('run:head', follow);
  if (total() > head()) follow();
  setInterval(async () => {
    if (!grown || live || playing || document.hidden || document.activeElement === range() || Date.now() - trackAt < TRACK_EVERY) return;
    grown = false;
    trackAt = Date.now();
    const answer = await fetch(`/runs/${form.dataset.run}/track`, { redirect: 'manual' }).catch(() => null);
    if (!answer?.ok || live) return;
    const fresh = nodes(await answer.text());
    for (const id of ['track', 'moment']) { const one = fresh.getElementById(id); if (one) { el(id).replaceWith(one); localTimes(one); } }
  }, 2000);
}
