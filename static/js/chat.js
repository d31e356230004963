// @ts-check
// A chat as a conversation: what is new takes its place, words show while they are written, Enter sends.
import { nodes } from './stream.js';
import { localTimes } from './shell.js';

const el = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const scroll = el('talk-scroll'), turns = el('turns'), lanes = el('lanes'), frozen = el('stream').dataset.frozen === '1';
const compose = /** @type {HTMLFormElement|null} */ (document.getElementById('compose'));
const field = /** @type {HTMLTextAreaElement|null} */ (document.getElementById('say'));
const atEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
const toEnd = () => { scroll.scrollTop = scroll.scrollHeight; };

// ---- what is new: the newest turn again and those after it; a turn that is the same stays as it is
const shown = new Map();
let asking = false, again = false;
async function renew() {
  if (asking) { again = true; return; }
  asking = true;
  const old = new Set([...lanes.querySelectorAll('.lane')]);
  try {
    const newest = /** @type {HTMLElement|null} */ (turns.querySelector('.turn:last-child'));
    const answer = await fetch(`${scroll.dataset.update}?since=${newest?.dataset.turn || 0}`);
    if (!answer.ok || answer.redirected) return;
    const end = atEnd(), fresh = nodes(await answer.text());
    for (const lane of old) lane.remove(); // a finished reply takes the place of its words
    for (const part of /** @type {HTMLElement[]} */ ([...fresh.children])) place(part);
    mayISend(); // also where nothing changed: a turn can be over before it was seen at work
    if (end) toEnd();
  } catch { /* the next bell comes again */ } finally { asking = false; }
  if (again) { again = false; renew(); }
}
function place(/** @type {HTMLElement} */ part) {
  const html = part.outerHTML, old = document.getElementById(part.id);
  if (shown.get(part.id) === html) return;
  // A question that waits is left as it is: somebody may be writing an answer.
  if (part.id === 'newest' && part.dataset.question && old?.dataset.question === part.dataset.question) return;
  shown.set(part.id, html);
  for (const fold of old?.querySelectorAll('details[open]') || []) part.querySelector(`#${fold.id}`)?.setAttribute('open', '');
  localTimes(part);
  if (old) old.replaceWith(part); else { document.getElementById('talk-empty')?.remove(); turns.append(part); }
}
const send = /** @type {HTMLButtonElement|null} */ (document.getElementById('send'));
function mayISend() { if (send) send.disabled = !compose?.dataset.may || !el('talk-state').dataset.open; }
if (compose?.dataset.may) for (const name of ['readonly', 'disabled']) compose.querySelector(`:is(textarea, select)[${name}]`)?.removeAttribute(name); // to write ahead

// ---- a step of an older turn brings its input and output when it is unfolded
turns.addEventListener('toggle', async (event) => {
  const fold = /** @type {HTMLDetailsElement} */ (event.target), link = /** @type {HTMLElement|null} */ (fold.querySelector('a[data-since]'));
  if (!fold.open || !link) return;
  const answer = await fetch(`${scroll.dataset.update}?since=${link.dataset.since}&before=${link.dataset.before}`).catch(() => null);
  const whole = answer?.ok ? nodes(await answer.text()).querySelector('.turn') : null;
  if (whole) place(/** @type {HTMLElement} */ (whole)); else location.href = /** @type {HTMLAnchorElement} */ (link).href;
}, true);

let soon = 0;
if (!frozen) {
  document.addEventListener('run:head', () => { clearTimeout(soon); soon = window.setTimeout(renew, 120); });
  document.addEventListener('visibilitychange', () => { if (!document.hidden) renew(); });
}

// ---- words while they are written, without the marks of their commands
const tidy = (/** @type {string} */ text) => /^\s*(```json\s*)?\{/.test(text)
  ? (/"message"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(text)?.[1] || '…').replaceAll('\\n', '\n').replaceAll('\\"', '"')
  : text
  .replace(/<<\s*([A-Z]+)\s*:\s*([^>\n]*)>>/gi, (_, word, rest) => `▸ ${word.toLowerCase()} ${rest.trim()}`)
  .replace(/<<\s*\/\s*[A-Z]*\s*>>/gi, '').replace(/<<[^>\n]*>?$/, '');
new MutationObserver(() => {
  for (const line of lanes.querySelectorAll('.lane p')) {
    let plain = line.querySelector('i');
    if (!plain) { plain = document.createElement('i'); line.append(plain); }
    const words = tidy(line.querySelector('span')?.textContent || '');
    if (plain.textContent !== words) plain.textContent = words;
  }
}).observe(lanes, { childList: true, subtree: true, characterData: true });

// ---- sending: by script where it can be, as a form where it cannot
compose?.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.target !== field) return;
  event.preventDefault();
  if (send && !send.disabled) compose.requestSubmit(send);
});
document.addEventListener('submit', async (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.matches('form[data-quick]')) return;
  event.preventDefault();
  if (form === compose && !field?.value.trim()) return;
  const body = new FormData(form, event.submitter), buttons = [...form.querySelectorAll('button')];
  for (const button of buttons) button.disabled = true;
  const said = el('talk-state');
  shown.delete('talk-state'); // what is said there from here on gives way to what the chat stands at
  try {
    const answer = await fetch(form.action, { method: 'POST', body, headers: { Accept: 'application/json' } });
    const found = await answer.json();
    if (found.ok) { if (form === compose && field) { field.value = ''; field.focus(); } shown.delete('newest'); toEnd(); }
    else { said.textContent = found.why; el('say-polite').textContent = found.why; for (const button of buttons) button.disabled = false; }
  } catch { said.textContent = 'The server did not answer: nothing was sent.'; for (const button of buttons) button.disabled = false; }
  renew();
});
mayISend();
if (location.hash !== '#question') toEnd();
