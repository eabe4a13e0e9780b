// What a run's head tells, as crates/page/src/data.rs writes it. Times in nanoseconds from the run's beginning.

export interface Finding {
  kind: string;
  start_ns: number;
  duration_ns: number;
  cpus: number[];
  tasks: number[];
  text: string;
}

export interface Spread {
  p50: number;
  p99: number;
  max: number;
}

export interface Report {
  scheduler: string;
  workload: string;
  machine: string;
  seed: number;
  switches: number;
  wakeups: number;
  migrations: number;
  preemptions: number;
  throughput: number;
  throughput_unit: string;
  wakeup_delay_ns: Spread;
  busy_share: number;
  wasted_core_ns: number;
  wasted_share: number;
  findings: Finding[];
  findings_total: Record<string, number>;
}

export interface Level {
  bucket_ns: number;
  buckets: number;
  tile: number;
  chunks: number[];
}

export interface DetailHead {
  from: number;
  to: number;
  events: number;
  chunk: number;
}

export interface Head {
  version: number;
  name: string;
  /** Which cores idled and why; without any, the verdict. */
  title: string;
  /** The verdict, where it is not the title. */
  verdict: string;
  subtitle: string;
  start_ns: number;
  duration_ns: number;
  /** CPU, core, cache, node; in the order of the rows. */
  cpus: [number, number, number, number][];
  report: Report;
  notes: string[];
  levels: Level[];
  lives: { bucket_ns: number; chunk: number };
  detail: DetailHead[];
  detail_events: number;
  episodes: number;
  episodes_left_out: number;
  moments: number;
  moments_heard: number;
  names: number;
  names_left_out: number;
  tasks: number;
  delays: number;
  /** Null for a run that was not profiled. */
  profile: number | null;
}

/** Id, pid, name, nice value, CPUs that it may use (empty for all). */
export type Named = [number, number, string, number, string];

export interface TaskFigures {
  name: string;
  pid: number;
  cpu_ns: number;
  wait_ns: number;
  switches: number;
  migrations: number;
  preemptions: number;
  cpus: Record<string, number>;
}

/** A decision, as the scheduler told it. */
export interface Moment {
  at: number;
  /** 3 missed, 2 at a moment of waste, 1 balancing, 0 the rest. */
  worth: number;
  kind: string;
  cpu: number;
  pid: number;
  chosen: number | null;
  considered: string;
  text: string;
  groups: string[];
}

/** Of each bucket that is not empty the longest that it holds, and how many it holds; and what to say of all. */
export interface Histogram {
  longest: [number, number][];
  spread: Spread;
}

export interface Delays {
  name: string;
  woken: Histogram;
  again: Histogram;
  ran: Histogram;
}
