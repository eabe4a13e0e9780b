// The keyboard: everything that the mouse can do.

export interface Keys {
  [key: string]: { does: (event: KeyboardEvent) => void; words: string };
}

/** Listens, but not where somebody writes, and to those keys alone that mean something now. */
export function listen(keys: Keys, means: (key: string) => boolean): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    if (target.closest('input, select, textarea')) return;
    const key = keys[event.key];
    if (!key || !means(event.key)) return;
    event.preventDefault();
    key.does(event);
  });
}
