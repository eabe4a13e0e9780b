// The few lines beside the pointer.

import { h } from './dom';

const element = h('div', { class: 'tip', role: 'status' });
element.hidden = true;

export function attach(): void {
  document.body.append(element);
}

/** Shows lines near a place of the window. */
export function show(lines: string[], x: number, y: number): void {
  element.replaceChildren(...lines.map((line) => h('div', {}, line)));
  element.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = element;
  const left = x + 16 + width > window.innerWidth ? Math.max(4, x - width - 12) : x + 16;
  const top = y + 16 + height > window.innerHeight ? Math.max(4, y - height - 12) : y + 16;
  element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

export function hide(): void {
  element.hidden = true;
}
