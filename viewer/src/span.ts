// The part of the run's time that is on the screen, shared by all pictures of the page.

/** The shortest part that is shown, in nanoseconds. */
const SHORTEST = 200;

export class Span {
  from = 0;
  to: number;
  private readonly listeners: (() => void)[] = [];

  constructor(readonly whole: number) {
    this.to = whole;
  }

  get length(): number {
    return this.to - this.from;
  }

  get isWhole(): boolean {
    return this.from <= 0 && this.to >= this.whole;
  }

  listen(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Shows `from..to`, as far as there is a run. */
  set(from: number, to: number): void {
    const length = Math.min(Math.max(to - from, SHORTEST), this.whole);
    const middle = (from + to) / 2;
    const start = Math.min(Math.max(middle - length / 2, 0), this.whole - length);
    if (start === this.from && start + length === this.to) return;
    [this.from, this.to] = [start, start + length];
    for (const listener of this.listeners) listener();
  }

  /** Moves by a share of what is shown. */
  pan(share: number): void {
    this.set(this.from + share * this.length, this.to + share * this.length);
  }

  /** Shows `factor` times as much; the instant at `share` of the picture stays where it is. */
  zoom(factor: number, share = 0.5): void {
    const length = Math.min(Math.max(this.length * factor, SHORTEST), this.whole);
    const from = this.from + (this.length - length) * share;
    this.set(from, from + length);
  }

  /** Shows the part that a link names: `#380-440ms`; whether it names one. */
  follow(hash: string): boolean {
    const told = /^#(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)ms$/.exec(hash);
    if (!told) return false;
    const [from, to] = [Number(told[1]) * 1e6, Number(told[2]) * 1e6];
    if (!(from < to && from < this.whole)) return false;
    this.set(from, to);
    return true;
  }

  /** Shows all. */
  all(): void {
    this.set(0, this.whole);
  }
}
