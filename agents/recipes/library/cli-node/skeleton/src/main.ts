// The program itself: `npm start -- ARGUMENTS`.

import { run } from "./cli.js";

process.exitCode = run(
  process.argv.slice(2),
  (text) => process.stdout.write(text),
  (text) => process.stderr.write(text),
);
