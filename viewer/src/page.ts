// Puts the parts together, and draws them when something changed: at most once a frame.

import { h } from './dom';
import type { Run } from './data/run';
import { MODES, type Mode } from './draw/colours';
import { HeatMap } from './draw/map';
import { Overview } from './draw/overview';
import * as keys from './keys';
import { Chosen } from './panel/chosen';
import { Delays } from './panel/delays';
import { figures } from './panel/figures';
import { Findings } from './panel/findings';
import { legend } from './panel/legend';
import { Profile } from './panel/profile';
import { Tasks } from './panel/tasks';
import { Span } from './span';
import { State } from './state';
import { Tabs } from './tabs';
import * as theme from './theme';
import { count, instant, time } from './words';

/** One run's parts. */
interface Section {
  run: Run;
  map: HeatMap;
  overview: Overview;
  findings: Findings;
  tasks: Tasks;
  chosen: Chosen;
}

/** Keys that mean something beside the profile, too. */
const EVERYWHERE = ['s', 't', '?'];

/** Pixels for a map's rows on paper. */
const PAPER = 360;

const HELP: [string, string][] = [
  ['drag, ← →', 'move in time (with Shift: by half a screen)'],
  ['Ctrl and wheel, pinch, + −', 'zoom'],
  ['double click', 'zoom in there'],
  ['0 or Home', 'the whole run'],
  ['n, p', 'next and previous finding'],
  ['click', 'choose a CPU and its task'],
  ['1 to 5, c', 'colour by run-queue length, load, utilisation, task, priority'],
  ['d', 'draw the CPUs that decisions considered'],
  ['t', 'light or dark'],
  ['Esc', 'choose nothing'],
];

const TURN: [string, string] = ['s', 'the timeline or the profile'];

export class Page {
  private readonly span: Span;
  private readonly state = new State();
  private readonly sections: Section[];
  private readonly legend = h('div', {});
  private readonly where = h('output', { class: 'where', 'aria-live': 'off' });
  private readonly modes = new Map<Mode, HTMLButtonElement>();
  private readonly lines: HTMLButtonElement;
  private readonly help = h('dialog', { class: 'help' });
  private readonly delays: Delays;
  /** Where a run was profiled. */
  private tabs: Tabs | null = null;
  private readonly profiles = h('div', { class: 'profiles' });
  private frame = 0;
  /** The span of which lists were made last, and a timer until they are made anew. */
  private listed = '';
  private timer = 0;

  constructor(
    private readonly runs: Run[],
    private readonly main: HTMLElement,
  ) {
    this.span = new Span(Math.max(...runs.map((run) => run.head.duration_ns), 1));
    this.lines = h('button', { 'aria-pressed': 'false', title: 'd', onclick: () => this.toggleLines() }, 'considered CPUs');
    this.lines.hidden = runs.every((run) => run.head.moments_heard === 0);
    this.delays = new Delays(runs);
    this.sections = runs.map((run) => ({
      run,
      map: new HeatMap(run, this.span, this.state, () => this.room()),
      overview: new Overview(run, this.span),
      findings: new Findings(run, this.span, this.state),
      tasks: new Tasks(run, this.span, this.state),
      chosen: new Chosen(run, this.state),
    }));
  }

  /** Shows the first picture as soon as it can, and the rest after it. */
  async begin(): Promise<void> {
    await Promise.all(this.runs.map((run) => run.first()));
    this.build();
    this.follow();
    this.draw();
    this.main.dataset['first'] = performance.now().toFixed(0);
    const again = (): void => this.again();
    this.span.listen(again);
    this.state.listen(again);
    theme.listen(() => this.themed());
    new ResizeObserver(again).observe(this.main);
    for (const run of this.runs) run.arrived = again;
    this.keys();
    window.addEventListener('hashchange', () => this.follow());
    await Promise.all(this.runs.map((run) => run.rest()));
    this.delays.ready();
    if (this.tabs) this.profiles.append(...this.runs.map((run) => new Profile(run).element));
    this.draw();
    this.main.dataset['ready'] = 'true';
  }

