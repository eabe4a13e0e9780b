//! The Python package: built, installed into an empty environment and tested, with checks of its types and the
//! documentation's examples.

use crate::tally::Tally;
use crate::tree::root;
use crate::{Failure, cargo};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The packages of its tests need this Python or a newer one.
const LEAST: (u32, u32) = (3, 11);

/// `./x python` does all of it. With `--renew`, it writes the examples' output into their pages.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let renew = match args {
        [] => false,
        [option] if option == "--renew" => true,
        [other, ..] => return Err(format!("./x python has no argument '{other}'; there is --renew")),
    };
    if let Some(why) = missing() {
        return Err(why);
    }
    let environment = Environment::ready()?;
    environment.types()?;
    let tests = environment.tests(renew)?;
    println!("x: Python: {} passed, {} failed", tests.passed, tests.failed);
    match tests.failed {
        0 => Ok(()),
        failed => Err(format!("{failed} tests of the Python package failed")),
    }
}

/// The same for CI, which counts each test.
pub(crate) fn check(tally: &mut Tally) {
    let ready = missing().map_or_else(Environment::packages, Err);
    let environment = match ready {
        Ok(environment) => environment,
        Err(why) => return println!("x: Python: NOT CHECKED: {why}"),
    };
    tally.check("Python package", "the package builds, and installs where nothing else is", || {
        environment.install()
    });
    tally.check("Python types", "editors and type checkers know the package's types", || environment.types());
    match environment.tests(false) {
        Ok(tests) => {
            tally.add(tests.passed, tests.failed);
            println!("x: Python: {} passed, {} failed", tests.passed, tests.failed);
        }
        Err(failure) => {
            tally.add(0, 1);
            println!("x: Python: {failure}");
        }
    }
}

/// Why nothing can be tested here, or `None` if it can.
fn missing() -> Option<String> {
    let (major, minor) = LEAST;
    let wanted = format!("import ensurepip, sys, venv; sys.exit(sys.version_info < ({major}, {minor}))");
    let found = Command::new("python3").args(["-c", &wanted]).stderr(Stdio::null()).status();
    let enough = found.is_ok_and(|status| status.success());
    (!enough).then(|| format!("Python {major}.{minor} or newer with venv is not installed"))
}

/// The number of tests.
struct Tests {
    passed: u64,
    failed: u64,
}

/// A virtual environment with the packages of the lock file.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// With the package installed.
    fn ready() -> Result<Self, Failure> {
        let environment = Self::packages()?;
        environment.install()?;
        Ok(environment)
    }

    /// With the packages of the lock file, if the registry is reachable. They are kept for next time.
    fn packages() -> Result<Self, Failure> {
        let environment = Self { folder: root().join("out/python") };
        let lock = root().join("python/requirements.txt");
        let text = std::fs::read(&lock).map_err(|e| format!("{} cannot be read: {e}", lock.display()))?;
        let installed = environment.folder.join("requirements.txt");
        if std::fs::read(&installed).is_ok_and(|there| there == text) {
            return Ok(environment);
        }
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear"]).arg(&environment.folder);
        done(venv, "python3 -m venv")?;
        let mut pip = environment.python();
        pip.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "-r"]);
        done(arg(pip, &lock), "pip install")?;
        std::fs::write(&installed, text).map_err(|e| format!("{}: {e}", installed.display()))?;
        Ok(environment)
    }

    /// Builds the wheel with the features of tests, and installs it.
    fn install(&self) -> Result<(), Failure> {
        let wheels = self.folder.join("wheels");
        // A wheel left by an earlier build is not from this source.
        let _ = std::fs::remove_dir_all(&wheels);
        let mut maturin = Command::new(self.folder.join("bin/maturin"));
        maturin.args(["build", "--quiet", "--profile", "dev", "--out"]).arg(&wheels);
        maturin.current_dir(root().join("python"));
        done(maturin, "maturin build")?;
        let mut pip = self.python();
        pip.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps"]);
        pip.args(["--force-reinstall", "--find-links"]);
        done(arg(arg(pip, &wheels), Path::new("evenkeel")), "pip install of the wheel")
    }

    /// Checks the types of the package, its tests and its examples.
    fn types(&self) -> Result<(), Failure> {
        let mut mypy = self.python();
        mypy.args(["-m", "mypy", "src", "tests", "benchmarks"]).current_dir(root().join("python"));
        done(mypy, "mypy")
    }

    /// Runs the tests and counts them.
    fn tests(&self, renew: bool) -> Result<Tests, Failure> {
        let keel = cargo::program("keel")?;
        let results = self.folder.join("tests.xml");
        let mut pytest = self.python();
        pytest.args(["-m", "pytest", "-p", "no:cacheprovider", "--junit-xml"]).arg(&results);
        pytest.current_dir(root().join("python")).env("KEEL", keel).env("MPLBACKEND", "Agg");
        if renew {
            pytest.env("KEEL_RENEW_DOCS", "1").arg("tests/test_docs.py");
        }
        // Failed tests are counted below.
        let _ = done(pytest, "pytest");
        let text = std::fs::read_to_string(&results).map_err(|_| "the tests could not start".to_owned())?;
        counted(&text).ok_or_else(|| format!("{} contains no test results", results.display()))
    }

    fn python(&self) -> Command {
        Command::new(self.folder.join("bin/python"))
    }
}

/// What pytest reports about all tests.
fn counted(report: &str) -> Option<Tests> {
    let number = |name: &str| {
        let (_, rest) = report.split_once(&format!(" {name}=\""))?;
        rest.split_once('"')?.0.parse::<u64>().ok()
    };
    let failed = number("errors")? + number("failures")?;
    Some(Tests { passed: number("tests")?.checked_sub(failed + number("skipped")?)?, failed })
}

fn arg(mut command: Command, arg: &Path) -> Command {
    command.arg(arg);
    command
}

fn done(mut command: Command, what: &str) -> Result<(), Failure> {
    let status =
        command.stdin(Stdio::null()).status().map_err(|e| format!("{what} cannot be started: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{what} failed; see its message above")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted() {
        let check = |report: &str, expected: Option<(u64, u64)>| {
            assert_eq!(counted(report).map(|tests| (tests.passed, tests.failed)), expected, "{report}");
        };
        let suite = |errors, failures, skipped, tests| {
            format!(
                "<testsuites name=\"x\"><testsuite name=\"pytest\" errors=\"{errors}\" failures=\"{failures}\" \
                 skipped=\"{skipped}\" tests=\"{tests}\" time=\"1.0\">"
            )
        };
        check(&suite(0, 0, 0, 12), Some((12, 0)));
        check(&suite(1, 2, 3, 12), Some((6, 3)));
        check("<testsuites/>", None);
    }
}
