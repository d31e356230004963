export interface Options {
  width?: number;
  indent?: string;
}

const fits = (line: string, word: string, width: number): boolean => line.length + word.length < width;

export function wrap(text: string, { width = 20, indent = "" }: Options = {}): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (line && !fits(line, word, width)) {
      lines.push(indent + line);
      line = word.slice(0, width);
    } else {
      line = line ? `${line} ${word}` : word;
    }
  }
  return line ? [...lines, indent + line] : lines;
}

export default function fill(text: string, options?: Options): string {
  return wrap(text, options).join("\n");
}
