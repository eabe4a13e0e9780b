//! One run to be measured: `rate CPUS TASKS LOAD_PERCENT MS SINK [SOURCE]`, with `fifo` or a scheduler's
//! source in the checkout, a mix with 50 % jitter, and SINK one of `none`, `judge` (all checks) and
//! `trace` (written to /dev/null).
//!
//! Prints one line of alternating names and values: the run's counts, this process's user CPU time (not wall time,
//! which other programs lengthen), and its peak memory.
#![forbid(unsafe_code)]

use keel_abi::Span;
use keel_abi::scx::ExitKind;
use keel_bpfc::Compiler;
use keel_check::Judge;
use keel_lab::{Engine, Outcome, RunSpec, SchedulerSource, machines, schedulers};
use keel_trace::{NullSink, Sink, Writer};
use std::time::Duration;

const JITTER_PERCENT: u8 = 50;
const USAGE: &str = "usage: rate CPUS TASKS LOAD_PERCENT MS none|judge|trace [SOURCE]";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [cpus, tasks, load, ms, sink, source @ ..] = args.as_slice() else { panic!("{USAGE}") };
    let number = |text: &String| text.parse::<u32>().unwrap_or_else(|_| panic!("{text}: {USAGE}"));
    let scheduler = source.first().map_or_else(fifo, |path| compiled(path));
    let spec = spec(scheduler, number(cpus), number(tasks), number(load), number(ms));
    let before = used();
    let outcome = match sink.as_str() {
        "none" => run(&spec, &mut NullSink),
        "judge" => {
            let mut judge = Judge::default();
            let outcome = run(&spec, &mut judge);
            std::hint::black_box(judge.judgement());
            outcome
        }
        "trace" => {
            let file = std::fs::File::create("/dev/null").expect("/dev/null can be written");
            let mut writer = Writer::new(file);
            let outcome = run(&spec, &mut writer);
            writer.finish().expect("/dev/null takes everything");
            outcome
        }
        other => panic!("{other}: {USAGE}"),
    };
    let user = used().user_since(&before);
    println!(
        "switches {} wakeups {} callbacks {} suspensions {} bpf_insns {} user_ns {} peak_rss_bytes {}",
        outcome.counters.switches,
        outcome.counters.wakeups,
        outcome.counters.callbacks,
        outcome.counters.suspensions,
        outcome.overhead.instructions,
        user.as_nanos(),
        peak_rss_bytes(),
    );
}

fn fifo() -> SchedulerSource {
    source("fifo", schedulers::built_in("fifo").expect("fifo is built in"))
}

/// The scheduler of a source, by its path from the checkout's root.
fn compiled(path: &str) -> SchedulerSource {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let compiler = Compiler::new(root).include("schedulers/include").include("crates/kernel/btf");
    source(path, &compiler.compile(path).unwrap_or_else(|e| panic!("{e}")))
}

fn source(name: &str, bytes: &[u8]) -> SchedulerSource {
    SchedulerSource { name: name.to_owned(), bytes: bytes.into(), recipe: keel_recipe::Recipe::default() }
}

fn spec(scheduler: SchedulerSource, cpus: u32, tasks: u32, load_percent: u32, ms: u32) -> RunSpec {
    RunSpec {
        scheduler,
        settings: Vec::new(),
        workload: keel_workload::mix(tasks, cpus, load_percent, JITTER_PERCENT),
        machine: machines::of_cpus(cpus),
        duration: Span::from_ms(u64::from(ms)),
        seed: 1,
        noise: keel_abi::Noise::None,
        engine: Engine::Native,
        order: None,
        checked: false,
    }
}

fn run(spec: &RunSpec, sink: &mut dyn Sink) -> Outcome {
    let outcome = keel_lab::run(spec, sink, &mut |_| {}).expect("our own inputs are right");
    assert_eq!(outcome.exit, ExitKind::None, "{}", outcome.message);
    outcome
}

/// The resources that a process has used so far.
struct Used {
    /// On a CPU, in user and system mode.
    cpu: Duration,
    user_ticks: u64,
    system_ticks: u64,
}

fn used() -> Used {
    let read = |file| std::fs::read_to_string(file).expect("Linux has it");
    let first = read("/proc/self/schedstat").split_whitespace().next().and_then(|ns| ns.parse().ok());
    // After the name in brackets, which may contain anything, utime and stime are the 12th and 13th fields.
    let stat = read("/proc/self/stat");
    let mut fields = stat.rsplit(')').next().unwrap_or("").split_whitespace().skip(11);
    let mut ticks = || fields.next().and_then(|n| n.parse().ok()).expect("a number of ticks");
    Used {
        cpu: Duration::from_nanos(first.expect("nanoseconds come first")),
        user_ticks: ticks(),
        system_ticks: ticks(),
    }
}

impl Used {
    /// User CPU time since `before`: ticks are coarse, so they only separate user from system time.
    fn user_since(&self, before: &Self) -> Duration {
        let user = self.user_ticks - before.user_ticks;
        let all = user + self.system_ticks - before.system_ticks;
        let share = if all == 0 { 1.0 } else { user as f64 / all as f64 };
        self.cpu.saturating_sub(before.cpu).mul_f64(share)
    }
}

fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.expect("VmHWM is in KiB") * 1024
}
