//! Runs schedulers of the ecosystem, as users install them, on simulated machines of several shapes. Each must run to
//! its end, and two runs must give the same result.
//!
//! They come from crates.io and are built in `.cache/programs`. None of them is part of the project.

mod install;
mod row;

use crate::tree::root;
use crate::{Failure, cargo};
use row::Row;
use std::fmt::Write;
use std::path::PathBuf;

/// The folder of the builds, from the root. Git ignores it.
const FOLDER: &str = ".cache/programs";
/// The list of programs.
const LIST: &str = "tests/programs/ecosystem.tsv";
/// The machines: one of each size, and one with four nodes and SMT.
const MACHINES: [&str; 5] = ["1", "2", "8", "64", "tests/programs/four-nodes.toml"];
/// The file with all rows.
const TABLE: &str = "out/programs.tsv";

const HELP: &str = "\
usage: ./x programs [PROGRAM...]

Installs the schedulers of tests/programs/ecosystem.tsv from crates.io into .cache/programs, all or those you name. Runs
each twice for 10 virtual seconds on machines with 1, 2, 8 and 64 CPUs, and on one with four nodes and SMT. All rows are
in out/programs.tsv.
";

/// A scheduler's program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    name: String,
    version: String,
    arguments: Vec<String>,
}

/// Runs what `args` ask for.
///
/// # Errors
/// If one cannot be installed, does not run to its end, or gives two different results.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if args.iter().any(|arg| arg == "--help") {
        print!("{HELP}");
        return Ok(());
    }
    let text = std::fs::read_to_string(root().join(LIST)).map_err(|e| format!("{LIST}: {e}"))?;
    let mut programs = read(&text)?;
    if let Some(unknown) = args.iter().find(|arg| programs.iter().all(|program| program.name != **arg)) {
        return Err(format!("{LIST} has no program '{unknown}'"));
    }
    programs.retain(|program| args.is_empty() || args.contains(&program.name));
    let keel = cargo::program("keel")?;
    let mut table = String::from(row::HEAD);
    print!("{}", row::HEAD);
    let mut wrong = 0;
    for program in &programs {
        let path = install::install(program)?;
        for machine in MACHINES {
            let row = Row::of(&keel, program, &path, machine)?;
            wrong += u32::from(!row.is_good());
            print!("{row}");
            let _ = write!(table, "{row}");
        }
    }
    let place = root().join(TABLE);
    std::fs::create_dir_all(root().join("out"))
        .and_then(|()| std::fs::write(place, table))
        .map_err(|e| format!("{TABLE}: {e}"))?;
    match wrong {
        0 => Ok(()),
        wrong => Err(format!("{wrong} rows are not as they should be; {TABLE} has them all")),
    }
}

/// The command of a scheduler that is a program on the list. Installs it if it is missing. `None` if the list does not
/// contain the name.
///
/// # Errors
/// If it cannot be installed.
pub(crate) fn command(name: &str) -> Result<Option<Vec<String>>, Failure> {
    let text = std::fs::read_to_string(root().join(LIST)).map_err(|e| format!("{LIST}: {e}"))?;
    let Some(program) = read(&text)?.into_iter().find(|program| program.name == name) else {
        return Ok(None);
    };
    let path = install::install(&program)?.display().to_string();
    Ok(Some(std::iter::once(path).chain(program.arguments).collect()))
}

/// The path of the program with this name. Installs it if it is missing.
///
/// # Errors
/// If it is not on the list, or cannot be installed.
pub(crate) fn installed(name: &str) -> Result<PathBuf, Failure> {
    let command = command(name)?.ok_or_else(|| format!("{LIST} has no program '{name}'"))?;
    Ok(PathBuf::from(&command[0]))
}

/// Reads the list.
fn read(text: &str) -> Result<Vec<Program>, Failure> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    lines
        .map(|(number, line)| match *line.split('\t').collect::<Vec<_>>() {
            [name, version, arguments] if !name.is_empty() && !version.is_empty() => Ok(Program {
                name: name.to_owned(),
                version: version.to_owned(),
                arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            }),
            _ => Err(format!("{LIST}:{}: program, version and arguments expected", number + 1)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_three_columns() {
        let program = |name: &str, version: &str, arguments: &[&str]| Program {
            name: name.into(),
            version: version.into(),
            arguments: arguments.iter().map(|&a| a.to_owned()).collect(),
        };
        let check = |text: &str, expected: Result<Vec<Program>, &str>| {
            assert_eq!(read(text), expected.map_err(str::to_owned), "{text}");
        };
        check(
            "# words\na\t1.0\t\nb\t2.0\t-x y\n",
            Ok(vec![program("a", "1.0", &[]), program("b", "2.0", &["-x", "y"])]),
        );
        check("a\t1.0\n", Err("tests/programs/ecosystem.tsv:1: program, version and arguments expected"));
        let own = std::fs::read_to_string(root().join(LIST)).unwrap();
        assert!(read(&own).is_ok_and(|programs| programs.len() > 3));
    }
}
