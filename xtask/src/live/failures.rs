//! Provokes failures, and compares what keel prints and does with `tests/live/failures.tsv`.

use super::args::Args;
use super::guest::{EIGHT_CPUS, Script};
use super::seen::Seen;
use super::{OUT, TESTS};
use crate::tree::root;
use crate::{Failure, cargo, vm};
use std::process::Command;
use std::time::Duration;

/// Which kernels a case applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Where {
    /// Every requested kernel.
    Any,
    /// These kernels, if requested.
    These(Vec<String>),
    /// A kernel for which `keel list kernels` prints this.
    Only(&'static str),
}

impl Where {
    fn is_on(&self, kernel: &str, only: Option<&str>) -> bool {
        match self {
            Self::Any => only.is_none(),
            Self::These(kernels) => only.is_none() && kernels.iter().any(|these| these == kernel),
            Self::Only(what) => only == Some(what),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if text == "any" {
            return Some(Self::Any);
        }
        if let Some(only) = ONLY.iter().find(|only| **only == text) {
            return Some(Self::Only(only));
        }
        let kernels: Vec<String> = text.split(' ').map(str::to_owned).collect();
        kernels.iter().all(|kernel| vm::KERNELS.contains(&kernel.as_str())).then_some(Self::These(kernels))
    }
}

const ONLY: &[&str] = &["broken BTF", "no sched_ext"];

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Case {
    name: String,
    at: Where,
    code: String,
    /// The scheduler during the case. Empty if it was not checked.
    meanwhile: String,
    /// keel's messages, lines joined by ` / `. `*` stands for anything.
    words: String,
}

/// Provokes all failures. Returns what did not hold.
pub(super) fn run(args: &Args) -> Result<Vec<String>, Failure> {
    let cases = read()?;
    let mut faults = Vec::new();
    for kernel in &args.kernels {
        faults.extend(meet(kernel, &cases, None)?);
    }
    if args.quick {
        return Ok(faults);
    }
    for &what in ONLY {
        let Some(kernel) = kernel_with(what)? else {
            println!("no kernel with {what} is available: its failures are NOT CHECKED");
            continue;
        };
        faults.extend(meet(&kernel, &cases, Some(what))?);
    }
    Ok(faults)
}

/// Provokes the failures that this kernel was chosen for.
fn meet(kernel: &str, cases: &[Case], only: Option<&'static str>) -> Result<Vec<String>, Failure> {
    let cases: Vec<&Case> = cases.iter().filter(|case| case.at.is_on(kernel, only)).collect();
    println!("Linux {kernel}: {} failures", cases.len());
    let script = Script {
        kernel,
        guest: EIGHT_CPUS,
        script: "tests/live/failures.sh",
        out: format!("{OUT}/{kernel}/failures"),
        first: None,
        turn: Duration::from_secs(240),
    };
    let names: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
    let mut faults = Vec::new();
    for (case, seen) in cases.iter().zip(script.run(&names)?) {
        let fault = fault(case, &seen);
        println!("  {:18} {}", case.name, fault.as_deref().unwrap_or("good"));
        faults.extend(fault.map(|fault| format!("{} on Linux {kernel}: {fault}", case.name)));
    }
    Ok(faults)
}

/// What did not hold.
fn fault(case: &Case, seen: &Seen) -> Option<String> {
    if let Some(trouble) = seen.trouble() {
        return Some(trouble);
    }
    let said: Vec<&str> = seen.said.lines().map(str::trim).collect();
    let said = said.join(" / ");
    if !vm::matches(&case.words, &said) {
        return Some(format!("keel says '{said}', not '{}'", case.words));
    }
    let on_its_own = if case.at == Where::Only("no sched_ext") { "absent -" } else { "disabled -" };
    let expected = [("code", case.code.as_str()), ("meanwhile", &case.meanwhile), ("detached", on_its_own)];
    expected
        .into_iter()
        .find(|(fact, expected)| seen.fact(fact) != *expected)
        .map(|(fact, expected)| format!("{fact} is '{}', not '{expected}' (see {OUT})", seen.fact(fact)))
}

fn read() -> Result<Vec<Case>, Failure> {
    let path = format!("{TESTS}/failures.tsv");
    let text = std::fs::read_to_string(root().join(&path)).map_err(|e| format!("{path}: {e}"))?;
    parse(&text).map_err(|line| {
        format!(
            "{path}:{line}: write case, kernel, exit code, current scheduler and words, with tabs between"
        )
    })
}

/// The error is the number of a wrong line.
fn parse(text: &str) -> Result<Vec<Case>, usize> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let case = |(at, line): (usize, &str)| {
        let [name, kernel, code, meanwhile, words] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(at + 1);
        };
        Ok(Case {
            name: name.into(),
            at: Where::parse(kernel).ok_or(at + 1)?,
            code: code.into(),
            meanwhile: meanwhile.into(),
            words: words.into(),
        })
    };
    lines.map(case).collect()
}

