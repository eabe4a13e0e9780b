// Numbers for people.

const UNITS: [number, string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];

/** A time with three digits and its unit. */
export function time(ns: number): string {
  const [size, unit] = UNITS.find(([size]) => Math.abs(ns) >= size) ?? [1, 'ns'];
  const value = ns / size;
  const digits = unit === 'ns' || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/** An instant, as finely as steps of `step` nanoseconds need it. */
export function instant(ns: number, step: number): string {
  const digits = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(Math.max(step, 1)))));
  return `${(ns / 1e9).toFixed(digits)} s`;
}

/** What was charged, which is counted in picoseconds. */
export function spent(ps: number): string {
  if (ps === 0) return '0';
  return ps < 1e5 ? `${(ps / 1e3).toPrecision(3)} ns` : time(ps / 1e3);
}

export function count(n: number): string {
  return Math.round(n).toLocaleString('en-US');
}

/** A share, with the digits that keel prints. */
export function percent(share: number): string {
  const of100 = share * 100;
  if (of100 > 0 && of100 < 0.01) return 'under 0.01 %';
  return `${of100.toFixed(of100 === 0 || of100 >= 10 ? 0 : of100 < 1 ? 2 : 1)} %`;
}

/** The numbers of a set as `8,10-12`. */
export function numbers(set: string): number[] {
  if (set === '') return [];
  return set.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

/** Instants with round distances that cut `from..to` in some `wanted` parts. */
export function ticks(from: number, to: number, wanted: number): { step: number; at: number[] } {
  const raw = Math.max((to - from) / Math.max(wanted, 1), 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= raw) ?? 10 * power;
  const at: number[] = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) at.push(tick);
  return { step, at };
}
