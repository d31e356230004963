const pad = (number) => String(number).padStart(2, "0");

export function parts(seconds) {
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
}

export function format(seconds) {
  const [hours, minutes, rest] = parts(seconds);
  return `${hours * 60 + minutes}:${pad(rest)}`;
}

export function parse(text) {
  return text.split(":").reduce((all, part) => all * 60 + Number(part), 0);
}
