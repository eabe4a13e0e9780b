// CPUs by task: a line for each of the tasks that matter, coloured by the node it runs on, underlined where it waits.

import { canvas, h, sized } from '../dom';
import { after } from '../data/lives';
import { shown, type Run } from '../data/run';
import type { TaskFigures } from '../data/head';
import { MANY } from '../draw/colours';
import { gutter } from '../draw/map';
import { life } from '../draw/task';
import type { Span } from '../span';
import type { State } from '../state';
import { theme } from '../theme';
import { count, time } from '../words';

const ROW = 17;
/** Pixels of the name above a line, where there is no room beside it. */
const ABOVE = 15;
const MORE = 16;

type Order = 'wait_ns' | 'cpu_ns' | 'migrations' | 'preemptions';
const ORDERS: [Order, string][] = [
  ['wait_ns', 'waited longest'],
  ['cpu_ns', 'ran longest'],
  ['migrations', 'migrated most'],
  ['preemptions', 'preempted most'],
];

export class Tasks {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly more: HTMLButtonElement;
  private order: Order = 'wait_ns';
  private filter = '';
  private rows = MORE;
  /** How long each task waited and ran of what is on the screen; whole runs have figures. */
  private here: Map<number, [number, number]> | null = null;
  private timer = 0;
  private listed: { id: number; figures: TaskFigures }[] = [];

