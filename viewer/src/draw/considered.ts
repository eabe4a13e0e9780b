// Which CPUs a decision looked at: a bar in the row of each, a thin line from who decided (a dot) to them, a ring around the
// CPU that was chosen, or the busiest.

import type { Moment } from '../data/head';
import type { Run } from '../data/run';
import { numbers } from '../words';
import { after } from '../data/lives';
import type { Span } from '../span';

/** Decisions that are drawn at once, at most. */
const MOST = 60;

const INK = { looked: '#1f3bff', dark: '#8fb0ff', chosen: '#e8281e', halo: '#ffffff' };

/** Pixels: where a row's middle is. */
export interface Place {
  left: number;
  width: number;
  middle: (row: number) => number;
  rowHeight: number;
  dark: boolean;
}

/** Those in the span, the most telling ones first. */
export function momentsIn(run: Run, span: Span): Moment[] {
  const at = run.moments.map((moment) => moment.at);
  const seen = run.moments.slice(after(at, span.from - 1), after(at, span.to));
  return seen.sort((a, b) => b.worth - a.worth || a.at - b.at);
}

export function drawMany(on: CanvasRenderingContext2D, run: Run, span: Span, place: Place): void {
  const seen = momentsIn(run, span).filter((moment) => moment.kind !== 'domains');
  // Of too many, the most telling ones, from all over the span.
  const worst = seen.filter((moment) => moment.worth === seen[0]?.worth);
  const few = worst.length >= MOST ? worst : seen.slice(0, MOST);
  const every = Math.max(1, Math.ceil(few.length / MOST));
  few.forEach((moment, at) => {
    if (at % every === 0) drawOne(on, run, span, moment, place, false);
  });
}

export function drawOne(on: CanvasRenderingContext2D, run: Run, span: Span, moment: Moment, place: Place, strong: boolean): void {
  const x = place.left + ((moment.at - span.from) / span.length) * place.width;
  if (x < place.left || x > place.left + place.width) return;
  const rows = numbers(moment.considered).map((cpu) => run.rowOf.get(cpu)).filter((row) => row !== undefined);
  const middles = rows.map(place.middle);
  const decider = run.rowOf.get(moment.cpu);
  const chosen = moment.chosen === null ? undefined : run.rowOf.get(moment.chosen);
  const ink = place.dark ? INK.dark : INK.looked;
  const all = [...middles, ...(decider === undefined ? [] : [place.middle(decider)])];
  on.globalAlpha = strong || moment.worth === 3 ? 1 : 0.6;
  const [bar, height] = [strong ? 5 : 3, Math.max(2, place.rowHeight - 1)];
  if (strong) {
    on.fillStyle = place.dark ? '#000000' : INK.halo;
    for (const y of middles) on.fillRect(x - bar / 2 - 1.5, y - height / 2, bar + 3, height);
  }
  on.fillStyle = ink;
  if (all.length > 1) on.fillRect(x - 0.5, Math.min(...all), 1, Math.max(...all) - Math.min(...all));
  for (const y of middles) on.fillRect(x - bar / 2, y - height / 2, bar, height);
  if (decider !== undefined) {
    on.beginPath();
    on.arc(x, place.middle(decider), strong ? 5 : 3, 0, 7);
    on.fillStyle = place.dark ? '#ffffff' : '#000000';
    on.fill();
  }
  if (chosen !== undefined) {
    on.beginPath();
    on.arc(x, place.middle(chosen), strong ? 8 : 5, 0, 7);
    on.lineWidth = strong ? 3 : 2;
    on.strokeStyle = INK.chosen;
    on.stroke();
  }
  on.globalAlpha = 1;
}
