// A table that can be sorted by each column, and shows the rows that hold a word.

import { h } from '../dom';
import { count } from '../words';

export interface Column<T> {
  words: string;
  /** What it is, for who asks. */
  title: string;
  /** What rows are sorted by: numbers from the largest, texts from the first. */
  by: (row: T) => number | string;
  shown: (row: T) => Node | string;
}

interface Options<T> {
  name: string;
  columns: Column<T>[];
  rows: T[];
  /** What a filter looks into. */
  text: (row: T) => string;
  /** How many more rows there were than the page has. */
  leftOut?: number;
  /** How many rows are shown first. */
  most?: number;
}

/** On a narrow screen what a row is about comes right after its first figure, and not where nobody sees it. */
function ordered<T>(columns: Column<T>[]): Column<T>[] {
  if (!window.matchMedia('(max-width: 700px)').matches) return columns;
  return [...columns.slice(0, 1), ...columns.slice(-1), ...columns.slice(1, -1)];
}

export class Table<T> {
  readonly element: HTMLElement;
  private readonly heads: HTMLElement[];
  private readonly body = h('tbody', {});
  private readonly more: HTMLButtonElement;
  private readonly step: number;
  private filter = '';
  private sorted = 0;
  private isTurned = false;
  private rows: number;

  private readonly options: Options<T>;

  constructor(given: Options<T>) {
    const { name, leftOut = 0, most = 12 } = given;
    const columns = ordered(given.columns);
    this.options = { ...given, columns };
    this.rows = this.step = most;
    this.heads = columns.map(({ words, title }, at) => h('th', { scope: 'col', class: this.side(at) }, h('button', { title, onclick: () => this.sort(at) }, words)));
    const filter = h('input', { type: 'search', placeholder: 'only with', 'aria-label': `${name}: only rows that hold this` });
    filter.addEventListener('input', () => {
      this.filter = filter.value.toLowerCase();
      this.rows = this.step;
      this.draw();
    });
    this.more = h('button', { onclick: () => this.grow() });
    const left = leftOut > 0 ? [h('span', { class: 'note' }, `${count(leftOut)} more are not in the page`)] : [];
    this.element = h(
      'section',
      { class: 'sorted', 'aria-label': name },
      h('div', { class: 'bar' }, h('h3', {}, name), filter, ...left),
      h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': name }, h('table', {}, h('thead', {}, h('tr', {}, ...this.heads)), this.body)),
      this.more,
    );
    this.draw();
  }

  /** Texts are to the left, numbers to the right. */
  private side(at: number): string {
    const { columns, rows } = this.options;
    return rows.length > 0 && typeof columns[at]!.by(rows[0]!) === 'string' ? 'text' : '';
  }

  private grow(): void {
    this.rows += 4 * this.step;
    this.draw();
  }

  private sort(at: number): void {
    this.isTurned = at === this.sorted && !this.isTurned;
    this.sorted = at;
    this.draw();
  }

  private draw(): void {
    const { columns, rows, text } = this.options;
    const { by } = columns[this.sorted]!;
    const order = (a: T, b: T): number => {
      const [one, other] = [by(a), by(b)];
      const from = typeof one === 'number' && typeof other === 'number' ? other - one : String(one).localeCompare(String(other), 'en');
      return this.isTurned ? -from : from;
    };
    const all = rows.filter((row) => this.filter === '' || text(row).toLowerCase().includes(this.filter)).sort(order);
    const isNumber = rows.length > 0 && typeof by(rows[0]!) === 'number';
    this.heads.forEach((head, at) => {
      if (at === this.sorted) head.setAttribute('aria-sort', isNumber !== this.isTurned ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    this.body.replaceChildren(...all.slice(0, this.rows).map((row) => h('tr', {}, ...columns.map(({ shown }, at) => h('td', { class: this.side(at) }, shown(row))))));
    if (all.length === 0) this.body.append(h('tr', {}, h('td', { colspan: String(columns.length) }, 'none')));
    this.more.hidden = all.length <= this.rows;
    this.more.textContent = `more of ${count(all.length)} rows`;
  }
}
