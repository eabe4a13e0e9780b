// The timeline and the profile, one at a time.

import { h } from './dom';

export type Tab = 'timeline' | 'profile';
const TABS: [Tab, string][] = [
  ['timeline', 'Timeline'],
  ['profile', 'Profile'],
];

export class Tabs {
  readonly element: HTMLElement;
  shown: Tab = 'timeline';
  private readonly buttons: HTMLButtonElement[];

  /** `beside` is there beside the profile, which has no toolbar of its own. */
  constructor(
    private readonly panels: Record<Tab, HTMLElement>,
    private readonly beside: HTMLElement,
    private readonly changed: () => void,
  ) {
    this.buttons = TABS.map(([tab, words]) => h('button', { role: 'tab', id: `tab-${tab}`, 'aria-controls': `panel-${tab}`, title: 's', onclick: () => this.choose(tab) }, words));
    for (const [tab] of TABS) {
      const panel = panels[tab];
      panel.id = `panel-${tab}`;
      panel.setAttribute('role', 'tabpanel');
      panel.setAttribute('aria-labelledby', `tab-${tab}`);
    }
    const list = h('div', { class: 'group', role: 'tablist', 'aria-label': 'What is shown' }, ...this.buttons);
    list.addEventListener('keydown', (event) => this.key(event));
    this.element = h('div', { class: 'tabs' }, list, beside);
    this.show();
  }

  choose(tab: Tab): void {
    if (tab === this.shown) return;
    this.shown = tab;
    this.show();
    this.changed();
  }

  /** The other one. */
  turn(): void {
    this.choose(this.shown === 'timeline' ? 'profile' : 'timeline');
  }

  private show(): void {
    TABS.forEach(([tab], at) => {
      const isShown = tab === this.shown;
      this.panels[tab].hidden = !isShown;
      const button = this.buttons[at]!;
      button.setAttribute('aria-selected', String(isShown));
      // One stop for the Tab key; arrows go on from there.
      button.tabIndex = isShown ? 0 : -1;
    });
    this.beside.hidden = this.shown === 'timeline';
  }

  private key(event: KeyboardEvent): void {
    if (!['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key)) return;
    // The timeline is not meant.
    event.stopPropagation();
    event.preventDefault();
    if (event.key === 'Home') this.choose('timeline');
    else if (event.key === 'End') this.choose('profile');
    else this.turn();
    this.buttons.find((button) => button.tabIndex === 0)?.focus();
  }
}
