import test from "node:test";
import assert from "node:assert/strict";
import { makeApp, answer } from "../src/app.js";

test("a name is greeted", async (t) => {
  const app = makeApp().listen(0, "127.0.0.1");
  t.after(() => app.close());
  await new Promise((resolve) => app.once("listening", resolve));
  const reply = await fetch(`http://127.0.0.1:${app.address().port}/hello/J%C3%BCrgen`);
  assert.deepEqual([reply.status, await reply.json()], [200, { greeting: "Hello, Jürgen!" }]);
});

test("nothing else is there", () => {
  assert.equal(answer("/")[0], 404);
});
