// Where a scheduler's time went: by callback, function and line, who fights over a cache line, who waits for a lock, and the source.

import { h } from '../dom';
import { shown, type Run } from '../data/run';
import type { At, CallbackRow, Cost, Costly, FightRow, FunctionRow, Profile as Data, WaitRow } from '../data/profile';
import { count, percent, spent, time } from '../words';
import { code, short, Source } from './source';
import { Table, type Column } from './table';

/** Code that is shown beside its place. */
const MOST_CODE = 90;

export class Profile {
  readonly element: HTMLElement;

  constructor(run: Run) {
    const { profile } = run;
    const name = h('h2', {}, shown(run.head.name));
    this.element = profile ? h('article', { class: 'profile' }, name, ...parts(profile)) : h('article', { class: 'profile' }, name, h('p', { class: 'note' }, 'This run was not profiled.'));
  }
}

function parts(profile: Data): HTMLElement[] {
  const whole = profile.totals.callback_ns * 1000;
  const source = new Source(profile, whole);
  const place = (at: At): Node => placed(at, source);
  const { left_out: left } = profile;
  const tables = [
    new Table({ name: 'Functions', columns: functions(whole, place), rows: profile.functions, text: (row: FunctionRow) => words(row.at), leftOut: left.functions }).element,
    new Table({ name: 'Callbacks', columns: callbacks(whole), rows: profile.callbacks, text: (row: CallbackRow) => row.name }).element,
    new Table({ name: 'Lines', columns: lines(whole, place), rows: profile.lines, text: (row: Costly) => words(row.at), leftOut: left.lines, most: 20 }).element,
  ];
  if (profile.fights.length > 0) {
    const text = (row: FightRow): string => `${row.name} ${words(row.to)} ${words(row.from)}`;
    tables.push(new Table({ name: 'Cache lines: which line takes them from which', columns: fights(place), rows: profile.fights, text, leftOut: left.fights }).element);
  }
  if (profile.waits.length > 0) {
    const text = (row: WaitRow): string => `${row.lock} ${[row.waiter, row.holder].map((who) => (who ? `${who[0]} ${words(who[1])}` : 'the kernel')).join(' ')}`;
    tables.push(new Table({ name: 'Locks: which line waits for which', columns: waits(place), rows: profile.waits, text, leftOut: left.waits }).element);
  }
  return [...heads(profile, whole), ...tables, source.element];
}

function share(part: number, whole: number): string {
  return percent(whole > 0 ? part / whole : 0);
}

/** What the run counted. */
function heads(profile: Data, whole: number): HTMLElement[] {
  const { about, totals, parts_ps } = profile;
  const [insns, calls, lines, entering] = parts_ps.map((part) => share(part, whole));
  const all = about.duration_ns * about.cpus;
  const each = totals.callbacks > 0 ? `, ${spent(whole / totals.callbacks)} each` : '';
  return [
    h('p', {}, `${count(totals.callbacks)} callbacks${each}; ${spent(whole)} in them, ${share(totals.callback_ns, all)} of all CPUs’ time: instructions ${insns}, calls of the kernel ${calls}, cache lines ${lines}, entering ${entering}.`),
    h(
      'p',
      { class: 'note' },
      `${count(totals.instructions)} instructions. ${count(totals.line_moves)} moves of cache lines of BPF memory, waiting ${spent(totals.line_ps)}. Waits for locks: ${time(totals.lock_wait_ns)}. The sums are the run’s own counts.`,
    ),
  ];
}

function words(at: At | null): string {
  return at ? `${at.function} ${at.file}:${at.line} ${at.text}` : 'the kernel';
}

/** A place, which leads to its line, with the line. */
function placed(at: At, source: Source): Node {
  if (at.line === 0) return h('span', {}, `${shown(at.function)}() `, h('span', { class: 'note' }, 'entering the callback'));
  const text = code(at.text);
  const cut = text.length > MOST_CODE ? `${text.slice(0, MOST_CODE - 1)}…` : text;
  const open = (): void => source.open(at.file, at.line);
  return h('span', {}, h('button', { class: 'place', title: 'its place in the source', onclick: open }, `${short(at.file)}:${at.line}`), ' ', h('code', {}, cut));
}

/** The columns of costs. */
function costs<T>(of: (row: T) => Cost): Column<T>[] {
  return [
    { words: 'insns', title: 'BPF instructions executed', by: (row) => of(row).executed, shown: (row) => count(of(row).executed) },
    { words: 'calls', title: 'what kfuncs and helpers were charged, with waits for locks, and entering callbacks', by: (row) => of(row).calls_ps, shown: (row) => spent(of(row).calls_ps) },
    { words: 'cache lines', title: 'how long it waited for cache lines', by: (row) => of(row).lines_ps, shown: (row) => spent(of(row).lines_ps) },
    { words: 'locks', title: 'how long its calls waited for locks; part of calls', by: (row) => of(row).waits_ps, shown: (row) => spent(of(row).waits_ps) },
  ];
}

