//! What each tool takes, and the arguments of `keel` that it stands for.

use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Arguments of a command.
pub(crate) type Args = Vec<String>;

/// What is run where, for how long.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Scene {
    /// A built-in workload, a generator such as mix:1000:80, an rt-app file or a recording. Default: mix
    pub workload: Option<String>,
    /// A built-in machine, a number of CPUs, or a file. Default: 8
    pub machine: Option<String>,
    /// In virtual time: 10s, 500ms
    pub duration: Option<String>,
    /// The seed of all random numbers
    pub seed: Option<u64>,
    /// none, quiet or busy
    pub noise: Option<String>,
    /// Global variables of the scheduler
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

/// `keel sim`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Sim {
    /// eevdf, a built-in name, or a .bpf.o file
    pub scheduler: String,
    #[serde(flatten)]
    pub(crate) scene: Scene,
}

/// `keel compare`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Compare {
    /// Schedulers, as for sim; the first is the baseline. Settings may be appended: fifo:slice_ns=1000000
    pub schedulers: Vec<String>,
    /// Runs of each, with consecutive seeds. Default: 3
    pub runs: Option<u32>,
    #[serde(flatten)]
    pub(crate) scene: Scene,
}

/// `keel check`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Check {
    /// A recording by keel, perf or trace-cmd
    pub trace: String,
    /// Judge only events after this time: 2s
    pub from: Option<String>,
    /// Judge only events before this time
    pub until: Option<String>,
}

/// `keel check --task`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Explain {
    /// A recording by keel, perf or trace-cmd
    pub trace: String,
    /// A task's name or pid
    pub task: String,
    /// How many waits. Default: 10
    pub top: Option<u32>,
}

/// `keel score`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Score {
    /// As for sim; settings may be appended: fifo:slice_ns=1000000
    pub scheduler: String,
    /// A built-in suite or a file. Default: general
    pub suite: Option<String>,
}

impl Scene {
    fn args(&self) -> impl Iterator<Item = String> {
        let options = [
            ("workload", self.workload.clone()),
            ("machine", self.machine.clone()),
            ("duration", self.duration.clone()),
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("noise", self.noise.clone()),
        ];
        let given = options.into_iter().filter_map(|(name, value)| option(name, value));
        given.chain(
            self.settings.iter().map(|(name, value)| format!("--set={name}={value}")).collect::<Args>(),
        )
    }
}

/// `--name=value`: with its sign, so that no value is taken for an option.
fn option(name: &str, value: Option<String>) -> Option<String> {
    value.map(|value| format!("--{name}={value}"))
}

/// Returns a command with its options, and then what it is about, behind `--`, so that no name is taken for an option.
fn command(name: &str, options: impl Iterator<Item = String>, about: &str) -> Args {
    [name.to_owned(), "--json".to_owned()]
        .into_iter()
        .chain(options)
        .chain(["--".to_owned(), about.to_owned()])
        .collect()
}

impl Sim {
    /// Returns the arguments of `keel`. What stands behind `--` would be a program, so a name that looks like an option
    /// is refused.
    pub(crate) fn args(&self) -> Result<Args, String> {
        if self.scheduler.starts_with('-') {
            return Err(format!("no scheduler is called '{}'", self.scheduler));
        }
        let first = ["sim".to_owned(), "--json".to_owned(), self.scheduler.clone()];
        Ok(first.into_iter().chain(self.scene.args()).collect())
    }
}

impl Compare {
    /// Returns the arguments of `keel`.
    pub(crate) fn args(&self) -> Args {
        let runs = option("runs", self.runs.map(|runs| runs.to_string()));
        command("compare", self.scene.args().chain(runs), &self.schedulers.join(","))
    }
}

impl Check {
    /// Returns the arguments of `keel`.
    pub(crate) fn args(&self) -> Args {
        let range = [option("from", self.from.clone()), option("until", self.until.clone())];
        command("check", range.into_iter().flatten(), &self.trace)
    }
}

impl Explain {
    /// Returns the arguments of `keel`.
    pub(crate) fn args(&self) -> Args {
        let about =
            [option("task", Some(self.task.clone())), option("top", self.top.map(|top| top.to_string()))];
        command("check", about.into_iter().flatten(), &self.trace)
    }
}

impl Score {
    /// Returns the arguments of `keel`.
    pub(crate) fn args(&self) -> Args {
        command("score", option("suite", self.suite.clone()).into_iter(), &self.scheduler)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json};

    #[test]
    fn tools_stand_for_commands() {
        let check = |got: Args, expected: &str| assert_eq!(got.join(" "), expected);
        fn of<T: serde::de::DeserializeOwned>(value: Value) -> T {
            from_value(value).expect("it is right")
        }
        let sim: Sim = of(json!({"scheduler": "fifo", "machine": "4", "seed": 7, "settings": {"fifo": "1"}}));
        check(sim.args().unwrap(), "sim --json fifo --machine=4 --seed=7 --set=fifo=1");
        let compare: Compare = of(json!({"schedulers": ["eevdf", "fifo"], "runs": 2, "duration": "1s"}));
        check(compare.args(), "compare --json --duration=1s --runs=2 -- eevdf,fifo");
        let explain: Explain = of(json!({"trace": "-x", "task": "--strict"}));
        check(explain.args(), "check --json --task=--strict -- -x");
        check(of::<Check>(json!({"trace": "a", "from": "1s"})).args(), "check --json --from=1s -- a");
        check(of::<Score>(json!({"scheduler": "o1"})).args(), "score --json -- o1");
    }

    #[test]
    fn no_name_is_an_option() {
        let sim: Sim = from_value(json!({"scheduler": "--trace=x"})).unwrap();
        assert!(sim.args().is_err());
    }
}
