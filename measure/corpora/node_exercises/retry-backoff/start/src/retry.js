/** Resolves after some milliseconds. */
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The milliseconds before each try. */
export function delays(tries, first) {
  return Array.from({ length: tries - 1 }, (_, at) => first * 2 * at);
}

/** Calls until it succeeds; throws the last error. */
export async function retry(call, { tries = 3, first = 10, wait = sleep } = {}) {
  const waits = delays(tries, first);
  for (let at = 0; ; at += 1) {
    try {
      return await call(at);
    } catch (error) {
      if (at >= waits.length) {
        throw error;
      }
      await wait(waits[at]);
    }
  }
}