  constructor(
    private readonly run: Run,
    private readonly span: Span,
    private readonly state: State,
  ) {
    this.canvas = canvas('Tasks over time: the node each runs on, and where it waits');
    const order = h('select', { 'aria-label': 'Order of tasks' }, ...ORDERS.map(([value, words]) => h('option', { value }, words)));
    order.addEventListener('change', () => this.changed(() => (this.order = order.value as Order)));
    const filter = h('input', { type: 'search', placeholder: 'name or pid', 'aria-label': 'Only tasks whose name or pid holds this' });
    filter.addEventListener('input', () => this.changed(() => (this.filter = filter.value)));
    this.more = h('button', { onclick: () => this.changed(() => (this.rows += MORE)) }, 'more tasks');
    this.element = h(
      'section',
      { class: 'tasks', 'aria-label': 'Tasks' },
      h('div', { class: 'bar' }, h('h3', {}, 'Tasks'), order, filter, h('span', { class: 'note' }, 'of what is on the screen; colour: the node it runs on; red below: it waits')),
      this.canvas,
      this.more,
    );
    span.listen(() => {
      // Lines do not change their places while somebody moves.
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.changed(() => this.measure()), 150);
    });
    this.canvas.addEventListener('click', (event) => {
      const task = this.listed[Math.floor(event.offsetY / this.row)];
      if (task) state.change({ task: state.task?.id === task.id ? null : { run: run.number, id: task.id } });
    });
  }

  private changed(how: () => void): void {
    how();
    this.draw();
  }

  private get isNarrow(): boolean {
    return gutter(this.element.clientWidth) < 100;
  }

  private get row(): number {
    return this.isNarrow ? ROW + ABOVE : ROW;
  }

  private measure(): void {
    const { run, span } = this;
    this.here = null;
    if (span.isWhole) return;
    this.here = new Map();
    const ns = run.head.lives.bucket_ns;
    for (const [id, of] of run.lives) {
      let [wait, ran] = [0, 0];
      for (let i = after(of.bucket, Math.floor(span.from / ns) - 1); i < of.bucket.length && of.bucket[i]! * ns < span.to; i++) {
        wait += of.wait[i]!;
        ran += of.run[i]!;
      }
      if (wait + ran > 0) this.here.set(id, [wait, ran]);
    }
  }

  private worth(task: TaskFigures): number {
    const { order, here, run } = this;
    if (!here || (order !== 'wait_ns' && order !== 'cpu_ns')) return task[order];
    return here.get(run.byPid.get(task.pid) ?? -1)?.[order === 'wait_ns' ? 0 : 1] ?? 0;
  }

  private list(): void {
    const { run, filter } = this;
    const words = filter.toLowerCase();
    const fits = (task: TaskFigures): boolean => words === '' || task.name.toLowerCase().includes(words) || String(task.pid).includes(words);
    const worth = new Map(run.tasks.map((task) => [task, this.worth(task)]));
    const all = run.tasks.filter(fits).sort((a, b) => worth.get(b)! - worth.get(a)!);
    this.listed = all.slice(0, this.rows).map((figures) => ({ id: run.byPid.get(figures.pid) ?? -1, figures }));
    this.more.hidden = all.length <= this.rows;
    this.more.textContent = `more of ${count(all.length)} tasks`;
  }

  draw(): void {
    this.list();
    const whole = this.element.clientWidth;
    const left = gutter(whole);
    const width = Math.max(60, whole - left);
    const on = sized(this.canvas, whole, Math.max(1, this.listed.length) * this.row);
    const style = getComputedStyle(this.element);
    on.fillStyle = style.getPropertyValue('--paper');
    on.fillRect(0, 0, whole, this.listed.length * this.row);
    on.font = '12px system-ui, sans-serif';
    on.textBaseline = 'middle';
    this.listed.forEach(({ id, figures }, row) => {
      const top = row * this.row;
      const y = this.isNarrow ? top + ABOVE : top;
      if (this.state.task?.run === this.run.number && this.state.task.id === id) {
        on.fillStyle = style.getPropertyValue('--chosen');
        on.fillRect(0, top, whole, this.row - 1);
      }
      on.fillStyle = style.getPropertyValue('--ink');
      this.label(on, `${shown(figures.name)} (${figures.pid})`, this.isNarrow ? top + ABOVE / 2 : y + ROW / 2, this.isNarrow ? whole : left - 8);
      this.line(on, id, left, width, y, style);
    });
  }

  private label(on: CanvasRenderingContext2D, text: string, y: number, room: number): void {
    let shown = text;
    while (shown.length > 1 && on.measureText(shown).width > room) shown = `${shown.slice(0, -2).trimEnd()}…`;
    on.fillText(shown, 0, y);
  }

  private line(on: CanvasRenderingContext2D, id: number, left: number, width: number, y: number, style: CSSStyleDeclaration): void {
    const { span, run } = this;
    on.fillStyle = style.getPropertyValue('--lane');
    on.fillRect(left, y + 1, width, ROW - 3);
    const wait = theme() === 'dark' ? '#ff5fa8' : '#d6006c';
    // Summed by pixel: a task may come and go many times within one.
    const bins = Math.ceil(width);
    const [ran, waited, nodes] = [new Float32Array(bins), new Float32Array(bins), new Int32Array(bins)];
    const x = (at: number): number => ((Math.max(span.from, Math.min(span.to, at)) - span.from) / span.length) * width;
    for (const stretch of life(run, span, id)) {
      const [x0, x1] = [x(stretch.from), x(stretch.to)];
      const row = run.rowOf.get(stretch.cpu);
      for (let bin = Math.floor(x0); bin < x1; bin++) {
        const share = Math.min(bin + 1, x1) - Math.max(bin, x0);
        ran[bin]! += stretch.run * share;
        waited[bin]! += stretch.wait * share;
        if (stretch.run > 0 && row !== undefined) nodes[bin] = run.head.cpus[row]![3];
      }
    }
    for (let bin = 0; bin < bins; bin++) {
      // Sixteenths are as fine as one sees.
      const look = (at: number): number => (Math.ceil(ran[at]! * 15.9) * 32 + Math.ceil(waited[at]! * 15.9)) * 4096 + nodes[at]!;
      const [from, same] = [bin, look(bin)];
      while (bin + 1 < bins && look(bin + 1) === same) bin++;
      const wide = bin + 1 - from;
      if (ran[from]! > 0.005) {
        on.fillStyle = MANY[nodes[from]! % MANY.length]!;
        const height = Math.max(1, (ROW - 6) * Math.min(1, ran[from]!));
        on.fillRect(left + from, y + 1 + (ROW - 6 - height), wide, height);
      }
      if (waited[from]! > 0.01) {
        on.fillStyle = wait;
        on.globalAlpha = Math.max(0.3, Math.min(1, waited[from]!));
        on.fillRect(left + from, y + ROW - 5, wide, 3);
        on.globalAlpha = 1;
      }
    }
  }
}

/** Figures of one task, for who chose it. */
export function figures(run: Run, id: number): string[] {
  const pid = run.names.get(id)?.[1];
  const of = run.tasks.find((task) => task.pid === pid);
  const named = run.names.get(id);
  const lines = [run.called(id)];
  if (named) lines.push(`nice ${named[3]}, may use ${named[4] === '' ? 'all CPUs' : `CPUs ${named[4]}`}`);
  if (of) {
    lines.push(`ran ${time(of.cpu_ns)}, waited ${time(of.wait_ns)}`);
    lines.push(`${count(of.switches)} switches, ${count(of.migrations)} migrations, ${count(of.preemptions)} preemptions`);
  }
  return lines;
}
