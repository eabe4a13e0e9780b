// The runs in numbers, side by side.

import { h } from '../dom';
import type { Report } from '../data/head';
import type { Run } from '../data/run';
import { count, percent, time } from '../words';

type Row = [string, (report: Report) => number, (value: number) => string];

const ROWS: Row[] = [
  ['wasted', (of) => of.wasted_core_ns / 1e9, (value) => `${value.toPrecision(3)} core-s`],
  ['share of the machine', (of) => of.wasted_share, percent],
  ['CPUs busy', (of) => of.busy_share, percent],
  ['throughput', (of) => of.throughput, (value) => `${count(value)} / s`],
  ['wakeup delay, p50', (of) => of.wakeup_delay_ns.p50, time],
  ['p99', (of) => of.wakeup_delay_ns.p99, time],
  ['longest', (of) => of.wakeup_delay_ns.max, time],
  ['switches', (of) => of.switches, count],
  ['wakeups', (of) => of.wakeups, count],
  ['migrations', (of) => of.migrations, count],
  ['preemptions', (of) => of.preemptions, count],
];

export function figures(runs: Run[]): HTMLElement {
  const reports = runs.map((run) => run.head.report);
  const ratio = runs.length === 2;
  const heads = [...(runs.length > 1 ? runs.map((run) => run.head.name) : ['']), ...(ratio ? ['second / first'] : [])];
  const rows = ROWS.filter(([, of]) => reports.some((report) => of(report) > 0)).map(([words, of, shown]) => {
    const values = reports.map(of);
    const [first = 0, second = 0] = values;
    const of2 = ratio ? [h('td', {}, first > 0 ? `${(second / first).toPrecision(3)} x` : '')] : [];
    return h('tr', {}, h('th', { scope: 'row' }, words), ...values.map((value) => h('td', {}, shown(value))), ...of2);
  });
  const head = runs.length > 1 ? [h('thead', {}, h('tr', {}, h('th', {}), ...heads.map((name) => h('th', { scope: 'col' }, name))))] : [];
  return h('section', { class: 'figures' }, h('h3', {}, 'Figures'), h('div', { class: 'scroll' }, h('table', {}, ...head, h('tbody', {}, ...rows))));
}
