// The clock over a picture.

import { instant, ticks } from '../words';

export const AXIS = 20;

/** Pixels that a tick's text needs. */
const ROOM = 84;

/** Draws ticks of `from..to` over an area, in the text's colour. */
export function axis(on: CanvasRenderingContext2D, from: number, to: number, left: number, width: number, ink: string): void {
  const { step, at } = ticks(from, to, width / ROOM);
  on.fillStyle = ink;
  on.font = '11px system-ui, sans-serif';
  on.textBaseline = 'alphabetic';
  for (const tick of at) {
    const x = left + ((tick - from) / (to - from)) * width;
    on.fillRect(x, AXIS - 5, 1, 5);
    const text = instant(tick, step);
    const room = on.measureText(text).width;
    if (x + 3 + room <= left + width) on.fillText(text, x + 3, AXIS - 7);
  }
}
