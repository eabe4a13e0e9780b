// Colours: told apart by people who see few, in light and dark, and in print.

import type { Theme } from '../theme';

/** What the heat map's colour stands for. */
export type Mode = 'queue' | 'load' | 'use' | 'task' | 'priority';

export const MODES: [Mode, string][] = [
  ['queue', 'run-queue length'],
  ['load', 'load'],
  ['use', 'utilisation'],
  ['task', 'task'],
  ['priority', 'priority'],
];

/** The least mean of runnable tasks for each colour of `queue` and `load`; the first is idle. */
export const LEAST = [0, 0.03, 0.55, 1.3, 2.5, 4.5, 8.5];
export const LEAST_WORDS = ['idle', 'now and then', '1', '2', '3-4', '5-8', '9 or more'];

/** Blue, then yellow to dark red: by hue for most, by lightness for all. */
const QUEUE: Record<Theme, string[]> = {
  light: ['#ffffff', '#d3e6f3', '#86b9dc', '#fbe27b', '#f5a03c', '#d8452b', '#7a0f22'],
  dark: ['#12161c', '#1d3a52', '#2f6ea3', '#e8cf55', '#f0902f', '#e8432f', '#ff9db0'],
};
const LOAD: Record<Theme, string[]> = {
  light: ['#ffffff', '#e4e0f0', '#bcb3dc', '#9786c4', '#7557a8', '#542788', '#2d004b'],
  dark: ['#12161c', '#2a2440', '#473a6e', '#6b559c', '#9379c6', '#bda7e6', '#efe6ff'],
};
/** Okabe and Ito's, and lighter ones of them. */
export const MANY = [
  '#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b5a900', '#8c6bb1',
  '#66a9cf', '#f2c75c', '#66c4a9', '#e3aecb', '#9c755f', '#f28e6b', '#7f7f00', '#a3a3d8',
];
const NICE: [number, string][] = [
  [-20, '#b2182b'], [-10, '#d6604d'], [-4, '#f4a582'], [0, '#92a5b5'], [5, '#92c5de'], [10, '#4393c3'], [19, '#2166ac'],
];
const IDLE: Record<Theme, string> = { light: '#ffffff', dark: '#12161c' };
const MIXED: Record<Theme, string> = { light: '#c9ced4', dark: '#4a525c' };
const OFFLINE: Record<Theme, string> = { light: '#e8e6df', dark: '#2a2822' };

/** A colour as the pixel that it is in an image's memory. */
export function pixel(colour: string): number {
  const value = parseInt(colour.slice(1), 16);
  const [r, g, b] = [value >> 16, (value >> 8) & 255, value & 255];
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

function mixed(a: string, b: string, share: number): string {
  const part = (at: number): string => {
    const [x, y] = [a, b].map((colour) => parseInt(colour.slice(at, at + 2), 16)) as [number, number];
    return Math.round(x + (y - x) * share).toString(16).padStart(2, '0');
  };
  return `#${part(1)}${part(3)}${part(5)}`;
}

/** Where a mean lies among `LEAST`. */
function grade(mean: number): number {
  let at = 0;
  while (at + 1 < LEAST.length && mean >= LEAST[at + 1]!) at++;
  return at;
}

/** Colours of one theme, as pixels. */
export class Colours {
  readonly queue: string[];
  readonly load: string[];
  readonly idle: string;
  readonly mixed: string;
  readonly offline: string;
  private readonly queuePixels: number[];
  private readonly loadPixels: number[];
  private readonly usePixels: Uint32Array;
  private readonly manyPixels = MANY.map(pixel);
  readonly idlePixel: number;
  readonly mixedPixel: number;
  private readonly nicePixels = NICE.map(([nice, colour]) => [nice, pixel(colour)] as const);

  constructor(readonly theme: Theme) {
    this.queue = QUEUE[theme];
    this.load = LOAD[theme];
    [this.idle, this.mixed, this.offline] = [IDLE[theme], MIXED[theme], OFFLINE[theme]];
    [this.queuePixels, this.loadPixels] = [this.queue.map(pixel), this.load.map(pixel)];
    this.usePixels = Uint32Array.from({ length: 256 }, (_, i) => pixel(this.use(i / 255)));
    [this.idlePixel, this.mixedPixel] = [pixel(this.idle), pixel(this.mixed)];
  }

  /** Of a share of time, as text. */
  use(share: number): string {
    const most = this.theme === 'light' ? '#08519c' : '#8cc4ff';
    return mixed(this.idle, most, share);
  }

  ofQueue(mean: number): number {
    return this.queuePixels[grade(mean)]!;
  }

  ofLoad(mean: number): number {
    return this.loadPixels[grade(mean)]!;
  }

  ofUse(share: number): number {
    return this.usePixels[Math.min(255, Math.round(share * 255))]!;
  }

  ofMany(at: number): number {
    return this.manyPixels[at % MANY.length]!;
  }

  ofNice(nice: number): number {
    let best = this.nicePixels[0]!;
    for (const step of this.nicePixels) if (Math.abs(step[0] - nice) < Math.abs(best[0] - nice)) best = step;
    return best[1];
  }
}

/** Colours of nice values, for the legend. */
export const NICE_LEGEND = NICE;

/** A number from a name, the same in each picture. */
export function hash(name: string): number {
  let sum = 2166136261;
  for (let i = 0; i < name.length; i++) sum = Math.imul(sum ^ name.charCodeAt(i), 16777619);
  // The low bits of this sum are poor.
  return (sum ^ (sum >>> 15)) >>> 0;
}
