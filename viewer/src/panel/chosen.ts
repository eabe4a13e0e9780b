// What is known of the CPU and the task that were chosen: the tasks of the one, the CPUs of the other.

import { h } from '../dom';
import { shown, type Run } from '../data/run';
import type { State } from '../state';
import { percent, time } from '../words';
import { figures } from './tasks';

const MOST = 12;

export class Chosen {
  readonly element = h('section', { class: 'chosen', 'aria-live': 'polite' });

  constructor(
    private readonly run: Run,
    private readonly state: State,
  ) {}

  draw(): void {
    const { run, state } = this;
    const parts: Node[] = [];
    if (state.cpu?.run === run.number) parts.push(this.cpu(state.cpu.cpu));
    if (state.task?.run === run.number) parts.push(this.task(state.task.id));
    this.element.replaceChildren(...parts);
    this.element.hidden = parts.length === 0;
  }

  private cpu(cpu: number): HTMLElement {
    const { run, state } = this;
    const mine = run.tasks.filter((task) => (task.cpus[cpu] ?? 0) > 0).sort((a, b) => b.cpus[cpu]! - a.cpus[cpu]!);
    const row = run.head.cpus[run.rowOf.get(cpu) ?? -1];
    const rows = mine.slice(0, MOST).map((task) => {
      const id = run.byPid.get(task.pid);
      const choose = (): void => state.change({ task: id === undefined ? null : { run: run.number, id } });
      return this.bar(`${shown(task.name)} (${task.pid})`, task.cpus[cpu]! / run.head.duration_ns, time(task.cpus[cpu]!), choose);
    });
    const more = mine.length > MOST ? [h('p', { class: 'note' }, `and ${mine.length - MOST} more tasks`)] : [];
    const where = row ? ` · core ${row[1]}, cache ${row[2]}, node ${row[3]}` : '';
    return h('div', {}, h('h3', {}, `CPU ${cpu}: its tasks, whole run`), h('p', { class: 'note' }, `CPU ${cpu}${where}`), ...rows, ...more);
  }

  private task(id: number): HTMLElement {
    const { run, state } = this;
    const [name = '', ...lines] = figures(run, id);
    const pid = run.names.get(id)?.[1];
    const of = run.tasks.find((task) => task.pid === pid);
    const cpus = Object.entries(of?.cpus ?? {}).sort((a, b) => b[1] - a[1]);
    const rows = cpus.slice(0, MOST).map(([cpu, ns]) => {
      const choose = (): void => state.change({ cpu: { run: run.number, cpu: Number(cpu) } });
      return this.bar(`CPU ${cpu}`, ns / run.head.duration_ns, time(ns), choose);
    });
    const more = cpus.length > MOST ? [h('p', { class: 'note' }, `and ${cpus.length - MOST} more CPUs`)] : [];
    return h('div', {}, h('h3', {}, `${name}: its CPUs, whole run`), ...lines.map((line) => h('p', { class: 'note' }, line)), ...rows, ...more);
  }

  private bar(name: string, share: number, words: string, choose: () => void): HTMLElement {
    const bar = h('span', { class: 'bar' });
    bar.style.width = `${Math.max(0.5, Math.min(1, share) * 100)}%`;
    return h('button', { class: 'share', onclick: choose, title: percent(share) }, h('span', { class: 'name' }, name), h('span', { class: 'track' }, bar), h('span', { class: 'value' }, words));
  }
}
