export function compile(rule: string): (row: unknown) => boolean {
  return new Function('row', `return ${rule};`) as (row: unknown) => boolean;
}
