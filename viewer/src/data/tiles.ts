// Tiles of the grid: what each CPU did in each of some buckets of time (crates/page/src/tiles.rs).

import { Bytes } from './bytes';

/** Planes of a tile, row by row; a task is its place in the palette. */
export interface Tile {
  buckets: number;
  palette: Int32Array;
  load: Uint8Array;
  max: Uint8Array;
  busy: Uint8Array;
  wasted: Uint8Array;
  weight: Uint8Array;
  taskLow: Uint8Array;
  taskHigh: Uint8Array;
  lead: Uint8Array;
}

export function readTile(raw: Uint8Array, rows: number): Tile {
  const bytes = new Bytes(raw);
  const palette = new Int32Array(bytes.number());
  for (let i = 0; i < palette.length; i++) palette[i] = bytes.number();
  const buckets = bytes.left / rows / 8;
  const plane = (): Uint8Array => bytes.take(rows * buckets);
  const [load, max, busy, wasted] = [plane(), plane(), plane(), plane()];
  const [weight, taskLow, taskHigh, lead] = [plane(), plane(), plane(), plane()];
  return { buckets, palette, load, max, busy, wasted, weight, taskLow, taskHigh, lead };
}

/** Means by their byte: crates/page/src/pack.rs, `logarithm`. */
export const MEANS = Float32Array.from({ length: 256 }, (_, code) => 2 ** (code / 32) - 1);
