// What the checks found, longest first: each leads to its place. And the decisions of that time, which may tell why.

import { h } from '../dom';
import type { Run } from '../data/run';
import type { Finding, Moment } from '../data/head';
import { momentsIn } from '../draw/considered';
import type { Span } from '../span';
import type { State } from '../state';
import { count, instant, numbers, time } from '../words';

const KINDS: Record<string, string> = {
  wasted_core: 'wasted core',
  starvation: 'starvation',
};
/** What the decisions of a moment have in common. */
const MISSED = 'Each put a task on a busy CPU though another idled, or looked for an idle CPU at one where a task waited, and moved none. Those of the finding\u2019s CPU and node come first.';
/** Kinds of decisions that even out what runs where. */
const BALANCING = ['balance', 'newidle', 'nohz'];

/** Where no balancing saw what waited, how far any looked: what nobody looks at nobody evens out. */
function unseen(moments: Moment[]): string {
  const balancings = moments.filter(({ kind, worth }) => BALANCING.includes(kind) && worth >= 2);
  if (balancings.length === 0 || balancings.some(({ worth }) => worth === 3)) return '';
  const widest = Math.max(...balancings.map(({ considered }) => numbers(considered).length));
  return `No balancing that is kept here looked, for an idle CPU, at one where a task waited; the widest looked at ${count(widest)} CPUs.`;
}

/** Decisions that are listed. */
const MOMENTS = 40;

export class Findings {
  readonly element: HTMLElement;
  private readonly buttons: HTMLButtonElement[] = [];
  private readonly moments: HTMLElement;
  private readonly momentsHead: HTMLElement;
  private readonly momentsNote = h('p', { class: 'note' });
  private at = -1;

  constructor(
    private readonly run: Run,
    private readonly span: Span,
    private readonly state: State,
  ) {
    const { findings, findings_total } = run.head.report;
    const list = h('ol', { class: 'findings' });
    findings.forEach((finding, at) => {
      const button = this.button(finding, at);
      this.buttons.push(button);
      list.append(h('li', {}, button));
    });
    const all = Object.values(findings_total).reduce((sum, n) => sum + n, 0);
    const words = all === 0 ? 'Nothing found: no core idled while a thread waited.' : `Findings (${findings.length === all ? count(all) : `the longest of ${count(all)}`})`;
    this.moments = h('ul', { class: 'moments' });
    this.momentsHead = h('h3', {}, 'Decisions');
    this.element = h('aside', { class: 'side', 'aria-label': 'Findings and decisions' }, h('h3', {}, words), list, this.momentsHead, this.momentsNote, this.moments);
  }

  private button(finding: Finding, at: number): HTMLButtonElement {
    const where = instant(finding.start_ns - this.run.head.start_ns, 1e6);
    return h(
      'button',
      { class: `finding ${finding.kind === 'wasted_core' ? 'waste' : ''}`, onclick: () => this.go(at) },
      h('b', {}, `${KINDS[finding.kind] ?? finding.kind.replaceAll('_', ' ')} · ${time(finding.duration_ns)}`),
      ` at ${where}`,
      h('span', { class: 'text' }, finding.text),
    );
  }

  /** How many there are. */
  get length(): number {
    return this.buttons.length;
  }

  /** To the next one, or with -1 to the one before. */
  step(by: number): void {
    if (this.length > 0) this.go((this.at + by + this.length + (this.at < 0 && by < 0 ? 1 : 0)) % this.length);
  }

  /** Shows the place of a finding: all of it, and a fifth before and after. */
  go(at: number): void {
    const finding = this.run.head.report.findings[at];
    if (!finding) return;
    this.at = at;
    const from = finding.start_ns - this.run.head.start_ns;
    const to = from + finding.duration_ns;
    const [id, pid] = [this.run.byPid.get(finding.tasks[0] ?? -1), finding.tasks[0]];
    const task = pid === undefined || id === undefined ? null : { run: this.run.number, id };
    this.state.change({
      mark: { run: this.run.number, from, to, cpus: finding.cpus },
      task,
      cpu: null,
      moment: null,
    });
    const around = Math.max((to - from) / 5, 1000);
    this.span.set(from - around, to + around);
    this.buttons.forEach((button, i) => button.setAttribute('aria-current', String(i === at)));
  }

  /** How far who decided is from the finding that is looked at: its CPU, its node, elsewhere. */
  private far(moment: Moment): number {
    const { run, state } = this;
    if (state.mark?.run !== run.number) return 0;
    const node = (cpu: number): number | undefined => run.head.cpus[run.rowOf.get(cpu) ?? -1]?.[3];
    if (state.mark.cpus.includes(moment.cpu)) return 0;
    return state.mark.cpus.some((cpu) => node(cpu) === node(moment.cpu)) ? 1 : 2;
  }

  /** Lists the decisions of what is on the screen. */
  draw(): void {
    const { run, span, state } = this;
    if (run.head.moments_heard === 0) {
      this.momentsHead.hidden = this.momentsNote.hidden = this.moments.hidden = true;
      return;
    }
    const seen = momentsIn(run, span).filter((moment) => moment.kind !== 'domains');
    const missed = seen.filter((moment) => moment.worth === 3).length;
    this.momentsHead.textContent =
      missed > 0 ? `Decisions here that left a core idle beside waiting tasks (${count(missed)} kept)` : `Decisions here (${count(seen.length)} kept)`;
    this.momentsNote.textContent = missed > 0 ? `${MISSED} ${unseen(seen)}` : unseen(seen);
    const listed = seen.sort((a, b) => b.worth - a.worth || this.far(a) - this.far(b) || a.at - b.at).slice(0, MOMENTS);
    this.moments.replaceChildren(
      ...listed.map((moment) => {
        const chosen = state.moment?.moment === moment;
        const toggle = (): void => state.change({ moment: chosen ? null : { run: run.number, moment } });
        const lines = chosen ? moment.groups.map((line) => h('span', { class: 'group' }, line)) : [];
        const words = `${instant(moment.at, span.length / 5000)} ${moment.text}`;
        return h('li', {}, h('button', { class: `moment worth${moment.worth}`, 'aria-pressed': String(chosen), onclick: toggle }, words, ...lines));
      }),
    );
  }
}