/// The first kernel for which `keel list kernels` prints this, preferably one that is already fetched.
fn kernel_with(what: &str) -> Result<Option<String>, Failure> {
    let output = Command::new(cargo::built("keel")?).args(["list", "kernels"]).output();
    let output = output.map_err(|e| format!("cannot run keel: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut found: Vec<&str> = text.lines().filter(|line| line.contains(what)).collect();
    found.sort_by_key(|line| !line.contains(" cached "));
    Ok(found.first().and_then(|line| line.split_whitespace().next()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert!(read().unwrap().len() > 10);
        assert_eq!(
            parse("# a\n\nbusy\tany\t2\tenabled fifo\tkeel: *\n").unwrap()[0].meanwhile,
            "enabled fifo"
        );
        assert_eq!(parse("busy\tany\t2\tkeel: *\n"), Err(1));
        assert_eq!(parse("#\nbusy\tsome\t2\t\tkeel: *\n"), Err(2));
    }

    #[test]
    fn cases_are_met_where_they_can_be() {
        let check = |text: &str, kernel: &str, only: Option<&str>, expected: bool| {
            assert_eq!(Where::parse(text).unwrap().is_on(kernel, only), expected, "{text} on {kernel}");
        };
        check("any", "6.18", None, true);
        check("any", "7.2.12", Some("broken BTF"), false);
        check("7.0 7.2", "7.2", None, true);
        check("7.0 7.2", "6.18", None, false);
        check("broken BTF", "7.2.12", Some("broken BTF"), true);
        check("broken BTF", "7.2", None, false);
        assert_eq!(Where::parse("5.10"), None);
    }

    #[test]
    fn every_unmet_expectation_is_reported() {
        let case = &parse("busy\tany\t2\tenabled fifo\tkeel: * / help: end it\n").unwrap()[0];
        let check = |said: &str, facts: &[(&str, &str)], expected: Option<&str>| {
            let mut seen = Seen { turn: "busy".into(), said: said.into(), ..Seen::default() };
            let good =
                [("code", "2"), ("meanwhile", "enabled fifo"), ("detached", "disabled -"), ("works", "0")];
            for (name, words) in good.iter().chain(facts) {
                seen.facts.insert((*name).into(), (*words).into());
            }
            assert_eq!(fault(case, &seen).as_deref(), expected);
        };
        let said = "keel: fifo is there\nhelp: end it\n";
        check(said, &[], None);
        check("keel: x\n", &[], Some("keel says 'keel: x', not 'keel: * / help: end it'"));
        check(said, &[("code", "0")], Some("code is '0', not '2' (see out/live)"));
        check(
            said,
            &[("detached", "enabled fifo")],
            Some("detached is 'enabled fifo', not 'disabled -' (see out/live)"),
        );
        check(said, &[("works", "1")], Some("hackbench fails afterwards, with 1"));
    }
}
