// How long tasks waited and ran: the share of all that took longer than each time, both axes logarithmic, so that the rare long ones
// are seen. The line goes down in steps, each where something was measured: between two steps nothing lies.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { h } from '../dom';
import { shown, type Run } from '../data/run';
import type { Delays as Measured, Histogram } from '../data/head';
import { count, time } from '../words';
import { MANY } from '../draw/colours';

type What = 'woken' | 'again' | 'ran';
const WHATS: [What, string][] = [
  ['woken', 'wakeup to running'],
  ['again', 'preempted to running'],
  ['ran', 'on a CPU at a stretch'],
];
const HEIGHT = 230;

export class Delays {
  readonly element: HTMLElement;
  private what: What = 'woken';
  private name = '';
  private plot: uPlot | null = null;
  private readonly place = h('div', { class: 'plot' });
  private readonly names = h('select', { 'aria-label': 'Tasks of which name' });
  private readonly words = h('p', { class: 'note' });

  constructor(private readonly runs: Run[]) {
    const whats = h('select', { 'aria-label': 'What was measured' }, ...WHATS.map(([value, words]) => h('option', { value }, words)));
    whats.addEventListener('change', () => {
      this.what = whats.value as What;
      this.draw();
    });
    this.names.addEventListener('change', () => {
      this.name = this.names.value;
      this.draw();
    });
    this.element = h('section', { class: 'delays', 'aria-label': 'Delays' }, h('div', { class: 'bar' }, h('h3', {}, 'Delays'), whats, this.names), this.place, this.words);
  }

  /** The names are known. */
  ready(): void {
    const names = new Set(this.runs.flatMap((run) => run.delays.filter((of) => of.woken.longest.length > 0).map((of) => of.name)));
    this.names.replaceChildren(...[...names].map((name) => h('option', { value: name }, name === '' ? 'all tasks' : shown(name))));
    this.draw();
  }

  draw(): void {
    const { runs, what } = this;
    const of = runs.map((run) => run.delays.find((delays: Measured) => delays.name === this.name)?.[what] ?? NOTHING);
    const at = times(of);
    const series = of.map(({ longest }) => longer(longest, at));
    this.plot?.destroy();
    this.plot = null;
    this.words.textContent = `Up: the share of all that took longer than the time to the right. ${of.map((histogram, i) => this.sentence(histogram, i)).join(' ')}`;
    if (at.length < 2) {
      this.place.replaceChildren('Nothing was measured.');
      return;
    }
    this.place.replaceChildren();
    const style = getComputedStyle(this.element);
    const ink = style.getPropertyValue('--ink');
    const grid = { stroke: style.getPropertyValue('--line'), width: 1 };
    const options: uPlot.Options = {
      width: Math.max(200, this.element.clientWidth),
      height: HEIGHT,
      scales: { x: { time: false, distr: 3 }, y: { distr: 3 } },
      axes: [
        { stroke: ink, grid, ticks: grid, values: (_, ticks) => ticks.map((ns) => (ns === null ? '' : time(ns))) },
        { stroke: ink, grid, ticks: grid, size: 64, values: (_, ticks) => ticks.map((share) => (share === null ? '' : `${+(share * 100).toPrecision(2)} %`)) },
      ],
      legend: { show: runs.length > 1 },
      cursor: { drag: { x: false, y: false } },
      series: [
        { label: 'longer than', value: (_, ns) => (ns === null ? '' : time(ns)) },
        ...runs.map((run, i) => ({
          label: run.head.name,
          stroke: MANY[(i * 5) % MANY.length]!,
          width: 2,
          paths: steps,
          points: { show: false },
          value: (_: uPlot, share: number | null) => (share === null ? '' : `${(share * 100).toPrecision(3)} %`),
        })),
      ],
    };
    this.plot = new uPlot(options, [at, ...series], this.place);
  }

  private sentence({ longest, spread }: Histogram, run: number): string {
    const all = measured(longest);
    if (all === 0) return '';
    const whose = this.runs.length > 1 ? `${this.runs[run]!.head.name}: ` : '';
    return `${whose}${count(all)} measured: half took up to ${time(spread.p50)}, 99 % up to ${time(spread.p99)}, the longest ${time(spread.max)}.`;
  }
}

const NOTHING: Histogram = { longest: [], spread: { p50: 0, p99: 0, max: 0 } };

/** From each time to the next the share stays, and then falls. */
const steps = uPlot.paths.stepped!({ align: 1 });

function measured(longest: [number, number][]): number {
  return longest.reduce((sum, [, n]) => sum + n, 0);
}

/** A logarithmic axis has no 0. */
function drawn(ns: number): number {
  return Math.max(ns, 1);
}

/** Where any of the lines falls, after a beginning where none has. */
function times(of: Histogram[]): number[] {
  const falls = [...new Set(of.flatMap(({ longest }) => longest.map(([ns]) => drawn(ns))))].sort((a, b) => a - b);
  return falls.length > 0 ? [falls[0]! * 0.8, ...falls] : [];
}

/** The share of all that took longer than each of `at`; the line ends at the longest, before it falls to nothing. */
function longer(longest: [number, number][], at: number[]): (number | null)[] {
  const all = measured(longest);
  let left = all;
  let next = 0;
  return at.map((ns) => {
    const before = left;
    while (next < longest.length && drawn(longest[next]![0]) <= ns) left -= longest[next++]![1];
    if (left > 0) return left / all;
    return before > 0 ? before / all : null;
  });
}
