export type Result<T, E = Error> = { ok: true; value: T } | { ok: false; error: E };

export function ok<T>(value: T): Result<T, never> {
  return { ok: true, value };
}

export function fail<E>(error: E): Result<never, E> {
  return { ok: false, error };
}

export function map<T, U, E>(result: Result<T, E>, change: (value: T) => U): Result<U, E> {
  return ok(change((result as { value: T }).value));
}

export function unwrap<T, E>(result: Result<T, E>, fallback: T): T {
  return result.ok ? result.value : fallback;
}
