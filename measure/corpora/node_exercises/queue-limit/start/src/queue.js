/** First in, first out, up to a limit. */
export class Queue {
  #items = [];

  constructor(limit = Infinity) {
    this.limit = limit;
  }

  get size() {
    return this.#items.length;
  }

  push(item) {
    this.#items.push(item);
    return this;
  }

  shift() {
    return this.#items.shift();
  }

  *[Symbol.iterator]() {
    yield* this.#items;
  }
}

export const of = (...items) => items.reduce((queue, item) => queue.push(item), new Queue());
