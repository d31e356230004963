export class Cache {
  constructor(limit) {
    this.limit = limit;
    this.entries = new Map();
  }

  get(key) {
    if (!this.entries.has(key)) {
      return undefined;
    }
    const value = this.entries.get(key);
    this.entries.delete(key);
    this.entries.set(key, value);
    return value;
  }

  set(key, value) {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size > this.limit) {
      this.entries.delete(this.entries.keys().next().value);
    }
  }
}

export function cached(call, limit = 10) {
  const cache = new Cache(limit);
  return (key) => {
    const known = cache.get(key);
    if (known !== undefined) {
      return known;
    }
    const value = call(key);
    cache.set(key, value);
    return value;
  };
}