function functions(whole: number, place: (at: At) => Node): Column<FunctionRow>[] {
  return [
    { words: 'self', title: 'time of its own lines', by: (row) => row.cost.ps, shown: (row) => spent(row.cost.ps) },
    { words: 'share', title: 'of the time in callbacks', by: (row) => row.cost.ps, shown: (row) => share(row.cost.ps, whole) },
    { words: 'total', title: 'with what it calls', by: (row) => row.total_ps, shown: (row) => spent(row.total_ps) },
    { words: 'called', title: 'how often', by: (row) => row.cost.hits, shown: (row) => count(row.cost.hits) },
    ...costs((row: FunctionRow) => row.cost),
    { words: 'function', title: 'its name', by: (row) => row.at.function, shown: (row) => h('span', {}, `${shown(row.at.function)} `, ...(row.at.line > 0 ? [place({ ...row.at, text: '' })] : [])) },
  ];
}

function callbacks(whole: number): Column<CallbackRow>[] {
  const each = (row: CallbackRow, of: number): number => of / Math.max(1, row.calls);
  return [
    { words: 'time', title: 'all of it', by: (row) => row.ps, shown: (row) => spent(row.ps) },
    { words: 'share', title: 'of the time in callbacks', by: (row) => row.ps, shown: (row) => share(row.ps, whole) },
    { words: 'calls', title: 'how often', by: (row) => row.calls, shown: (row) => count(row.calls) },
    { words: 'each', title: 'time of a call', by: (row) => each(row, row.ps), shown: (row) => spent(each(row, row.ps)) },
    { words: 'insns each', title: 'BPF instructions of a call', by: (row) => each(row, row.instructions), shown: (row) => each(row, row.instructions).toFixed(1) },
    { words: 'callback', title: 'what called the scheduler', by: (row) => row.name, shown: (row) => shown(row.name) },
  ];
}

function lines(whole: number, place: (at: At) => Node): Column<Costly>[] {
  return [
    { words: 'time', title: 'instructions, calls and cache lines', by: (row) => row.cost.ps, shown: (row) => spent(row.cost.ps) },
    { words: 'share', title: 'of the time in callbacks', by: (row) => row.cost.ps, shown: (row) => share(row.cost.ps, whole) },
    { words: 'hits', title: 'how often it was reached', by: (row) => row.cost.hits, shown: (row) => count(row.cost.hits) },
    ...costs((row: Costly) => row.cost),
    { words: 'line', title: 'where it is', by: (row) => `${row.at.file}:${String(row.at.line).padStart(6, '0')}`, shown: (row) => place(row.at) },
  ];
}

function fights(place: (at: At) => Node): Column<FightRow>[] {
  const end = (at: At | null, otherwise: string): Node | string => (at ? place(at) : otherwise);
  return [
    { words: 'waited', title: 'how long the takers waited', by: (row) => row.ps, shown: (row) => spent(row.ps) },
    { words: 'moves', title: 'how often a line moved', by: (row) => row.moves, shown: (row) => count(row.moves) },
    { words: 'what', title: 'the variable', by: (row) => row.name, shown: (row) => `${shown(row.name)}${row.several ? ' and others' : ''}` },
    { words: 'who takes it', title: 'the line that reads or writes', by: (row) => words(row.to), shown: (row) => h('span', {}, row.writes ? 'writes ' : 'reads ', end(row.to, 'the kernel')) },
    { words: 'from whom', title: 'the line that had it', by: (row) => words(row.from), shown: (row) => end(row.from, row.from_nobody ? 'nobody' : 'the kernel') },
    { words: 'how far', title: 'from where, and how often', by: (row) => row.distances.map(([far]) => far).join(), shown: (row) => row.distances.map(([far, moves]) => `${shown(far)} ${count(moves)}`).join(', ') },
  ];
}

function waits(place: (at: At) => Node): Column<WaitRow>[] {
  const who = (of: [string, At] | null): Node | string => (of ? h('span', {}, `${shown(of[0])} `, place(of[1])) : 'the kernel');
  return [
    { words: 'waited', title: 'summed over CPUs', by: (row) => row.ps, shown: (row) => spent(row.ps) },
    { words: 'waits', title: 'how often', by: (row) => row.count, shown: (row) => count(row.count) },
    { words: 'lock', title: 'its name', by: (row) => row.lock, shown: (row) => shown(row.lock) },
    { words: 'who waits', title: 'the call that takes it', by: (row) => words(row.waiter?.[1] ?? null), shown: (row) => who(row.waiter) },
    { words: 'for whom', title: 'the call that had taken it', by: (row) => words(row.holder?.[1] ?? null), shown: (row) => who(row.holder) },
  ];
}
