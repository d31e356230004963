// @ts-check
// Time travel: the slider below a run, its keys, playing it, and panels of an earlier moment in place of the live ones.
import { localTimes } from './shell.js';
import { hold, nodes, newest as total } from './stream.js';

const PAUSE = 120, FRAME = 500, FRAMES = 120, TRACK_EVERY = 10000; // ms; a whole run plays in a minute
const el = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const form = /** @type {HTMLFormElement | null} */ (document.querySelector('.scrub'));
if (form) start(form);
function start(/** @type {HTMLFormElement} */ form) {
  const play = el('play'), pill = el('live'), toLive = el('to-live'), past = el('past');
  const address = form.action, loadedAt = Number(form.dataset.at);
  const range = () => /** @type {HTMLInputElement} */ (el('scrub'));
  const at = () => Number(range().value), head = () => Number(range().max);
  const count = (/** @type {number} */ n) => n.toLocaleString('en');
  const live = /** @type {Map<string, Element>} */ (new Map()); // what the moment took the place of
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
      const answer = await fetch(page, { signal: request.signal, redirect: 'manual' });
      if (!answer.ok) throw new Error(String(answer.status));
      put(nodes(await answer.text()), wanted);
      history.replaceState(null, '', page);
    } catch (error) {
      if (/** @type {Error} */ (error).name === 'AbortError') return;
      stop();
      if (pill) pill.textContent = 'this moment could not be loaded';
    }
  }
  function put(/** @type {DocumentFragment} */ page, /** @type {number} */ wanted) {
    if (!loadedAt && !live.size) {
      hold(true);
      top = el('stream').scrollTop;
      for (const panel of document.querySelectorAll('[data-panel]')) live.set(/** @type {HTMLElement} */ (panel).dataset.panel || '', panel);
    }
    for (const then of /** @type {NodeListOf<HTMLElement>} */ (page.querySelectorAll('[data-panel]'))) {
      const now = document.querySelector(`[data-panel="${then.dataset.panel}"]`);
      if (!now) continue;
      for (const [n, fold] of [...then.querySelectorAll('details')].entries()) fold.open = now.querySelectorAll('details')[n]?.open || false;
      now.replaceWith(then);
      localTimes(then);
    }
    const rows = el('stream');
    for (const empty of rows.querySelectorAll('.chunk:empty')) empty.remove(); // only the newest rows come along
    rows.scrollTop = rows.scrollHeight;
    const moment = page.getElementById('moment');
    if (moment && wanted === at()) { el('moment').replaceWith(moment); localTimes(moment); }
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
  function goLive() {
    stop();
    request.abort();
    if (loadedAt) location.assign(address);
    if (loadedAt || !live.size) return;
    for (const [name, panel] of live) document.querySelector(`[data-panel="${name}"]`)?.replaceWith(panel);
    live.clear();
    el('stream').scrollTop = top;
    const query = new URLSearchParams(location.search);
    query.delete('at');
    history.replaceState(null, '', address + (query.size ? `?${query}` : ''));
    inPast(false);
    hold(false);
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

  // ---- at the live end the slider follows; marks and bars are drawn again now and then
  function follow() {
    const follows = !live.size && !loadedAt && !playing && at() >= head(), input = range();
    input.max = String(Math.max(head(), total()));
    if (follows) input.value = input.max;
    grown = true;
    tell('');
  }
  document.addEventListener('run:head', follow);
  if (total() > head()) follow();
  setInterval(async () => {
    if (!grown || live.size || playing || document.hidden || document.activeElement === range() || Date.now() - trackAt < TRACK_EVERY) return;
    grown = false;
    trackAt = Date.now();
    const answer = await fetch(`/runs/${form.dataset.run}/track`, { redirect: 'manual' }).catch(() => null);
    if (!answer?.ok || live.size) return;
    const fresh = nodes(await answer.text());
    for (const id of ['track', 'moment']) { const one = fresh.getElementById(id); if (one) { el(id).replaceWith(one); localTimes(one); } }
  }, 2000);
}
