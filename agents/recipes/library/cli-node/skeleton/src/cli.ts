// The command line: arguments in, an exit code out.

import { parseArgs } from "node:util";

export const HELP = `__NAME__

usage: __SLUG__ [--help] [--version]
`;
export const VERSION = "0.1.0";

type Write = (text: string) => void;

/** Do what the arguments say and return the exit code. */
export function run(args: string[], out: Write, err: Write): number {
  let given;
  try {
    given = parseArgs({ args, options: { help: { type: "boolean" }, version: { type: "boolean" } } });
  } catch (error) {
    err(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
  out(given.values.version ? `${VERSION}\n` : HELP);
  return 0;
}
