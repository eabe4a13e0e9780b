// CPUs by task: a line for each of the tasks that matter, coloured by the node it runs on, underlined where it waits.

import { canvas, h, sized } from '../dom';
import { shown, type Run } from '../data/run';
import type { TaskFigures } from '../data/head';
import { MANY } from '../draw/colours';
import { GUTTER } from '../draw/map';
import { life } from '../draw/task';
import type { Span } from '../span';
import type { State } from '../state';
import { theme } from '../theme';
import { count, time } from '../words';

const ROW = 17;
const LABEL = 150;
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
      h('div', { class: 'bar' }, h('h3', {}, 'Tasks'), order, filter, h('span', { class: 'note' }, 'colour: node it runs on; red below: it waits')),
      this.canvas,
      this.more,
    );
    this.canvas.addEventListener('click', (event) => {
      const task = this.listed[Math.floor(event.offsetY / ROW)];
      if (task) state.change({ task: state.task?.id === task.id ? null : { run: run.number, id: task.id } });
    });
  }

  private changed(how: () => void): void {
    how();
    this.draw();
  }

  private list(): void {
    const { run, order, filter } = this;
    const words = filter.toLowerCase();
    const fits = (task: TaskFigures): boolean => words === '' || task.name.toLowerCase().includes(words) || String(task.pid).includes(words);
    const all = run.tasks.filter(fits).sort((a, b) => b[order] - a[order]);
    this.listed = all.slice(0, this.rows).map((figures) => ({ id: run.byPid.get(figures.pid) ?? -1, figures }));
    this.more.hidden = all.length <= this.rows;
    this.more.textContent = `more of ${count(all.length)} tasks`;
  }

  draw(): void {
    this.list();
    const whole = this.element.clientWidth;
    const label = Math.min(LABEL, whole * 0.35);
    // Under the map, time for time, where there is room for that.
    const left = Math.max(GUTTER, label);
    const width = Math.max(60, whole - left);
    const on = sized(this.canvas, whole, Math.max(1, this.listed.length) * ROW);
    const style = getComputedStyle(this.element);
    on.fillStyle = style.getPropertyValue('--paper');
    on.fillRect(0, 0, whole, this.listed.length * ROW);
    on.font = '12px system-ui, sans-serif';
    on.textBaseline = 'middle';
    this.listed.forEach(({ id, figures }, row) => {
      const y = row * ROW;
      if (this.state.task?.run === this.run.number && this.state.task.id === id) {
        on.fillStyle = style.getPropertyValue('--chosen');
        on.fillRect(0, y, whole, ROW - 1);
      }
      on.fillStyle = style.getPropertyValue('--ink');
      this.label(on, `${shown(figures.name)} (${figures.pid})`, y + ROW / 2, left - 8);
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
    const x = (at: number): number => left + ((Math.max(span.from, Math.min(span.to, at)) - span.from) / span.length) * width;
    const wait = theme() === 'dark' ? '#ff5fa8' : '#d6006c';
    for (const stretch of life(run, span, id)) {
      const [x0, x1] = [x(stretch.from), x(stretch.to)];
      const row = run.rowOf.get(stretch.cpu);
      if (stretch.run > 0 && row !== undefined) {
        const node = run.head.cpus[row]![3];
        on.fillStyle = MANY[node % MANY.length]!;
        const height = Math.max(1, (ROW - 6) * Math.min(1, stretch.run));
        on.fillRect(x0, y + 1 + (ROW - 6 - height), Math.max(0.6, x1 - x0), height);
      }
      if (stretch.wait > 0.01) {
        on.fillStyle = wait;
        on.globalAlpha = Math.max(0.3, Math.min(1, stretch.wait));
        on.fillRect(x0, y + ROW - 5, Math.max(0.6, x1 - x0), 3);
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
