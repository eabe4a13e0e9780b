// One task: where it ran and where it waited, on the map and as a line of its own.

import { RUNS, WAITS } from '../data/detail';
import { after } from '../data/lives';
import type { Run } from '../data/run';
import type { Span } from '../span';
import type { Place } from './considered';

/** A stretch of a task's life: shares of the time that it ran and waited, 0 to 1. */
export interface Stretch {
  from: number;
  to: number;
  cpu: number;
  run: number;
  wait: number;
}

/** Single events that are looked through at once, at most. */
const MOST_EVENTS = 120_000;

/** Its life in the span, by single events where there are not too many and all are there. */
export function life(run: Run, span: Span, task: number): Stretch[] {
  return exact(run, span, task) ?? coarse(run, span, task);
}

function coarse(run: Run, span: Span, task: number): Stretch[] {
  const of = run.lives.get(task);
  if (!of) return [];
  const ns = run.head.lives.bucket_ns;
  const stretches: Stretch[] = [];
  const first = Math.max(0, after(of.bucket, Math.floor(span.from / ns) - 1));
  for (let i = first; i < of.bucket.length && of.bucket[i]! * ns < span.to; i++) {
    const from = of.bucket[i]! * ns;
    const to = Math.min(from + ns, run.head.duration_ns);
    const [share, wait] = [of.run[i]! / 255, of.wait[i]! / 255];
    stretches.push({ from, to, cpu: of.cpu[i]!, run: share, wait });
  }
  return stretches;
}

function exact(run: Run, span: Span, task: number): Stretch[] | null {
  // Nothing is unpacked before it is known that all is there.
  const seen = run.head.detail.map((head, at) => ({ head, at })).filter(({ head }) => head.to > span.from && head.from < span.to);
  let [events, covered] = [0, span.from];
  for (const { head } of seen) {
    events += head.events;
    if (head.from > covered || events > MOST_EVENTS) return null;
    covered = head.to;
  }
  if (covered < Math.min(span.to, run.head.duration_ns)) return null;
  const stretches: Stretch[] = [];
  for (const { at } of seen) {
    const chunk = run.chunk(at);
    if (!chunk) return null;
    const of = chunk.tasks.get(task);
    if (!of) continue;
    of.at.forEach((from, i) => {
      const to = of.at[i + 1] ?? chunk.to;
      const state = of.state[i]!;
      if (state !== RUNS && state !== WAITS) return;
      stretches.push({ from, to, cpu: of.cpu[i]!, run: state === RUNS ? 1 : 0, wait: state === WAITS ? 1 : 0 });
    });
  }
  return stretches;
}

/** Frames where it ran, open ones where it waited. */
export function taskOnMap(on: CanvasRenderingContext2D, run: Run, span: Span, task: number, place: Place): void {
  const x = (at: number): number => place.left + ((Math.max(span.from, Math.min(span.to, at)) - span.from) / span.length) * place.width;
  const height = Math.max(3, place.rowHeight);
  let before: [number, number] | null = null;
  on.lineWidth = 1;
  for (const stretch of life(run, span, task)) {
    const row = run.rowOf.get(stretch.cpu);
    if (row === undefined) continue;
    const [x0, x1, y] = [x(stretch.from), x(stretch.to), place.middle(row)];
    on.fillStyle = place.dark ? '#ffffff' : '#000000';
    if (stretch.run > 0.02) {
      on.globalAlpha = 0.35 + 0.65 * stretch.run;
      on.fillRect(x0, y - height / 2, Math.max(1, (x1 - x0) * 1), height);
    }
    on.globalAlpha = 1;
    if (stretch.wait > 0.02) {
      on.fillStyle = '#d6006c';
      on.fillRect(x0, y + height / 2 - 2, Math.max(1, x1 - x0), 2);
    }
    if (before && before[1] !== y && x0 - before[0] < 40) {
      on.fillStyle = place.dark ? '#ffffff' : '#000000';
      on.fillRect(x0, Math.min(before[1], y), 0.7, Math.abs(before[1] - y));
    }
    before = [x1, y];
  }
}
