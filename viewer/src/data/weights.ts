// The kernel's weights of nice values, in units of nice 0: each step is a factor of about 1.25.

export function weightOf(nice: number): number {
  return 1.25 ** -nice;
}
