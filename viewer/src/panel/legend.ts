// What the colours mean.

import { h } from '../dom';
import { Colours, LEAST_WORDS, MANY, NICE_LEGEND, type Mode } from '../draw/colours';
import { theme } from '../theme';

function swatch(colour: string, words: string): HTMLElement {
  const box = h('i', {});
  box.style.background = colour;
  return h('span', { class: 'swatch' }, box, words);
}

export function legend(mode: Mode): HTMLElement {
  const colours = new Colours(theme());
  const parts: HTMLElement[] = [];
  if (mode === 'queue') parts.push(...LEAST_WORDS.map((words, i) => swatch(colours.queue[i]!, i === 2 ? '1 runnable' : words)));
  if (mode === 'load') {
    const words = ['idle', 'less than half', '1 (one task of nice 0)', '2', '3-4', '5-8', '9 or more'];
    parts.push(...words.map((words, i) => swatch(colours.load[i]!, words)));
  }
  if (mode === 'use') parts.push(...[0, 0.25, 0.5, 0.75, 1].map((share) => swatch(colours.use(share), `${share * 100} %`)));
  if (mode === 'task') parts.push(...MANY.slice(0, 6).map((colour) => swatch(colour, '')), swatch(colours.mixed, 'several tasks take turns'), swatch(colours.idle, 'idle'));
  if (mode === 'priority') {
    parts.push(...NICE_LEGEND.map(([nice, colour]) => swatch(colour, `nice ${nice}`)), swatch(colours.mixed, 'several'), swatch(colours.idle, 'idle'));
  }
  const waste = h('span', { class: 'swatch' }, h('i', { class: 'hatch' }), 'idle while a task waits');
  return h('div', { class: 'legend' }, waste, ...parts);
}
