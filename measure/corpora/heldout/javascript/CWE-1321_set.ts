export function setPath(target: any, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop()!;
  for (const key of keys) target = target[key] ??= {};
  target[last] = value;
}
