// The whole run in a few pixels: how busy the machine is, how many cores are wasted, and which part is on the screen.

import { canvas, h, sized } from '../dom';
import type { Run } from '../data/run';
import type { Span } from '../span';
import { theme } from '../theme';
import { gutter } from './map';

const HEIGHT = 46;

interface Sums {
  busy: Float32Array;
  wasted: Float32Array;
}

export class Overview {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private sums: Sums | null = null;

  constructor(
    private readonly run: Run,
    private readonly span: Span,
  ) {
    this.canvas = canvas('The whole run: busy and wasted cores over time');
    this.element = h('div', { class: 'overview', title: 'The whole run. Drag to move, click to go there.' }, this.canvas);
    let drags = false;
    const go = (event: PointerEvent): void => {
      const at = ((event.offsetX - this.gutter) / this.width()) * span.whole;
      span.set(at - span.length / 2, at + span.length / 2);
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      drags = true;
      this.canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    this.canvas.addEventListener('pointermove', (event) => {
      if (drags) go(event);
    });
    for (const end of ['pointerup', 'pointercancel'] as const) this.canvas.addEventListener(end, () => (drags = false));
  }

  private get gutter(): number {
    return gutter(this.element.clientWidth);
  }

  private width(): number {
    return Math.max(80, this.element.clientWidth - this.gutter);
  }

  draw(): void {
    const width = this.width();
    const on = sized(this.canvas, this.gutter + width, HEIGHT);
    const style = getComputedStyle(this.element);
    const colour = (name: string): string => style.getPropertyValue(name);
    on.fillStyle = colour('--paper');
    on.fillRect(0, 0, this.gutter + width, HEIGHT);
    const cpus = this.run.head.cpus.length;
    const scale = (this.run.head.duration_ns / this.span.whole) * width;
    const sums = (this.sums ??= this.sum());
    const inks = ['--busy', '--waste'].map(colour) as [string, string];
    // Wasted cores lie on the busy ones, so that both are seen, and what is left over them is idle with nobody waiting.
    const each = scale / sums.busy.length;
    const wide = Math.max(each, 0.5) + 0.3;
    sums.busy.forEach((busy, i) => {
      const [up, wasted] = [busy, sums.wasted[i]!].map((value) => (value / cpus) * (HEIGHT - 4)) as [number, number];
      const [x, shown] = [this.gutter + i * each, wasted > 0.2 ? Math.max(wasted, 1) : 0];
      on.fillStyle = inks[0];
      on.fillRect(x, HEIGHT - up, wide, up);
      on.fillStyle = inks[1];
      on.fillRect(x, HEIGHT - up - shown, wide, shown);
    });
    on.fillStyle = colour('--ink');
    on.font = '11px system-ui, sans-serif';
    on.textBaseline = 'middle';
    on.textAlign = 'right';
    on.fillText('busy', this.gutter - 6, HEIGHT - 10);
    on.fillStyle = colour('--waste-ink');
    on.fillText('wasted', this.gutter - 6, 12);
    on.textAlign = 'start';
    this.window(on, width);
  }

  private window(on: CanvasRenderingContext2D, width: number): void {
    const { span } = this;
    if (span.isWhole) return;
    const x0 = this.gutter + (span.from / span.whole) * width;
    const x1 = this.gutter + (span.to / span.whole) * width;
    on.fillStyle = theme() === 'dark' ? 'rgba(0,0,0,0.6)' : 'rgba(255,255,255,0.65)';
    on.fillRect(this.gutter, 0, x0 - this.gutter, HEIGHT);
    on.fillRect(x1, 0, this.gutter + width - x1, HEIGHT);
    on.strokeStyle = '#1f3bff';
    on.lineWidth = 2;
    on.strokeRect(x0, 1, Math.max(x1 - x0, 2), HEIGHT - 2);
  }

  /** Of the coarsest level, over all CPUs. */
  private sum(): Sums {
    const level = this.run.head.levels[0];
    const buckets = level?.buckets ?? 0;
    const sums = { busy: new Float32Array(buckets), wasted: new Float32Array(buckets) };
    level?.chunks.forEach((chunk, t) => {
      const tile = this.run.tile(chunk);
      if (!tile) return;
      for (let at = 0; at < tile.busy.length; at++) {
        const bucket = t * level.tile + (at % tile.buckets);
        sums.busy[bucket]! += tile.busy[at]! / 255;
        sums.wasted[bucket]! += tile.wasted[at]! / 255;
      }
    });
    return sums;
  }
}
