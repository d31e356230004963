/** Events by name. */
export class Bus {
  constructor() {
    this.listeners = new Map();
  }

  on(name, listener) {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
    return () => this.off(name, listener);
  }

  off(name, listener) {
    this.listeners.set(
      name,
      (this.listeners.get(name) ?? []).filter((one) => one !== listener),
    );
  }

  once(name, listener) {
    const off = this.on(name, (...given) => {
      listener(...given);
    });
    return off;
  }

  emit(name, ...given) {
    for (const listener of this.listeners.get(name) ?? []) {
      listener(...given);
    }
  }
}
