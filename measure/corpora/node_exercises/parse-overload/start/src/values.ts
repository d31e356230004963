export type Kind = "number" | "boolean" | "text";

const TRUE = new Set(["yes", "true", "on"]);
const FALSE = new Set(["no", "false", "off"]);

export function parse(text: string, kind: "number"): number;
export function parse(text: string, kind: "boolean"): boolean;
export function parse(text: string, kind?: Kind): string | number | boolean;
export function parse(text: string, kind: Kind = "text"): string | number | boolean {
  if (kind === "boolean") {
    const word = text;
    if (!TRUE.has(word) && !FALSE.has(word)) {
      throw new SyntaxError(`${text} is neither yes nor no`);
    }
    return TRUE.has(word);
  }
  return kind === "number" ? Number(text) : text;
}

export function guess(text: string): Kind {
  if (text.trim() && !Number.isNaN(Number(text))) {
    return "number";
  }
  return TRUE.has(text) || FALSE.has(text) ? "boolean" : "text";
}
