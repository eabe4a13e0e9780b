// Where each CPU's row is: nodes and caches apart.

import type { Head } from '../data/head';

/** Pixels of a canvas. */
export class Rows {
  readonly tops: number[] = [];
  readonly total: number;
  /** Of each node: its number and its rows. */
  readonly nodes: { id: number; top: number; bottom: number }[] = [];

  /** Rows of `height` pixels, `gap` pixels between nodes, of which caches within a node get a third. */
  constructor(
    cpus: Head['cpus'],
    readonly height: number,
    gap: number,
  ) {
    let y = 0;
    cpus.forEach(([, , llc, node], row) => {
      const before = cpus[row - 1];
      if (before && before[3] !== node) y += gap;
      else if (before && before[2] !== llc) y += Math.max(1, Math.round(gap / 3));
      const last = this.nodes.at(-1);
      if (last?.id !== node) this.nodes.push({ id: node, top: y, bottom: y });
      this.tops.push(y);
      y += height;
      this.nodes.at(-1)!.bottom = y;
    });
    this.total = y;
  }

  /** The row at `y`, if one is there. */
  at(y: number): number | undefined {
    const row = this.tops.findLastIndex((top) => top <= y);
    return row >= 0 && y < this.tops[row]! + this.height ? row : undefined;
  }
}

/** A row's height that suits the machine and the window, in the page's pixels. */
export function rowHeight(cpus: number, room: number): number {
  const height = room / cpus;
  return height >= 4 ? Math.min(22, Math.floor(height)) : Math.max(2, Math.floor(height * 2) / 2);
}
