// Mouse, touch and pen on a picture of time: drag to move, wheel and pinch to zoom, a click to choose.

import type { Span } from './span';

/** Pixels that a click may move. */
const CLICK = 4;

export interface Gestures {
  /** The part of the element where time is: from its left, and how wide. */
  area: () => { left: number; width: number };
  hover: (x: number, y: number) => void;
  leave: () => void;
  click: (x: number, y: number) => void;
}

export function gestures(of: HTMLElement, span: Span, on: Gestures): void {
  const fingers = new Map<number, PointerEvent>();
  let moved = 0;
  const share = (clientX: number): number => {
    const { left, width } = on.area();
    return (clientX - of.getBoundingClientRect().left - left) / width;
  };

  of.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    of.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    if (fingers.size === 1) moved = 0;
  });
  of.addEventListener('pointermove', (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return on.hover(event.offsetX, event.offsetY);
    const others = [...fingers.values()].filter((finger) => finger.pointerId !== event.pointerId);
    const [x0, x1] = [share(before.clientX), share(event.clientX)];
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    fingers.set(event.pointerId, event);
    const other = others[0];
    if (!other) {
      if (moved > CLICK) span.pan(x0 - x1);
      return;
    }
    // What is under both fingers stays under them.
    const fixed = share(other.clientX);
    const [apart, now] = [Math.abs(x0 - fixed), Math.abs(x1 - fixed)];
    if (apart > 0.005 && now > 0.005) span.zoom(apart / now, fixed);
  });
  const up = (event: PointerEvent): void => {
    if (fingers.delete(event.pointerId) && fingers.size === 0 && moved <= CLICK && event.type === 'pointerup') {
      on.click(event.offsetX, event.offsetY);
    }
  };
  of.addEventListener('pointerup', up);
  of.addEventListener('pointercancel', up);
  of.addEventListener('pointerleave', on.leave);
  of.addEventListener('dblclick', (event) => span.zoom(0.25, share(event.clientX)));
  of.addEventListener(
    'wheel',
    (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      // A wheel alone scrolls the page, as everywhere; with Ctrl, and on a trackpad's pinch, it zooms.
      if (!sideways && !event.ctrlKey && !event.metaKey && !event.altKey) return;
      event.preventDefault();
      if (sideways) span.pan((event.deltaX || event.deltaY) / on.area().width);
      else span.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * (event.deltaMode ? 0.1 : 0.012)), share(event.clientX));
    },
    { passive: false },
  );
}
