// The source of a scheduler, each line with what it has cost.

import { h } from '../dom';
import { shown } from '../data/run';
import type { Cost, Profile, SourceFile, SourceRow } from '../data/profile';
import { count, percent, spent } from '../words';

/** Lines that are shown at once. */
const PART = 1500;

type Which = 'all' | 'ran' | 'never';
const WHICH: [Which, string][] = [
  ['all', 'all lines'],
  ['ran', 'lines that ran'],
  ['never', 'lines that never ran'],
];
const HEADS: [string, string][] = [
  ['share', 'of the time in callbacks'],
  ['time', 'all of it'],
  ['hits', 'how often it was reached'],
  ['insns', 'BPF instructions executed'],
  ['calls', 'what kfuncs and helpers were charged, with waits for locks'],
  ['cache lines', 'how long it waited for cache lines'],
  ['locks', 'how long its calls waited for locks'],
  ['ways', 'conditions: the ways that were gone, of those that there are'],
  ['line', 'its number'],
];

/** A line of code as it is, without characters that hide or reorder it. */
export function code(text: string): string {
  return text === '' ? '' : shown(text.replaceAll('\t', '    '));
}

/** A file without its folders. */
export function short(file: string): string {
  return shown(file.slice(file.lastIndexOf('/') + 1));
}

export class Source {
  readonly element: HTMLElement;
  private readonly files = h('select', { 'aria-label': 'File' });
  private readonly which = h('select', { 'aria-label': 'Which lines' }, ...WHICH.map(([value, words]) => h('option', { value }, words)));
  private readonly filter = h('input', { type: 'search', placeholder: 'only with', 'aria-label': 'Source: only lines that hold this' });
  private readonly body = h('tbody', {});
  private readonly note = h('p', { class: 'note' });
  private readonly more: HTMLButtonElement;
  private rows = PART;

  constructor(
    private readonly profile: Profile,
    private readonly whole: number,
  ) {
    this.files.append(...profile.files.map((file, at) => h('option', { value: String(at) }, `${shown(file.name)} (${percent(whole > 0 ? file.ps / whole : 0)})`)));
    for (const element of [this.files, this.which]) element.addEventListener('change', () => this.again());
    this.filter.addEventListener('input', () => this.again());
    this.more = h('button', { onclick: () => this.grow() });
    const heads = HEADS.map(([words, title]) => h('th', { scope: 'col', title }, words));
    this.element = h(
      'section',
      { class: 'source', 'aria-label': 'Source' },
      h('div', { class: 'bar' }, h('h3', {}, 'Source'), this.files, this.which, this.filter),
      this.note,
      h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Source' }, h('table', {}, h('thead', {}, h('tr', {}, ...heads, h('th', { class: 'text' }))), this.body)),
      this.more,
    );
    this.element.hidden = profile.files.length === 0;
    this.draw();
  }

  /** Leads to a line, if the page has it. */
  open(name: string, line: number): void {
    const at = this.profile.files.findIndex((file) => file.name === name);
    const place = this.profile.files[at]?.lines.findIndex((row) => row.line === line) ?? -1;
    if (place < 0) return;
    [this.files.value, this.which.value, this.filter.value] = [String(at), 'all', ''];
    this.rows = Math.max(PART, place + 50);
    this.draw();
    const row = this.body.children[place] as HTMLElement;
    row.setAttribute('aria-current', 'true');
    row.tabIndex = -1;
    row.scrollIntoView({ block: 'center' });
    row.focus({ preventScroll: true });
  }

  private again(): void {
    this.rows = PART;
    this.draw();
  }

  private grow(): void {
    this.rows += PART;
    this.draw();
  }

  private draw(): void {
    const file = this.profile.files[Number(this.files.value)];
    if (!file) return;
    const words = this.filter.value.toLowerCase();
    const fits: Record<Which, (row: SourceRow) => boolean> = {
      all: () => true,
      ran: (row) => row.cost !== null && row.cost.ps > 0,
      never: (row) => row.cost !== null && row.cost.ps === 0,
    };
    const all = file.lines.filter((row) => fits[this.which.value as Which](row) && (words === '' || row.text.toLowerCase().includes(words)));
    this.body.replaceChildren(...all.slice(0, this.rows).map((row) => this.row(row)));
    this.more.hidden = all.length <= this.rows;
    this.more.textContent = `more of ${count(all.length)} lines`;
    this.note.textContent = this.about(file);
  }

  private about(file: SourceFile): string {
    const left = this.profile.left_out.source;
    const some = left > 0 ? ` ${count(left)} lines of all files are not in the page.` : '';
    return (file.is_whole ? '' : 'The file was not there, or not the one that was compiled: these are the lines that the object has.') + some;
  }

  private row({ line, text, cost, ways }: SourceRow): HTMLElement {
    const costs = cost ? this.costs(cost) : ['', '', '', '', '', '', ''];
    const [gone, can] = ways;
    const missed = cost && cost.hits > 0 && gone < can ? `${gone}/${can}` : '';
    const cells = [...costs, missed, String(line)].map((value) => h('td', {}, value));
    const row = h('tr', { class: cost && cost.ps === 0 ? 'never' : '' }, ...cells, h('td', { class: 'text' }, h('code', {}, code(text))));
    if (cost && this.whole > 0) row.style.setProperty('--heat', `${Math.min(60, (cost.ps / this.whole) * 300)}%`);
    return row;
  }

  private costs(cost: Cost): string[] {
    if (cost.ps === 0) return ['never', '', '0', '', '', '', ''];
    return [percent(cost.ps / this.whole), spent(cost.ps), count(cost.hits), count(cost.executed), spent(cost.calls_ps), spent(cost.lines_ps), spent(cost.waits_ps)];
  }
}
