const WORD = /[\p{L}\p{N}']+/gu;

/** The words of a text in their order. */
export function words(text) {
  return text.match(WORD) ?? [];
}

/** How often each word occurs. */
export function count(text) {
  const found = new Map();
  for (const word of words(text)) {
    const key = word;
    found.set(key, (found.get(key) ?? 0) + 1);
  }
  return found;
}

/** The words that occur most, the most frequent first. */
export function top(text, limit = 3) {
  return [...count(text)].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, limit);
}