  private build(): void {
    const sections = this.sections.map(({ run, map, overview, findings, tasks, chosen }) => {
      const { head } = run;
      const notes = head.notes.length > 0 ? [h('details', { class: 'notes' }, h('summary', {}, `About the recording (${head.notes.length})`), ...head.notes.map((note) => h('p', {}, note)))] : [];
      const verdict = head.verdict === '' ? [] : [h('p', { class: 'verdict' }, head.verdict)];
      const pictures = h('div', { class: 'pictures' }, overview.element, map.element, this.detail(run), tasks.element);
      return h(
        'article',
        { class: 'run' },
        h('header', {}, h('h2', {}, head.title), ...verdict, h('p', { class: 'note' }, this.runs.length > 1 ? `${head.name} · ${head.subtitle}` : head.subtitle), ...notes),
        h('div', { class: 'columns' }, pictures, h('div', { class: 'beside' }, findings.element, chosen.element)),
      );
    });
    const below = h('div', { class: 'below' }, this.delays.element, figures(this.runs));
    const shown = [this.toolbar(), h('div', { class: 'runs' }, ...sections), below];
    const isProfiled = this.runs.some((run) => run.head.profile !== null);
    const keys = isProfiled ? [...HELP, TURN] : HELP;
    this.help.append(h('h3', {}, 'Keys and gestures'), h('table', {}, ...keys.map(([key, words]) => h('tr', {}, h('th', {}, key), h('td', {}, words)))), h('button', { onclick: () => this.help.close() }, 'Close'));
    if (isProfiled) this.main.append(...this.tabbed(shown), this.help);
    else this.main.append(...shown, this.help);
    this.main.classList.toggle('several', this.runs.length > 1);
  }

  /** The timeline and the profile, as tabs. */
  private tabbed(timeline: HTMLElement[]): HTMLElement[] {
    const panel = h('div', {}, ...timeline);
    this.tabs = new Tabs({ timeline: panel, profile: this.profiles }, this.tools(), () => this.turned());
    return [this.tabs.element, panel, this.profiles];
  }

  /** What is hidden has no size: it is drawn when it is seen. */
  private turned(): void {
    if (this.isProfile) return;
    this.delays.draw();
    this.draw();
    this.list();
  }

  private get isProfile(): boolean {
    return this.tabs?.shown === 'profile';
  }

  /** Shows what a link names: a part of the time, or the profile. */
  private follow(): void {
    if (location.hash === '#profile') this.tabs?.choose('profile');
    else if (this.span.follow(location.hash)) this.tabs?.choose('timeline');
  }

  /** What is kept of single events. */
  private detail(run: Run): HTMLElement {
    const { head } = run;
    const kept = head.detail.reduce((sum, chunk) => sum + chunk.events, 0);
    const some = kept < head.detail_events ? ` of ${count(head.detail_events)}; elsewhere the finest picture is of ${time(head.levels.at(-1)?.bucket_ns ?? 0)}` : '';
    const short = head.episodes_left_out > 0 ? ` ${count(head.episodes_left_out)} short moments of waste are in sums alone.` : '';
    return h('p', { class: 'note' }, `${count(head.cpus.length)} CPUs, ${time(head.duration_ns)}. Zoomed in, single events are drawn: ${count(kept)} kept${some}.${short}`);
  }

  private tools(): HTMLElement {
    const button = (words: string, label: string, does: () => void): HTMLElement => h('button', { 'aria-label': label, title: label, onclick: does }, words);
    return h('div', { class: 'group' }, button('◐', 'light or dark', () => theme.toggle()), button('?', 'keys and gestures', () => this.help.showModal()));
  }

  private toolbar(): HTMLElement {
    const modes = MODES.map(([mode, words], at) => {
      const button = h('button', { 'aria-pressed': 'false', title: String(at + 1), onclick: () => this.state.change({ mode }) }, words);
      this.modes.set(mode, button);
      return button;
    });
    const zoom = (words: string, label: string, does: () => void): HTMLElement => h('button', { 'aria-label': label, title: label, onclick: does }, words);
    return h(
      'nav',
      { class: 'toolbar', 'aria-label': 'Picture' },
      h('div', { class: 'group', role: 'group', 'aria-label': 'Colour by' }, h('span', { class: 'label' }, 'Colour'), ...modes),
      h(
        'div',
        { class: 'group', role: 'group', 'aria-label': 'Time' },
        zoom('◀', 'earlier', () => this.span.pan(-0.25)),
        zoom('▶', 'later', () => this.span.pan(0.25)),
        zoom('+', 'zoom in', () => this.span.zoom(0.5)),
        zoom('−', 'zoom out', () => this.span.zoom(2)),
        zoom('all', 'the whole run', () => this.span.all()),
        this.where,
      ),
      h('div', { class: 'group' }, this.lines, this.tools()),
      this.legend,
    );
  }

