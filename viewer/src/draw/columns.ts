// What each CPU did in each column of pixels: sums over tiles, or over single events where there are not too many.

import { IDLE, OFFLINE, type Chunk, type Steps } from '../data/detail';
import { after } from '../data/lives';
import type { Run } from '../data/run';
import { MEANS, type Tile } from '../data/tiles';
import type { Level } from '../data/head';

/** Single events that are drawn at once, at most. */
const MOST_EVENTS = 120_000;
/** Columns that a bucket of the finest level must be wide: until then sums tell as much. */
const WIDE = 2;

/** Sums by row and column; shares of a column's time are 0 to 1. */
export class Columns {
  load = new Float32Array(0);
  weight = new Float32Array(0);
  busy = new Float32Array(0);
  wasted = new Float32Array(0);
  /** Who ran most of the column, and by how much. */
  task = new Int32Array(0);
  lead = new Float32Array(0);
  offline = new Uint8Array(0);
  width = 0;
  private rows = 0;
  private from = 0;
  private scale = 1;
  /** Columns that single events tell. */
  private exact = new Uint8Array(0);
  /** Did single events tell all that is on the screen? */
  isExact = false;

  fill(run: Run, from: number, to: number, width: number): void {
    this.clear(run.head.cpus.length, width);
    [this.from, this.scale] = [from, width / (to - from)];
    this.fromEvents(run, from, to);
    this.fromTiles(run, from, to);
  }

  private clear(rows: number, width: number): void {
    [this.rows, this.width] = [rows, width];
    if (this.load.length !== rows * width) {
      const floats = (): Float32Array<ArrayBuffer> => new Float32Array(rows * width);
      [this.load, this.weight, this.busy, this.wasted, this.lead] = [floats(), floats(), floats(), floats(), floats()];
      [this.task, this.offline] = [new Int32Array(rows * width), new Uint8Array(rows * width)];
    }
    for (const plane of [this.load, this.weight, this.busy, this.wasted, this.lead]) plane.fill(0);
    this.task.fill(IDLE);
    this.offline.fill(0);
    if (this.exact.length !== width) this.exact = new Uint8Array(width);
    this.exact.fill(0);
  }

  // Single events.

  private fromEvents(run: Run, from: number, to: number): void {
    const finest = run.head.levels.at(-1);
    this.isExact = false;
    if (!finest || finest.bucket_ns * this.scale < WIDE) return;
    const seen = run.head.detail.map((head, at) => ({ ...head, at })).filter((head) => head.from < to && head.to > from);
    if (seen.reduce((sum, head) => sum + head.events, 0) > MOST_EVENTS) return;
    for (const head of seen) {
      const chunk = run.chunk(head.at);
      if (!chunk) continue;
      const first = Math.max(0, Math.ceil((head.from - this.from) * this.scale - 1e-6));
      const last = Math.min(this.width, Math.floor((head.to - this.from) * this.scale + 1e-6));
      // Neighbouring chunks share a column: the later one fills it up.
      const shared = first > 0 && this.exact[first - 2] === 1 ? first - 1 : first;
      this.exact.fill(1, shared, Math.max(last, shared));
      this.play(run, chunk, from, to);
    }
    for (const [cpu, { from: starts, to: ends }] of run.episodes) {
      const row = run.rowOf.get(cpu);
      if (row === undefined) continue;
      for (let i = Math.max(0, after(ends, from) - 1); i < starts.length && starts[i]! < to; i++) {
        this.spread(starts[i]!, ends[i]!, (x, share) => (this.wasted[row * this.width + x]! += share));
      }
    }
    for (let x = 0; x < this.width; x++) if (!this.exact[x]) this.forget(x);
    this.isExact = this.exact.every((exact) => exact === 1);
  }

  private forget(x: number): void {
    for (let row = 0; row < this.rows; row++) {
      const at = row * this.width + x;
      this.load[at] = this.weight[at] = this.busy[at] = this.wasted[at] = this.lead[at] = 0;
      this.task[at] = IDLE;
      this.offline[at] = 0;
    }
  }

  private play(run: Run, chunk: Chunk, from: number, to: number): void {
    chunk.cpus.forEach((steps, cpu) => {
      const row = run.rowOf.get(cpu);
      if (row !== undefined) this.steps(steps, row * this.width, Math.max(chunk.from, from), Math.min(chunk.to, to));
    });
  }

