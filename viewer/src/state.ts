// What is chosen on the page, shared by its parts.

import type { Mode } from './draw/colours';
import type { Moment } from './data/head';

/** A place that a finding or a decision leads to. */
export interface Mark {
  run: number;
  from: number;
  to: number;
  cpus: number[];
}

export class State {
  mode: Mode = 'queue';
  /** A task of a run, shown wherever it ran and waited. */
  task: { run: number; id: number } | null = null;
  cpu: { run: number; cpu: number } | null = null;
  mark: Mark | null = null;
  moment: { run: number; moment: Moment } | null = null;
  /** Are all decisions drawn? */
  lines = false;
  private readonly listeners: (() => void)[] = [];

  listen(listener: () => void): void {
    this.listeners.push(listener);
  }

  change(what: Partial<Pick<State, 'mode' | 'task' | 'cpu' | 'mark' | 'moment' | 'lines'>>): void {
    Object.assign(this, what);
    for (const listener of this.listeners) listener();
  }
}
