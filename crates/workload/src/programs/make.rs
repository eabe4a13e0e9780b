//! `make:JOBS[:FILES]`: a build as a graph of processes: FILES compilations (64 by default), at most JOBS at once (0
//! for all), and a final link.
//!
//! A compilation is a driver that starts the compiler proper, then the assembler. The kernel build in Fabio's
//! benchmarks of April 2001 took 217 s of user and 14 s of system time with 1.17 million page faults for about 1000
//! files: 0.2 s and about 1100 faults per file. How this is divided among the three programs, and the waits for the
//! disk (four of about 2 ms), are estimates, the same on every machine.

use super::{again, run_us, task, within};
use keel_abi::Span;
use keel_abi::task::{Amount, Step, TaskSpec, Workload};

const FILES: u32 = 64;
/// The indices of the specs.
const DRIVER: u32 = 1;
const COMPILER: u32 = 2;
const ASSEMBLER: u32 = 3;
pub(super) const LINKER: u32 = 4;
/// The number of pages that each side of a fork writes next.
pub(super) const WRITTEN: u32 = 8;
/// The memory that a compiler reads again and again.
const COMPILER_BYTES: u64 = 192 * 1024;

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let (jobs, files) = match *numbers {
        [jobs] => (jobs, i64::from(FILES)),
        [jobs, files] => (jobs, files),
        _ => return None,
    };
    let (jobs, files) = (within(jobs, 0, 100_000)?, within(files, 1, 100_000)?);
    let at_once = if jobs == 0 { files } else { jobs.min(files) };
    let mut make = Vec::new();
    compilations(&mut make, at_once, files - at_once, 0);
    let mut tasks = vec![TaskSpec { pages: 300, ..task("make", 1, make) }];
    tasks.extend(programs());
    Some(Workload { tasks, unit: "files".to_owned(), ..Workload::default() })
}

/// Returns the programs that make starts, in the order of their indices.
pub(super) fn programs() -> [TaskSpec; 4] {
    [
        task("gcc", 0, driver()),
        task("cc1", 0, compiler()),
        task("as", 0, program(150, 10_000)),
        task("ld", 0, program(1000, 500_000)),
    ]
}

/// Appends the steps of make itself: it starts `first` jobs, then one for each that ends, then the link. Its loops use
/// the counter `slot` and the two after it.
pub(super) fn compilations(steps: &mut Vec<Step>, first: u32, rest: u32, slot: u8) {
    let to = steps.len() as u32;
    steps.extend([run_us(200), Step::Spawn(DRIVER), Step::Write(WRITTEN), again(to, Some(first), slot)]);
    if rest > 0 {
        let to = steps.len() as u32;
        steps.extend([Step::WaitChild, Step::Count, run_us(200), Step::Spawn(DRIVER), Step::Write(WRITTEN)]);
        steps.push(again(to, Some(rest), slot + 1));
    }
    let to = steps.len() as u32;
    steps.extend([Step::WaitChild, Step::Count, again(to, Some(first), slot + 2)]);
    steps.extend([Step::Spawn(LINKER), Step::Write(WRITTEN), Step::WaitChild]);
}

fn driver() -> Vec<Step> {
    let mut steps = program(100, 2_000);
    for part in [COMPILER, ASSEMBLER] {
        steps.extend([Step::Spawn(part), Step::Write(WRITTEN), Step::WaitChild]);
    }
    steps
}

/// Returns the steps of the compiler. It reads its files from the disk in four parts, and works 40 to 50 ms after each,
/// alternating with five passes over its memory.
fn compiler() -> Vec<Step> {
    let vary =
        |middle_us, spread_us| Amount { base: Span::from_us(middle_us), spread: Span::from_us(spread_us) };
    let mut steps = vec![Step::Write(WRITTEN), Step::Exec, Step::Write(200)];
    let part = steps.len() as u32;
    steps.push(Step::Sleep(vary(2_000, 2_000)));
    let pass = steps.len() as u32;
    steps.extend([Step::Run(vary(9_000, 4_500)), Step::Touch(COMPILER_BYTES), again(pass, Some(5), 1)]);
    steps.extend([Step::Write(800), again(part, Some(4), 0)]);
    steps
}

/// Returns the steps of a child that executes another program.
pub(super) fn program(pages: u32, us: u64) -> Vec<Step> {
    let work = Step::Run(Amount { base: Span::from_us(us), spread: Span::from_us(us / 4) });
    vec![Step::Write(WRITTEN), Step::Exec, Step::Write(pages), work]
}
