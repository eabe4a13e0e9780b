// Where a scheduler's time went, as crates/profile/src/view.rs writes it. Times in picoseconds; names and texts are untrusted.

export interface Cost {
  ps: number;
  hits: number;
  executed: number;
  /** With the entry of callbacks. */
  calls_ps: number;
  lines_ps: number;
  /** Part of `calls_ps`. */
  waits_ps: number;
}

/** Line 0 is entering the function as a callback. */
export interface At {
  function: string;
  file: string;
  line: number;
  text: string;
}

export interface Costly {
  at: At;
  cost: Cost;
}

export interface CallbackRow {
  name: string;
  ps: number;
  calls: number;
  instructions: number;
}

export interface FunctionRow extends Costly {
  /** With what it calls. */
  total_ps: number;
}

export interface FightRow {
  to: At | null;
  from: At | null;
  from_nobody: boolean;
  writes: boolean;
  name: string;
  several: boolean;
  moves: number;
  ps: number;
  distances: [string, number][];
}

export interface WaitRow {
  waiter: [string, At] | null;
  holder: [string, At] | null;
  lock: string;
  count: number;
  ps: number;
}

export interface SourceRow {
  line: number;
  text: string;
  /** Null where the object has no code. */
  cost: Cost | null;
  /** The ways that its conditions went, of those that they can go. */
  ways: [number, number];
}

export interface SourceFile {
  name: string;
  is_whole: boolean;
  ps: number;
  lines: SourceRow[];
}

export interface Profile {
  about: { scheduler: string; workload: string; machine: string; cpus: number; seed: number; duration_ns: number };
  totals: { callbacks: number; instructions: number; callback_ns: number; lock_wait_ns: number; line_moves: number; line_ps: number };
  /** Instructions, calls of the kernel, cache lines, entering callbacks. */
  parts_ps: [number, number, number, number];
  callbacks: CallbackRow[];
  functions: FunctionRow[];
  lines: Costly[];
  fights: FightRow[];
  waits: WaitRow[];
  files: SourceFile[];
  left_out: { functions: number; lines: number; fights: number; waits: number; source: number };
}
