// @ts-check
// The title, the icon and the badge say at once what waits; the browser shows what the person asked it to show.

const EVERY = 10_000; // milliseconds between two looks
const PLAIN = document.title.replace(/^(\(\d+\) |● )+/, '');
const icon = /** @type {HTMLLinkElement|null} */ (document.querySelector('link[rel="icon"]'));
const address = document.body.dataset.news || '';
let last = /** @type {number|null} */ (null);
let unseen = false;

const shown = (/** @type {number} */ waiting) => {
  document.title = (waiting ? `(${waiting}) ` : unseen ? '● ' : '') + PLAIN;
  const wanted = (waiting || unseen ? icon?.dataset.waiting : icon?.dataset.plain) || '';
  if (icon && icon.getAttribute('href') !== wanted) icon.href = wanted;
  for (const link of document.querySelectorAll('a[data-key="i"]')) {
    let badge = link.querySelector('.count');
    if (!waiting) { badge?.remove(); continue; }
    if (!badge) {
      badge = document.createElement('span');
      badge.className = 'count';
      const words = document.createElement('span');
      words.className = 'sr';
      words.textContent = 'waiting: ';
      badge.append(words, '');
      link.append(badge);
    }
    const number = badge.lastChild;
    if (number && number.textContent !== String(waiting)) number.textContent = String(waiting);
  }
};

const pop = (/** @type {{id: number, title: string, link: string}} */ item) => {
  if (!('Notification' in window) || Notification.permission !== 'granted') return;
  try {
    // The tag makes one of what several open pages show.
    const note = new Notification(item.title, { tag: `aiswe-${item.id}`, icon: icon?.dataset.plain });
    note.onclick = () => { window.focus(); location.href = new URL(item.link, location.origin).href; };
  } catch { /* some phones allow it to service workers only */ }
};

const look = async () => {
  try {
    const answer = await fetch(address + (last === null ? '' : `?after=${last}`), { redirect: 'error' });
    if (answer.ok) {
      const told = await answer.json();
      if (last !== null) for (const item of told.news) {
        if (item.channel === 'browser') pop(item);
        else if (document.hidden) unseen = true;
      }
      last = told.last;
      shown(told.waiting);
    }
  } catch { /* the next look may get through; the page itself says when the server is away */ }
  setTimeout(look, EVERY);
};
if (address) setTimeout(look, 1_000);
document.addEventListener('visibilitychange', () => { if (!document.hidden) unseen = false; });

const ask = document.getElementById('browser-ask');
const state = document.getElementById('browser-state');
const say = () => {
  const words = { granted: 'This browser shows notifications.', denied: 'This browser refuses notifications; its settings for this site can change that.', default: '' };
  if (state) state.textContent = words[Notification.permission];
  ask?.parentElement?.toggleAttribute('hidden', Notification.permission !== 'default');
};
if (ask && 'Notification' in window) {
  ask.addEventListener('click', async () => { await Notification.requestPermission(); say(); });
  say();
} else if (state) state.textContent = 'This browser has no notifications here; they need https or this machine.';
