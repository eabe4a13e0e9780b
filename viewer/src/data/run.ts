// One run: its head, and whatever of its chunks was unpacked so far.

import { unpack, unpackJson } from './bytes';
import { play, type Chunk } from './detail';
import type { Delays, Head, Moment, Named, TaskFigures } from './head';
import type { Profile } from './profile';
import { readEpisodes, readLives, type Buckets, type Episodes } from './lives';
import { readTile, type Tile } from './tiles';

/** Chunks of single events that are kept unpacked. */
const CHUNKS_KEPT = 64;

export class Run {
  readonly head: Head;
  /** The row of each CPU, by its number. */
  readonly rowOf: Map<number, number>;
  readonly cpuNumbers: number;
  names = new Map<number, Named>();
  byPid = new Map<number, number>();
  tasks: TaskFigures[] = [];
  moments: Moment[] = [];
  delays: Delays[] = [];
  /** Where the scheduler's time went, if it was profiled. */
  profile: Profile | null = null;
  lives = new Map<number, Buckets>();
  episodes = new Map<number, Episodes>();
  /** Called when something was unpacked that the picture may want. */
  arrived: () => void = () => undefined;
  private readonly tiles = new Map<number, Tile | null>();
  private readonly chunks = new Map<number, Chunk | null>();

  constructor(
    readonly number: number,
    text: string,
  ) {
    this.head = JSON.parse(text) as Head;
    this.rowOf = new Map(this.head.cpus.map(([cpu], row) => [cpu, row]));
    this.cpuNumbers = Math.max(...this.head.cpus.map(([cpu]) => cpu)) + 1;
  }

  private id(chunk: number): string {
    return `run${this.number}.${chunk}`;
  }

  /** What the first picture needs. */
  async first(): Promise<void> {
    const coarsest = this.head.levels[0];
    if (coarsest) await Promise.all(coarsest.chunks.map((chunk) => this.load(chunk)));
  }

  /** What it does not need. */
  async rest(): Promise<void> {
    const { names, tasks, moments, delays, lives, episodes, profile } = this.head;
    const [named, figures, decisions, measured, profiled] = await Promise.all([
      unpackJson<Named[]>(this.id(names)),
      unpackJson<TaskFigures[]>(this.id(tasks)),
      unpackJson<Moment[]>(this.id(moments)),
      unpackJson<Delays[]>(this.id(delays)),
      profile === null ? null : unpackJson<Profile>(this.id(profile)),
    ]);
    this.names = new Map(named.map((task) => [task[0], task]));
    this.byPid = new Map(named.map((task) => [task[1], task[0]]));
    [this.tasks, this.moments, this.delays, this.profile] = [figures, decisions, measured, profiled];
    this.lives = readLives(await unpack(this.id(lives.chunk)));
    this.episodes = readEpisodes(await unpack(this.id(episodes)));
    this.arrived();
  }

  private async load(chunk: number): Promise<void> {
    this.tiles.set(chunk, null);
    this.tiles.set(chunk, readTile(await unpack(this.id(chunk)), this.head.cpus.length));
  }

  /** A tile, if it is there; else it will be. */
  tile(chunk: number): Tile | null {
    const tile = this.tiles.get(chunk);
    if (tile === undefined) void this.load(chunk).then(() => this.arrived());
    return tile ?? null;
  }

  /** Single events of a time, if they are there; else they will be. */
  chunk(at: number): Chunk | null {
    const head = this.head.detail[at];
    if (!head) return null;
    const chunk = this.chunks.get(at);
    if (chunk) {
      // The one used last is forgotten last.
      this.chunks.delete(at);
      this.chunks.set(at, chunk);
    } else if (chunk === undefined) {
      this.chunks.set(at, null);
      void unpack(this.id(head.chunk)).then((raw) => {
        this.chunks.set(at, play(raw, head.from, head.to, this.cpuNumbers, (task) => this.names.get(task)?.[3] ?? 0));
        for (const [old] of this.chunks) {
          if (this.chunks.size <= CHUNKS_KEPT) break;
          this.chunks.delete(old);
        }
        this.arrived();
      });
    }
    return chunk ?? null;
  }

  /** A task as people know it. Untrusted text: never markup. */
  called(task: number): string {
    const named = this.names.get(task);
    return named ? `${shown(named[2])} (${named[1]})` : `task ${task}`;
  }

  nameOf(task: number): string {
    return this.names.get(task)?.[2] ?? '';
  }
}

/** A name without characters that hide or reorder text. */
export function shown(name: string): string {
  const safe = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`);
  return safe === '' ? '(no name)' : safe;
}

/** All runs of the page. */
export function runs(): Run[] {
  const all: Run[] = [];
  for (;;) {
    const text = document.getElementById(`run${all.length}`)?.textContent;
    if (!text) return all;
    all.push(new Run(all.length, text));
  }
}
