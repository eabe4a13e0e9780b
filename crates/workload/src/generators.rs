//! Generates workloads from names such as `mix:1000:80`, `hogs:1000` and `chat:10:20:100`.
//!
//! A name is a word followed by numbers, each after a colon. A word without numbers may be a file's name.

use crate::compile::MAX_INSTANCES;
use crate::limits::{Limit, NICE, limit, said};
use crate::mix::mix;
use crate::programs::{program, programs};
use keel_abi::task::{Amount, Step, TaskSpec, Workload};
use keel_abi::timeline::{Change, Happening};
use keel_abi::{CpuId, CpuSet, Span};

/// The default mix, which adapts to the machine: tasks per CPU, load in percent of the machine, jitter in percent.
const FITTING: (u32, u32, u8) = (4, 90, 20);
/// The maximum load of a mix, in percent of the machine.
const MAX_LOAD: u32 = 10_000;

/// The latest time at which a CPU may come back online: after a day.
const MOST_MS: u64 = 86_400_000;

/// A kind of generated workload.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    /// Its syntax: `hogs:TASKS[:NICE]`.
    pub form: &'static str,
    /// An example of its name.
    pub example: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The valid ranges of its numbers.
    pub(crate) limits: &'static [Limit],
    /// Further conditions on its numbers, as text.
    pub(crate) beside: &'static str,
}

impl Generator {
    /// Returns the conditions on its numbers as a clause, which is empty if it takes none.
    pub fn limits(&self) -> String {
        said(self.limits, self.beside)
    }

    /// Returns an error that explains its syntax to a user who wrote `name`.
    pub(crate) fn refusal(&self, name: &str) -> String {
        let limits = self.limits();
        let limits = if limits.is_empty() { limits } else { format!("; {limits}") };
        format!("'{name}': write {}, as in {}{limits}", self.form, self.example)
    }
}

const TASKS: Limit = limit("TASKS", 1, MAX_INSTANCES as i64);
const FIT: Generator = Generator {
    form: "mix",
    example: "mix",
    about: "four threads per CPU that run and sleep, and load any machine to 90 %",
    limits: &[],
    beside: "",
};
const MIX: Generator = Generator {
    form: "mix:TASKS:LOAD[:JITTER]",
    example: "mix:1000:80:40",
    about: "tasks that run and sleep in turn; LOAD and JITTER are in percent",
    limits: &[TASKS, limit("LOAD", 1, MAX_LOAD as i64), limit("JITTER", 0, 100)],
    beside: "",
};
const HOGS: Generator = Generator {
    form: "hogs:TASKS[:NICE]",
    example: "hogs:1000",
    about: "TASKS threads that only compute",
    limits: &[TASKS, NICE],
    beside: "",
};
const HOTPLUG: Generator = Generator {
    form: "hotplug:CPU[:OFF_MS:ON_MS]",
    example: "hotplug:3",
    about: "a CPU goes offline and comes back, to be joined with others: lu:64@after_ms=200+hotplug:8",
    limits: &[],
    beside: "CPU is any of the machine's but 0, OFF_MS less than ON_MS, ON_MS at most 86,400,000",
};
/// When a CPU goes offline and comes back online by default, in milliseconds.
const HOTPLUG_MS: (u64, u64) = (10, 100);

/// Returns all generators.
pub fn generators() -> impl Iterator<Item = Generator> {
    [FIT, MIX, HOGS, HOTPLUG].into_iter().chain(programs())
}

/// Returns the workload of a generator's name, on a machine with this many CPUs. `None` if it is not a generator's
/// name. The error explains the syntax.
pub fn generated(name: &str, cpus: u32) -> Option<Result<Workload, String>> {
    if name == FIT.form {
        let (tasks, load, jitter) = FITTING;
        return Some(Ok(mix(tasks * cpus, cpus, load, jitter)));
    }
    let made = |generator: Generator, made: Option<Workload>| made.ok_or_else(|| generator.refusal(name));
    if let Some(numbers) = name.strip_prefix("mix:") {
        return Some(made(MIX, mix_of(numbers, cpus)));
    }
    if let Some(numbers) = name.strip_prefix("hogs:") {
        let hogs = hogs_of(numbers).map(|hogs| Workload { name: name.to_owned(), ..hogs });
        return Some(made(HOGS, hogs));
    }
    if let Some(numbers) = name.strip_prefix("hotplug:") {
        let hotplug = hotplug_of(numbers, cpus).map(|made| Workload { name: name.to_owned(), ..made });
        return Some(made(HOTPLUG, hotplug));
    }
    program(name)
}

fn mix_of(numbers: &str, cpus: u32) -> Option<Workload> {
    let (tasks, load, jitter) = match *all::<u32>(numbers)? {
        [tasks, load] => (tasks, load, 0),
        [tasks, load, jitter] => (tasks, load, jitter),
        _ => return None,
    };
    let jitter = u8::try_from(jitter).ok().filter(|&percent| percent <= 100)?;
    let good = (1..=MAX_INSTANCES).contains(&tasks) && (1..=MAX_LOAD).contains(&load);
    good.then(|| mix(tasks, cpus, load, jitter))
}

/// Makes threads that compute endlessly, 10 ms per iteration, like those of `workloads/hogs.json`.
fn hogs_of(numbers: &str) -> Option<Workload> {
    let (tasks, nice) = match *all::<i64>(numbers)? {
        [tasks] => (tasks, 0),
        [tasks, nice] => (tasks, nice),
        _ => return None,
    };
    let instances = u32::try_from(tasks).ok().filter(|tasks| (1..=MAX_INSTANCES).contains(tasks))?;
    let nice = i8::try_from(nice).ok().filter(|nice| (-20..=19).contains(nice))?;
    let steps = vec![
        Step::Run(Amount::fixed(Span::from_ms(10))),
        Step::Count,
        Step::Loop { to: 0, times: None, slot: 0 },
    ];
    let hog = TaskSpec { name: "hog".to_owned(), instances, nice, steps, ..TaskSpec::default() };
    Some(Workload { tasks: vec![hog], unit: "loops".to_owned(), ..Workload::default() })
}

