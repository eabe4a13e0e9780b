// The heat map of one run: CPUs down, time across.

import { canvas, h, sized } from '../dom';
import { gestures } from '../gestures';
import type { Run } from '../data/run';
import type { Span } from '../span';
import type { State } from '../state';
import * as tip from '../tip';
import { theme } from '../theme';
import { instant, percent } from '../words';
import { AXIS, axis } from './axis';
import { Colours } from './colours';
import { Columns } from './columns';
import { drawMany, drawOne, momentsIn, type Place } from './considered';
import { cellColour, paint } from './paint';
import { Rows, rowHeight } from './rows';
import { taskOnMap } from './task';

/** Pixels at the left, for the names of rows: the same for all pictures of a run, so that their times are one below the other. */
export function gutter(width: number): number {
  return width < 560 ? 62 : 132;
}
const GAP = 3;

export class HeatMap {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly columns = new Columns();
  private image: ImageData | null = null;
  private rows: Rows;
  private ratio = 1;

  constructor(
    private readonly run: Run,
    private readonly span: Span,
    private readonly state: State,
    private readonly room: () => number,
  ) {
    this.canvas = canvas(`Heat map of ${run.head.cpus.length} CPUs: ${run.head.title}`);
    this.canvas.tabIndex = 0;
    this.element = h('div', { class: 'map' }, this.canvas);
    this.rows = new Rows(run.head.cpus, 1, 0);
    gestures(this.canvas, span, {
      area: () => ({ left: this.gutter, width: this.width() }),
      hover: (x, y) => this.hover(x, y),
      leave: () => tip.hide(),
      click: (x, y) => this.click(x, y),
    });
  }

  private get gutter(): number {
    return gutter(this.element.clientWidth);
  }

  private width(): number {
    return Math.max(80, this.element.clientWidth - this.gutter);
  }

  draw(): void {
    const { run, span, state } = this;
    this.ratio = window.devicePixelRatio || 1;
    const width = this.width();
    const height = rowHeight(run.head.cpus.length, this.room());
    const device = (pixels: number): number => Math.max(1, Math.round(pixels * this.ratio));
    this.rows = new Rows(run.head.cpus, device(height), device(GAP));
    const total = this.rows.total / this.ratio;
    const on = sized(this.canvas, this.gutter + width, AXIS + total + 1);
    const colours = new Colours(theme());
    const columns = Math.floor(width * this.ratio);
    this.columns.fill(run, span.from, span.to, columns);
    if (this.image?.width !== columns || this.image.height !== this.rows.total) {
      this.image = new ImageData(columns, this.rows.total);
    }
    paint(this.image, this.columns, this.rows, cellColour(run, this.columns, state.mode, colours), colours);
    const style = getComputedStyle(this.element);
    on.fillStyle = style.getPropertyValue('--edge');
    on.fillRect(0, 0, this.gutter + width, AXIS + total + 1);
    on.fillStyle = style.getPropertyValue('--paper');
    on.fillRect(0, 0, this.gutter + width, AXIS);
    on.fillRect(0, 0, this.gutter, AXIS + total + 1);
    on.putImageData(this.image, Math.round(this.gutter * this.ratio), Math.round(AXIS * this.ratio));
    const ink = style.getPropertyValue('--ink');
    axis(on, span.from, span.to, this.gutter, width, ink);
    this.labels(on, ink, height);
    this.overlays(on, width, height);
    this.canvas.dataset['exact'] = String(this.columns.isExact);
  }

  private labels(on: CanvasRenderingContext2D, ink: string, height: number): void {
    on.fillStyle = ink;
    on.textBaseline = 'middle';
    on.font = '11px system-ui, sans-serif';
    const each = Math.max(1, Math.ceil(10 / height));
    let lastY = -100;
    this.run.head.cpus.forEach(([cpu], row) => {
      const y = this.middle(row);
      if (row % each !== 0 || y - lastY < 10) return;
      on.textAlign = 'right';
      on.fillText(String(cpu), this.gutter - 5, y);
      lastY = y;
    });
    on.textAlign = 'left';
    for (const { id, top, bottom } of this.rows.nodes) {
      const [y0, y1] = [AXIS + top / this.ratio, AXIS + bottom / this.ratio];
      on.fillRect(this.gutter - 32, y0, 2, y1 - y0);
      const name = this.gutter > 100 ? `node ${id}` : `N${id}`;
      on.textAlign = 'right';
      if (y1 - y0 >= 9) on.fillText(this.rows.nodes.length > 1 ? name : 'CPU', this.gutter - 36, (y0 + y1) / 2);
    }
    on.textAlign = 'start';
  }

  private middle(row: number): number {
    return AXIS + (this.rows.tops[row]! + this.rows.height / 2) / this.ratio;
  }

