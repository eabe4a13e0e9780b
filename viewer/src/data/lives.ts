// Where each task ran and waited, in buckets of time (crates/page/src/lives.rs), and the exact moments of wasted cores.

import { Bytes } from './bytes';

/** One task's buckets in which it ran or waited; shares are 0 to 255. */
export interface Buckets {
  bucket: Int32Array;
  cpu: Int32Array;
  run: Uint8Array;
  wait: Uint8Array;
}

export function readLives(raw: Uint8Array): Map<number, Buckets> {
  const bytes = new Bytes(raw);
  const lives = new Map<number, Buckets>();
  while (bytes.left > 0) {
    const task = bytes.number();
    const count = bytes.number();
    const life = {
      bucket: new Int32Array(count),
      cpu: new Int32Array(count),
      run: new Uint8Array(count),
      wait: new Uint8Array(count),
    };
    for (let i = 0, next = 0; i < count; i++) {
      const bucket = next + bytes.number();
      life.bucket[i] = bucket;
      life.cpu[i] = bytes.number();
      life.run[i] = bytes.byte();
      life.wait[i] = bytes.byte();
      next = bucket + 1;
    }
    lives.set(task, life);
  }
  return lives;
}

/** One CPU's wasted moments, by time. */
export interface Episodes {
  from: number[];
  to: number[];
}

/** By the CPU's number. */
export function readEpisodes(raw: Uint8Array): Map<number, Episodes> {
  const bytes = new Bytes(raw);
  const all = new Map<number, Episodes>();
  let from = 0;
  for (let left = bytes.number(); left > 0; left--) {
    from += bytes.number();
    const ns = bytes.number();
    const cpu = bytes.number();
    let of = all.get(cpu);
    if (!of) all.set(cpu, (of = { from: [], to: [] }));
    of.from.push(from);
    of.to.push(from + ns);
  }
  return all;
}

/** The first index whose value is greater than `value`; `values` ascend. */
export function after(values: ArrayLike<number>, value: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