  private toggleLines(): void {
    this.state.change({ lines: !this.state.lines });
  }

  private keys(): void {
    const mode = (at: number) => ({ words: '', does: () => this.state.change({ mode: MODES[at]![0] }) });
    const does = (does: (event: KeyboardEvent) => void) => ({ words: '', does });
    const next = MODES.length;
    const on = {
      ArrowLeft: does((event) => this.span.pan(event.shiftKey ? -0.5 : -0.1)),
      ArrowRight: does((event) => this.span.pan(event.shiftKey ? 0.5 : 0.1)),
      '+': does(() => this.span.zoom(0.5)),
      '=': does(() => this.span.zoom(0.5)),
      '-': does(() => this.span.zoom(2)),
      '0': does(() => this.span.all()),
      Home: does(() => this.span.all()),
      n: does(() => this.sections[this.current()]?.findings.step(1)),
      p: does(() => this.sections[this.current()]?.findings.step(-1)),
      c: does(() => this.state.change({ mode: MODES[(MODES.findIndex(([mode]) => mode === this.state.mode) + 1) % next]![0] })),
      d: does(() => this.toggleLines()),
      t: does(() => theme.toggle()),
      '?': does(() => (this.help.open ? this.help.close() : this.help.showModal())),
      Escape: does(() => this.state.change({ task: null, cpu: null, mark: null, moment: null })),
      ...(this.tabs ? { s: does(() => this.tabs?.turn()) } : {}),
      ...Object.fromEntries(MODES.map((_, at) => [String(at + 1), mode(at)])),
    };
    keys.listen(on, (key) => !this.isProfile || EVERYWHERE.includes(key));
  }

  /** The run whose findings n and p step through: the one that was last looked at, or the first with any. */
  private current(): number {
    return this.state.mark?.run ?? Math.max(0, this.sections.findIndex(({ findings }) => findings.length > 0));
  }

  private themed(): void {
    if (this.isProfile) return;
    this.delays.draw();
    // Paper does not wait for a frame, nor until a movement is over.
    this.draw();
    this.list();
  }

  /** Pixels for the rows of a map: most of the window, or what lies under a heading on a sheet of paper across. */
  private room(): number {
    return theme.isPrinting() ? PAPER : (window.innerHeight * 0.62) / Math.min(this.runs.length, 2);
  }

  private again(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  /** Lists follow when a movement is over: nobody reads them meanwhile. */
  private listSoon(): void {
    clearTimeout(this.timer);
    if (this.listed === this.shown()) this.list();
    else this.timer = window.setTimeout(() => this.list(), 120);
  }

  private list(): void {
    clearTimeout(this.timer);
    this.listed = this.shown();
    for (const { findings, chosen } of this.sections) {
      findings.draw();
      chosen.draw();
    }
  }

  private shown(): string {
    return `${this.span.from} ${this.span.to}`;
  }

  private draw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const { span, state } = this;
    if (this.isProfile) return;
    for (const section of this.sections) {
      section.overview.draw();
      section.map.draw();
      section.tasks.draw();
    }
    this.listSoon();
    for (const [mode, button] of this.modes) button.setAttribute('aria-pressed', String(mode === state.mode));
    this.lines.setAttribute('aria-pressed', String(state.lines));
    this.legend.replaceChildren(legend(state.mode));
    this.where.textContent = `${instant(span.from, span.length / 100)} to ${instant(span.to, span.length / 100)} (${time(span.length)})`;
    Object.assign(this.main.dataset, { from: String(span.from), to: String(span.to), mode: state.mode });
  }
}