  private place(width: number, height: number): Place {
    const middle = (row: number): number => this.middle(row);
    return { left: this.gutter, width, middle, rowHeight: height, dark: theme() === 'dark' };
  }

  private overlays(on: CanvasRenderingContext2D, width: number, height: number): void {
    const { run, span, state } = this;
    const x = (at: number): number => this.gutter + ((at - span.from) / span.length) * width;
    const place = this.place(width, height);
    on.save();
    on.beginPath();
    on.rect(this.gutter, AXIS, width, this.rows.total / this.ratio + 1);
    on.clip();
    if (state.task?.run === run.number) taskOnMap(on, run, span, state.task.id, place);
    if (state.cpu?.run === run.number) {
      const row = run.rowOf.get(state.cpu.cpu);
      if (row !== undefined) this.frame(on, this.gutter, this.middle(row) - height / 2, width, height, '#1f3bff');
    }
    const mark = state.mark;
    if (mark?.run === run.number) {
      const [x0, x1] = [Math.max(x(mark.from), this.gutter - 4), Math.min(x(mark.to), this.gutter + width + 4)];
      for (const cpu of mark.cpus) {
        const row = run.rowOf.get(cpu);
        if (row !== undefined) this.frame(on, x0, this.middle(row) - height / 2, Math.max(x1 - x0, 3), height, '#d6006c');
      }
    }
    if (state.lines) drawMany(on, run, span, place);
    if (state.moment?.run === run.number) drawOne(on, run, span, state.moment.moment, place, true);
    on.restore();
  }

  private frame(on: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, colour: string): void {
    on.lineWidth = 5;
    on.strokeStyle = theme() === 'dark' ? '#000000' : '#ffffff';
    on.strokeRect(x - 2, y - 2, width + 4, height + 4);
    on.lineWidth = 2.5;
    on.strokeStyle = colour;
    on.strokeRect(x - 2, y - 2, width + 4, height + 4);
  }

  private cell(x: number, y: number): { row: number; at: number; time: number } | null {
    const column = Math.floor((x - this.gutter) * this.ratio);
    const row = this.rows.at(Math.floor((y - AXIS) * this.ratio));
    if (row === undefined || column < 0 || column >= this.columns.width) return null;
    const time = this.span.from + ((x - this.gutter) / this.width()) * this.span.length;
    return { row, at: row * this.columns.width + column, time };
  }

  private hover(x: number, y: number): void {
    const box = this.canvas.getBoundingClientRect();
    const cell = this.cell(x, y);
    if (!cell) return tip.hide();
    tip.show([...this.about(cell), ...this.near(x)], box.left + x, box.top + y);
  }

  private about({ row, at, time }: { row: number; at: number; time: number }): string[] {
    const { run, columns, span } = this;
    const [cpu, core, llc, node] = run.head.cpus[row]!;
    const lines = [`${instant(time, span.length / 1000)} · CPU ${cpu} (core ${core}, cache ${llc}, node ${node})`];
    if (columns.offline[at]) return [...lines, 'offline'];
    const [load, busy, wasted] = [columns.load[at]!, columns.busy[at]!, columns.wasted[at]!];
    lines.push(`${load.toFixed(load < 10 ? 2 : 0)} runnable, busy ${percent(Math.min(busy, 1))}`);
    if (wasted > 0.005) lines.push(`idle while a task waits: ${percent(Math.min(wasted, 1))}`);
    if (busy > 0.03) lines.push(columns.lead[at]! > busy * 0.2 ? `runs ${run.called(columns.task[at]!)}` : 'several tasks take turns');
    return lines;
  }

  /** The decision that is drawn next to the pointer. */
  private near(x: number): string[] {
    if (!this.state.lines && this.state.moment?.run !== this.run.number) return [];
    const chosen = this.state.moment?.moment;
    const all = this.state.lines ? momentsIn(this.run, this.span) : chosen ? [chosen] : [];
    const at = this.span.from + ((x - this.gutter) / this.width()) * this.span.length;
    const reach = (6 / this.width()) * this.span.length;
    const near = all.filter((moment) => Math.abs(moment.at - at) < reach);
    return near.slice(0, 3).map((moment) => `${moment.text}`);
  }

  private click(x: number, y: number): void {
    const cell = this.cell(x, y);
    if (!cell) {
      this.state.change({ task: null, cpu: null, mark: null, moment: null });
      return;
    }
    const { run, columns } = this;
    const cpu = { run: run.number, cpu: run.head.cpus[cell.row]![0] };
    const busy = columns.busy[cell.at]!;
    const told = busy > 0.03 && columns.lead[cell.at]! > busy * 0.2;
    this.state.change({ cpu, task: told ? { run: run.number, id: columns.task[cell.at]! } : null });
  }
}
