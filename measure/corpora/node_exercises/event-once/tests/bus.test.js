import test from "node:test";
import assert from "node:assert/strict";
import { Bus } from "../src/bus.js";

test("once is once", () => {
  const bus = new Bus();
  const heard = [];
  bus.once("a", (x) => heard.push(x));
  bus.emit("a", 1);
  bus.emit("a", 2);
  assert.deepEqual(heard, [1]);
});

test("off ends it", () => {
  const bus = new Bus();
  const off = bus.on("a", () => assert.fail());
  off();
  bus.emit("a");
});
