//! `buildworld:JOBS[:ROUNDS]`: FreeBSD's build of itself. It builds one directory after another, each with a make of
//! its own that runs at most JOBS compilations at once. ROUNDS (2) rounds of eleven directories, 39 files per round.
//!
//! A directory's make reads its rules, determines the dependencies of each file one after another, compiles, and links.
//! So there is little to do in parallel in small directories, whatever JOBS is. Of 28 directories in FreeBSD's usr.bin
//! (apply to compress), three quarters have one C file, the others 2 to 7: here seven have one, and three have 2, 4 and
//! 6. The library of 20 files is an estimate, as are the costs of make and linking: make is started four times per
//! directory and takes 25 ms each time. Compilations are those of `make`.

use super::make::{LINKER, WRITTEN, compilations, program, programs};
use super::{again, run_us, task, within};
use keel_abi::task::{Step, TaskSpec, Workload};

/// The number of files in each of a round's directories.
const DIRECTORIES: [u32; 11] = [1, 4, 1, 1, 20, 1, 2, 1, 1, 6, 1];
const ROUNDS: u32 = 2;
/// The indices of the specs, which follow those of `make`.
const DEPENDS: u32 = LINKER + 1;
const FIRST_DIRECTORY: u32 = DEPENDS + 1;

pub(super) fn workload(numbers: &[i64]) -> Option<Workload> {
    let (jobs, rounds) = match *numbers {
        [jobs] => (jobs, i64::from(ROUNDS)),
        [jobs, rounds] => (jobs, rounds),
        _ => return None,
    };
    let (jobs, rounds) = (within(jobs, 1, 100_000)?, within(rounds, 1, 10_000)?);
    let mut tasks = vec![TaskSpec { pages: 300, ..task("make", 1, all_directories(rounds)) }];
    tasks.extend(programs());
    tasks[LINKER as usize] = task("ld", 0, program(200, 40_000));
    tasks.push(task("mkdep", 0, program(150, 20_000)));
    for files in DIRECTORIES {
        let steps = directory(jobs.min(files), files);
        tasks.push(TaskSpec { pages: 300, ..task("submake", 0, steps) });
    }
    debug_assert_eq!(tasks.len(), FIRST_DIRECTORY as usize + DIRECTORIES.len());
    Some(Workload { tasks, unit: "files".to_owned(), ..Workload::default() })
}

/// Returns the steps of the topmost make, which visits one directory after another.
fn all_directories(rounds: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for number in (FIRST_DIRECTORY..).take(DIRECTORIES.len()) {
        steps.extend([run_us(1_000), Step::Spawn(number), Step::Write(WRITTEN), Step::WaitChild]);
    }
    steps.push(again(0, Some(rounds), 0));
    steps
}

/// Returns the steps of a directory's make.
fn directory(at_once: u32, files: u32) -> Vec<Step> {
    let mut steps = program(150, 100_000);
    let to = steps.len() as u32;
    steps.extend([Step::Spawn(DEPENDS), Step::Write(WRITTEN), Step::WaitChild, again(to, Some(files), 0)]);
    compilations(&mut steps, at_once, files - at_once, 1);
    steps
}