  private steps(steps: Steps, base: number, from: number, to: number): void {
    for (let i = Math.max(0, after(steps.at, from) - 1); i < steps.at.length; i++) {
      const start = Math.max(steps.at[i]!, from);
      if (start >= to) break;
      const end = Math.min(steps.at[i + 1] ?? to, to);
      const [task, load, weight] = [steps.task[i]!, steps.load[i]!, steps.weight[i]!];
      if (task === IDLE && load === 0) continue;
      this.spread(start, end, (x, share) => {
        const at = base + x;
        this.load[at]! += load * share;
        this.weight[at]! += weight * share;
        if (task === OFFLINE) this.offline[at] = 1;
        if (task < 0) return;
        this.busy[at]! += share;
        this.vote(at, task, share);
      });
    }
  }

  /** Each column of `start..end`, and its share that is in it. */
  private spread(start: number, end: number, add: (x: number, share: number) => void): void {
    const a = Math.max(0, (start - this.from) * this.scale);
    const b = Math.min(this.width, (end - this.from) * this.scale);
    for (let x = Math.floor(a); x < b; x++) add(x, Math.min(x + 1, b) - Math.max(x, a));
  }

  /** Boyer and Moore's vote, as in crates/page/src/grid.rs. */
  private vote(at: number, task: number, share: number): void {
    if (this.task[at] === task) this.lead[at]! += share;
    else if (share > this.lead[at]!) {
      this.task[at] = task;
      this.lead[at] = share - this.lead[at]!;
    } else this.lead[at]! -= share;
  }

  // Tiles.

  private fromTiles(run: Run, from: number, to: number): void {
    if (this.isExact) return;
    const levels = run.head.levels;
    // The coarsest one that still has a bucket for each column.
    const wanted = levels.findIndex((level) => level.bucket_ns * this.scale <= 1);
    const level = levels[wanted < 0 ? levels.length - 1 : wanted];
    const coarsest = levels[0];
    if (!level || !coarsest) return;
    const tileNs = level.bucket_ns * level.tile;
    const last = Math.min(level.chunks.length - 1, Math.floor(to / tileNs));
    for (let t = Math.max(0, Math.floor(from / tileNs)); t <= last; t++) {
      const tile = run.tile(level.chunks[t]!);
      if (tile) this.tile(tile, level, t * level.tile, from, to);
      else this.standIn(run, coarsest, Math.max(from, t * tileNs), Math.min(to, (t + 1) * tileNs));
    }
  }

  /** The coarsest level until the wanted one is unpacked. */
  private standIn(run: Run, level: Level, from: number, to: number): void {
    const tileNs = level.bucket_ns * level.tile;
    for (let t = Math.floor(from / tileNs); t < level.chunks.length && t * tileNs < to; t++) {
      const tile = run.tile(level.chunks[t]!);
      if (tile) this.tile(tile, level, t * level.tile, from, to);
    }
  }

  private tile(tile: Tile, level: Level, firstBucket: number, from: number, to: number): void {
    const bucket = level.bucket_ns;
    const start = Math.max(0, Math.floor(from / bucket) - firstBucket);
    const end = Math.min(tile.buckets, Math.ceil(to / bucket) - firstBucket);
    for (let b = start; b < end; b++) {
      const t0 = Math.max((firstBucket + b) * bucket, from);
      const t1 = Math.min((firstBucket + b + 1) * bucket, to);
      const x0 = Math.max(0, (t0 - this.from) * this.scale);
      const x1 = Math.min(this.width, (t1 - this.from) * this.scale);
      for (let x = Math.floor(x0); x < x1; x++) {
        if (this.exact[x]) continue;
        this.column(tile, b, x, Math.min(x + 1, x1) - Math.max(x, x0));
      }
    }
  }

  private column(tile: Tile, bucket: number, x: number, share: number): void {
    for (let row = 0, from = bucket, at = x; row < this.rows; row++, from += tile.buckets, at += this.width) {
      const load = tile.load[from]!;
      const wasted = tile.wasted[from]!;
      if (wasted) this.wasted[at]! += (wasted / 255) * share;
      if (!load) continue;
      this.load[at]! += MEANS[load]! * share;
      this.weight[at]! += MEANS[tile.weight[from]!]! * share;
      this.busy[at]! += (tile.busy[from]! / 255) * share;
      const place = tile.taskLow[from]! | (tile.taskHigh[from]! << 8);
      if (place < tile.palette.length) this.vote(at, tile.palette[place]!, (tile.lead[from]! / 255) * share);
    }
  }
}
