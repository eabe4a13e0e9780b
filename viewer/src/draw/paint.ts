// Columns to pixels: one row of an image for each CPU, made as high as there is room, idle-while-waiting hatched.

import type { Run } from '../data/run';
import { hash, pixel, type Colours, type Mode } from './colours';
import type { Columns } from './columns';
import type { Rows } from './rows';

/** The least share of a column that is marked as wasted. */
const MARKED = 0.04;
/** And as wasted for most of it. */
const MOSTLY = 0.5;

const HATCH = { light: '#111111', dark: '#ffffff' };
const GROUND = { light: '#ffb3d1', dark: '#6b1440' };

/** The colour of each cell as a pixel. */
export function cellColour(run: Run, columns: Columns, mode: Mode, colours: Colours): (at: number) => number {
  const { load, weight, busy, task, lead } = columns;
  switch (mode) {
    case 'queue':
      return (at) => colours.ofQueue(load[at]!);
    case 'load':
      return (at) => colours.ofLoad(weight[at]!);
    case 'use':
      return (at) => colours.ofUse(busy[at]!);
    case 'task': {
      const known = new Map<number, number>();
      const of = (id: number): number => {
        let colour = known.get(id);
        if (colour === undefined) known.set(id, (colour = colours.ofMany(hash(run.nameOf(id)) + id)));
        return colour;
      };
      return (at) => told(at, (id) => of(id));
    }
    case 'priority':
      return (at) => told(at, (id) => colours.ofNice(run.names.get(id)?.[3] ?? 0));
  }
  /** Mixed where nobody ran for most of the busy time. */
  function told(at: number, colour: (id: number) => number): number {
    if (busy[at]! < 0.03) return colours.idlePixel;
    return lead[at]! > busy[at]! * 0.2 ? colour(task[at]!) : colours.mixedPixel;
  }
}

/** Draws the map on an image as large as the canvas's own pixels. */
export function paint(image: ImageData, columns: Columns, rows: Rows, colourOf: (at: number) => number, colours: Colours): void {
  const pixels = new Uint32Array(image.data.buffer);
  const { width } = columns;
  const [hatch, ground] = [pixel(HATCH[colours.theme]), pixel(GROUND[colours.theme])];
  const [offline, idle] = [pixel(colours.offline), colours.idlePixel];
  pixels.fill(0);
  rows.tops.forEach((top, row) => {
    const bottom = top + rows.height;
    const base = row * width;
    const line = top * width;
    for (let x = 0; x < width; x++) {
      const at = base + x;
      const wasted = columns.wasted[at]!;
      if (columns.offline[at]) pixels[line + x] = offline;
      else if (wasted >= MARKED && columns.busy[at]! < 0.9) pixels[line + x] = wasted > MOSTLY || columns.busy[at]! < 0.1 ? ground : colourOf(at);
      else pixels[line + x] = columns.load[at]! > 0 ? colourOf(at) : idle;
    }
    for (let y = top + 1; y < bottom; y++) pixels.copyWithin(y * width, line, line + width);
    for (let x = 0; x < width; x++) {
      const wasted = columns.wasted[base + x]!;
      if (wasted < MARKED) continue;
      // Half of the lines where it is wasted for less than half of the time.
      const every = wasted >= MOSTLY ? 5 : 10;
      for (let y = top; y < bottom; y++) if ((x + y) % every < 2) pixels[y * width + x] = hatch;
    }
  });
}
