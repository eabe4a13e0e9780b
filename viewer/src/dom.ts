// Elements, made without any markup from strings: whatever a name holds, it stays text.

type Child = Node | string;

/** An element with attributes and children; `on...` are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | ((event: Event) => void)> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'string') element.setAttribute(name, value);
    else element.addEventListener(name.slice(2), value);
  }
  element.append(...children);
  return element;
}

/** A canvas as sharp as the screen; its size is set when it is drawn. */
export function canvas(label: string): HTMLCanvasElement {
  return h('canvas', { role: 'img', 'aria-label': label });
}

/** Makes a canvas so wide and high on the page, and gives what draws on it in the page's pixels. */
export function sized(of: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (of.width !== w || of.height !== h) {
    [of.width, of.height] = [w, h];
    of.style.width = `${width}px`;
    of.style.height = `${height}px`;
  }
  const context = of.getContext('2d')!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
