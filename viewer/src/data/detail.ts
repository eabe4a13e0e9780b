// Chunks of single events, played: what each CPU and each task did, exactly (crates/page/src/detail.rs).

import { Bytes } from './bytes';
import { weightOf } from './weights';

export const IDLE = -1;
export const OFFLINE = -2;
export const OFF = 0;
export const WAITS = 1;
export const RUNS = 2;

/** A CPU's steps: from `at` on `task` runs and so many are runnable, until the next step. */
export interface Steps {
  at: number[];
  task: number[];
  load: number[];
  weight: number[];
}

/** A task's steps: from `at` on it is in `state` on `cpu`. */
export interface Life {
  at: number[];
  state: number[];
  cpu: number[];
}

export interface Chunk {
  from: number;
  to: number;
  /** By the CPU's number. */
  cpus: Steps[];
  tasks: Map<number, Life>;
}

export function play(raw: Uint8Array, from: number, to: number, cpus: number, nice: (task: number) => number): Chunk {
  return new Player(new Bytes(raw), from, to, cpus, nice).play();
}

class Player {
  private readonly running: number[] = [];
  private readonly load: number[] = [];
  private readonly weight: number[] = [];
  private readonly state = new Map<number, [number, number]>();
  private readonly chunk: Chunk;
  private now: number;

  constructor(
    private readonly bytes: Bytes,
    from: number,
    to: number,
    private readonly count: number,
    private readonly nice: (task: number) => number,
  ) {
    this.now = from;
    const steps = (): Steps => ({ at: [], task: [], load: [], weight: [] });
    this.chunk = { from, to, cpus: Array.from({ length: count }, steps), tasks: new Map() };
  }

  play(): Chunk {
    this.begin();
    while (this.bytes.left > 0) this.record();
    return this.chunk;
  }

  private begin(): void {
    for (let cpu = 0; cpu < this.count; cpu++) {
      const what = this.bytes.number();
      this.running.push(what === 0 ? IDLE : what === 1 ? OFFLINE : what - 2);
      this.load.push(0);
      this.weight.push(0);
      if (what >= 2) this.becomes(what - 2, RUNS, cpu);
    }
    for (let left = this.bytes.number(); left > 0; left--) {
      const task = this.bytes.number();
      this.becomes(task, WAITS, this.bytes.number());
    }
    for (let cpu = 0; cpu < this.count; cpu++) this.step(cpu);
  }

  private record(): void {
    const kind = this.bytes.byte();
    this.now += this.bytes.number();
    const cpu = this.bytes.number();
    const task = (): number => this.bytes.number() - 1;
    if (kind <= 4) {
      const [prev, next] = [task(), task()];
      if (prev === next) return;
      this.becomes(prev, kind === 1 || kind === 2 ? WAITS : OFF, cpu);
      this.becomes(next, RUNS, cpu);
      this.running[cpu] = next;
      this.step(cpu);
    } else if (kind <= 6) {
      const [who, target] = [task(), this.bytes.number()];
      task();
      if (!this.state.get(who)?.[0]) this.becomes(who, WAITS, target);
    } else if (kind === 7) {
      const who = task();
      if (this.state.get(who)?.[0] === WAITS) this.becomes(who, OFF, 0);
    } else if (kind === 8) {
      const who = task();
      this.bytes.number();
      const to = this.bytes.number();
      if (this.state.get(who)?.[0] === WAITS) this.becomes(who, WAITS, to);
    } else {
      const target = this.bytes.number();
      this.running[target] = kind === 9 ? IDLE : OFFLINE;
      this.step(target);
    }
  }

  private becomes(task: number, state: number, cpu: number): void {
    if (task < 0) return;
    const before = this.state.get(task);
    const weight = weightOf(this.nice(task));
    if (before && before[0] !== OFF) this.add(before[1], -1, -weight);
    if (state !== OFF) this.add(cpu, 1, weight);
    this.state.set(task, [state, cpu]);
    let life = this.chunk.tasks.get(task);
    if (!life) this.chunk.tasks.set(task, (life = { at: [], state: [], cpu: [] }));
    life.at.push(this.now);
    life.state.push(state);
    life.cpu.push(cpu);
  }

  private add(cpu: number, tasks: number, weight: number): void {
    this.load[cpu] = (this.load[cpu] ?? 0) + tasks;
    this.weight[cpu] = (this.weight[cpu] ?? 0) + weight;
    this.step(cpu);
  }

  private step(cpu: number): void {
    const steps = this.chunk.cpus[cpu];
    if (!steps) return;
    let last = steps.at.length - 1;
    if (last < 0 || steps.at[last] !== this.now) last = steps.at.push(this.now) - 1;
    steps.task[last] = this.running[cpu] ?? IDLE;
    steps.load[last] = this.load[cpu] ?? 0;
    steps.weight[last] = this.weight[cpu] ?? 0;
  }
}
