import test from "node:test";
import assert from "node:assert/strict";
import { retry, delays, sleep } from "../src/retry.js";

test("each wait is twice the last", async () => {
  const waited = [];
  await assert.rejects(
    retry(() => Promise.reject(new Error("no")), { tries: 4, first: 5, wait: async (ms) => waited.push(ms) }),
    /no/,
  );
  assert.deepEqual(waited, [5, 10, 20]);
});

test("a success ends it", async () => {
  assert.equal(await retry(async (at) => (at ? "late" : Promise.reject(new Error())), { wait: async () => {} }), "late");
  assert.deepEqual(delays(1, 5), []);
  await sleep(1);
});
