//! Runs the cases of objects of `tests/bpf` in the running kernel: `bpf_cases FILE.bpf.o...`.
//!
//! Prints a line per case: `NAME is RESULT`, with the expected result if it differs, or `NAME is not for this kernel`.
//! `./x vm` puts this program into its guests.
#![forbid(unsafe_code)]

use keel_bpfc::Case;
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long to wait for a result: timers run after their program.
const PATIENCE: Duration = Duration::from_secs(2);

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let mut all = ExitCode::SUCCESS;
    for path in std::env::args_os().skip(1) {
        if let Err(failure) = run(Path::new(&path)) {
            println!("{}: {failure}", Path::new(&path).display());
            all = ExitCode::FAILURE;
        }
    }
    all
}

fn run(path: &Path) -> Result<(), Failure> {
    let bytes = std::fs::read(path)?;
    let cases = keel_bpfc::cases(&bytes)?;
    let kernel = version()?;
    let name = path.file_name().and_then(|name| name.to_str()?.split('.').next()).unwrap_or("cases");
    let mut open = ObjectBuilder::default().name(name)?.open_memory(&bytes)?;
    for mut program in open.progs_mut() {
        let case = cases.iter().find(|case| case.name.as_str() == program.name());
        program.set_autoload(case.is_some_and(|case| case.since <= kernel));
    }
    let object = open.load()?;
    for case in &cases {
        let reported = match case.since <= kernel {
            true => one(&object, case).unwrap_or_else(|failure| failure.to_string()),
            false => "not for this kernel".to_owned(),
        };
        println!("{} is {reported}", case.name);
    }
    Ok(())
}

fn one(object: &Object, case: &Case) -> Result<String, Failure> {
    let program = object.progs_mut().find(|program| program.name() == case.name.as_str());
    let output = program.ok_or("not loaded")?.test_run(ProgramInput::default())?;
    if output.return_value != 0 {
        return Err(format!("returned {}", output.return_value as i32).into());
    }
    let begun = Instant::now();
    loop {
        let got = result(object, case)?;
        if got == case.want {
            return Ok(case.shown(&got));
        }
        if begun.elapsed() > PATIENCE {
            return Ok(format!("{}, not {}", case.shown(&got), case.shown(&case.want)));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The bytes of the case's variable.
fn result(object: &Object, case: &Case) -> Result<Vec<u8>, Failure> {
    let bss = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss")).ok_or("no .bss")?;
    let value = bss.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?.ok_or("no .bss")?;
    Ok(value.get(case.offset..case.offset + case.want.len()).ok_or("no result")?.to_vec())
}

/// The running kernel's version, major and minor.
fn version() -> Result<(u32, u32), Failure> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(['.', '-']).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
        _ => Err(format!("the kernel calls itself '{}'", release.trim()).into()),
    }
}