/// Makes a workload in which a CPU, any but the first, goes offline and comes back online. Its only task exits at once.
fn hotplug_of(numbers: &str, cpus: u32) -> Option<Workload> {
    let (cpu, (off, on)) = match *all::<u64>(numbers)? {
        [cpu] => (cpu, HOTPLUG_MS),
        [cpu, off, on] => (cpu, (off, on)),
        _ => return None,
    };
    let cpu = u32::try_from(cpu).ok().filter(|cpu| (1..cpus).contains(cpu))?;
    if on <= off || on > MOST_MS {
        return None;
    }
    let cpu: CpuSet = std::iter::once(CpuId(cpu)).collect();
    let at =
        |ms, change| Happening { at: Span::from_ms(ms), every: None, times: None, follows: false, change };
    let steps = vec![Step::Run(Amount::fixed(Span::from_us(10))), Step::Count];
    Some(Workload {
        tasks: vec![TaskSpec { name: "watch".to_owned(), instances: 1, steps, ..TaskSpec::default() }],
        timeline: vec![at(off, Change::Offline(cpu.clone())), at(on, Change::Online(cpu))],
        unit: "looks".to_owned(),
        ..Workload::default()
    })
}

fn all<T: std::str::FromStr>(numbers: &str) -> Option<Vec<T>> {
    numbers.split(':').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_generated_and_wrong_numbers_are_refused() {
        for Generator { form, example, about, .. } in generators() {
            let made = generated(example, 4).unwrap_or_else(|| panic!("{example}")).unwrap();
            assert!(!made.unit.is_empty() && !about.is_empty(), "{form}");
        }
        let check = |name, expected: Option<&str>| {
            assert_eq!(generated(name, 4).map(|made| made.err().unwrap_or_default()).as_deref(), expected);
        };
        check("hogs", None);
        check("mix-64", None);
        check("mix:16:125", Some(""));
        check("hogs:3:19", Some(""));
        check(
            "hogs:0",
            Some(
                "'hogs:0': write hogs:TASKS[:NICE], as in hogs:1000; TASKS is 1 to 1,000,000, NICE -20 to 19",
            ),
        );
        let mix = "write mix:TASKS:LOAD[:JITTER], as in mix:1000:80:40; TASKS is 1 to 1,000,000, LOAD 1 to 10,000, JITTER 0 to 100";
        check("mix:16", Some(&format!("'mix:16': {mix}")));
        for bad in [
            "mix:",
            "mix:0:80",
            "mix:16:80:101",
            "mix:x:80",
            "mix:1:2:3:4",
            "mix:9999999999:80",
            "mix:1:-1",
            "hogs:",
            "hogs:1:20",
            "hogs:-1",
            "hogs:1:2:3",
            "hogs:1000001",
            "yields:0",
            "hotplug:0",
            "hotplug:4",
            "hotplug:1:5",
            "hotplug:1:5:5",
            "hotplug:1:5:99999999999",
        ] {
            assert!(generated(bad, 4).is_some_and(|made| made.is_err()), "{bad}");
        }
    }

    /// Returns a name with all numbers: `number` at position `at`, and the minimum elsewhere.
    fn with_number(generator: &Generator, at: usize, number: i64) -> String {
        let word = generator.form.split([':', '[']).next().unwrap_or_default();
        let numbers = generator.limits.iter().enumerate();
        let numbers = numbers.map(|(n, limit)| if n == at { number } else { limit.least });
        numbers.fold(word.to_owned(), |name, number| format!("{name}:{number}"))
    }

    #[test]
    fn the_documented_ranges_are_those_accepted() {
        for generator in generators() {
            for (at, limit) in generator.limits.iter().enumerate() {
                assert!(generator.form.contains(limit.name), "{}: {}", generator.form, limit.name);
                let accepted = |number| {
                    generated(&with_number(&generator, at, number), 4).is_some_and(|made| made.is_ok())
                };
                let seen = [limit.least - 1, limit.least, limit.most, limit.most + 1].map(accepted);
                assert_eq!(seen, [false, true, true, false], "{}: {}", generator.form, limit.name);
            }
            let takes_numbers = generator.form.contains(':');
            assert_eq!(takes_numbers, !generator.limits().is_empty(), "{}", generator.form);
        }
        let latest =
            |on_ms: u64| generated(&format!("hotplug:1:5:{on_ms}"), 4).is_some_and(|made| made.is_ok());
        assert_eq!([latest(86_400_000), latest(86_400_001)], [true, false]);
    }

    #[test]
    fn the_documentation_says_the_same() {
        let docs = include_str!("../../../docs/reference/generators.md");
        for generator in generators().filter(|generator| !generator.limits().is_empty()) {
            let row = format!("| `{}` | {} |", generator.form, generator.limits());
            assert!(docs.contains(&row), "docs/reference/generators.md lacks this line:\n{row}");
        }
    }

    #[test]
    fn hogs_have_the_nice_value_that_was_asked_for() {
        let hogs = generated("hogs:7:-5", 4).unwrap().unwrap();
        assert_eq!((hogs.tasks[0].instances, hogs.tasks[0].nice, hogs.name.as_str()), (7, -5, "hogs:7:-5"));
    }
}
