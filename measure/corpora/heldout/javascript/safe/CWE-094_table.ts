const OPERATIONS: Record<string, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  times: (a, b) => a * b,
};

export function calculate(name: string, a: number, b: number): number {
  const operation = OPERATIONS[name];
  if (!operation) throw new RangeError(`unknown operation ${name}`);
  return operation(a, b);
}
