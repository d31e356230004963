export type Graph = ReadonlyMap<string, readonly string[]>;

export class Circle extends Error {
  constructor(readonly path: readonly string[]) {
    super(path.join(" → "));
  }
}

export function graph(rows: Record<string, string[]>): Graph {
  return new Map(Object.entries(rows));
}

export function order(given: Graph): string[] {
  const done = new Set<string>();
  const visit = (name: string, above: readonly string[]): void => {
    if (!done.has(name) && !above.includes(name)) {
      for (const one of given.get(name) ?? []) {
        visit(one, [...above, name]);
      }
      done.add(name);
    }
  };
  for (const name of given.keys()) {
    visit(name, []);
  }
  return [...done];
}
