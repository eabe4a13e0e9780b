// Light or dark: as the system is, until somebody chooses.

export type Theme = 'light' | 'dark';

const dark = window.matchMedia('(prefers-color-scheme: dark)');
let chosen: Theme | null = null;
let printing = false;
const listeners: (() => void)[] = [];

export function theme(): Theme {
  if (printing) return 'light';
  return chosen ?? (dark.matches ? 'dark' : 'light');
}

/** Is the page being put on paper? */
export function isPrinting(): boolean {
  return printing;
}

export function listen(listener: () => void): void {
  listeners.push(listener);
}

function changed(): void {
  document.documentElement.dataset['theme'] = theme();
  for (const listener of listeners) listener();
}

export function toggle(): void {
  chosen = theme() === 'dark' ? 'light' : 'dark';
  changed();
}

dark.addEventListener('change', changed);
// Paper is white.
window.addEventListener('beforeprint', () => {
  printing = true;
  changed();
});
window.addEventListener('afterprint', () => {
  printing = false;
  changed();
});
changed();
