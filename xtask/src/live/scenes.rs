//! Scenes with known truth (`tests/live/scenes.tsv`), each recorded on a real kernel by keel, perf and trace-cmd at
//! once, and judged by `keel check`. keel's own recordings must never show apparent waste, and others only after
//! stating what they lack. Real waste must be found.

mod judged;

use super::args::Args;
use super::guest::Script;
use super::seen::Seen;
use super::{OUT, TESTS, folder, write};
use crate::tree::root;
use crate::{Failure, cargo};
use judged::Judged;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The list of scenes, from the root.
const TABLE: &str = "tests/live/scenes.tsv";

/// The recorders and the suffixes of their files.
const TOOLS: [(&str, &str); 3] = [("keel", "keel"), ("perf", "perf"), ("trace-cmd", "dat")];

/// Time is counted in instructions. Otherwise, emulated CPUs that wait for the host's would look idle.
const PLAIN: &[&str] = &["--cpus", "4", "--numa", "2", "--icount=3"];
const ISOLATED: &[&str] = &["--cpus", "4", "--icount=3", "--append", "isolcpus=2,3"];
const SMT: &[&str] = &["--cpus", "4", "--threads", "2", "--icount=3"];

/// The truth about a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    /// No task waits that an idle CPU could run, moments apart.
    None,
    /// CPUs idle while tasks wait.
    Wasted,
    /// Every task may use every CPU, and the kernel lets some wait briefly. A recording without affinity and limits
    /// then shows the actual waste.
    Brief,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Scene {
    name: String,
    guest: &'static [&'static str],
    truth: Truth,
}

impl Scene {
    fn read(line: &str) -> Result<Self, Failure> {
        let wrong = || format!("{TABLE} has no scene in '{line}'");
        let [name, guest, truth, _] = line.split('\t').collect::<Vec<_>>().try_into().map_err(|_| wrong())?;
        let guest = match guest {
            "plain" => PLAIN,
            "isolated" => ISOLATED,
            "smt" => SMT,
            _ => return Err(wrong()),
        };
        let truth = match truth {
            "none" => Truth::None,
            "wasted" => Truth::Wasted,
            "brief" => Truth::Brief,
            _ => return Err(wrong()),
        };
        Ok(Self { name: name.to_owned(), guest, truth })
    }

    fn all(table: &str) -> Result<Vec<Self>, Failure> {
        table.lines().filter(|line| !line.starts_with('#')).map(Self::read).collect()
    }
}

/// Runs all scenes on all kernels. Returns what did not hold.
pub(super) fn run(args: &Args) -> Result<Vec<String>, Failure> {
    let table = std::fs::read_to_string(root().join(TABLE)).map_err(|e| format!("{TABLE}: {e}"))?;
    let mut scenes = Scene::all(&table)?;
    if !args.scenes.is_empty() {
        scenes.retain(|scene| args.scenes.contains(&scene.name));
    }
    let keel = match &args.recorder {
        Some(keel) => keel.clone(),
        None => cargo::built("keel")?,
    };
    let (mut text, mut faults) = (String::new(), Vec::new());
    for kernel in &args.kernels {
        println!("Linux {kernel}: {} scenes, three recorders each", scenes.len());
        print(&mut text, &format!("Linux {kernel}\n{}", judged::head(TOOLS.map(|(tool, _)| tool))));
        for (guest, name) in [(PLAIN, "plain"), (ISOLATED, "isolated"), (SMT, "smt")] {
            let of_guest: Vec<&Scene> = scenes.iter().filter(|scene| scene.guest == guest).collect();
            for (scene, seen) in
                of_guest.iter().zip(seen((&keel, args.seconds), kernel, (name, guest), &of_guest)?)
            {
                let reported = judge(&keel, scene, &seen, &format!("{OUT}/{kernel}/scenes-{name}"))?;
                print(&mut text, &judged::line(&scene.name, scene.truth, &reported));
                let other = &reported[TOOLS.len() - 1];
                let wrong = reported.iter().zip(TOOLS).filter_map(|(reported, (tool, _))| {
                    let fault = match scene.truth {
                        Truth::Brief => reported.apart(other, tool == "keel")?,
                        truth => reported.fault(truth, tool == "keel")?,
                    };
                    Some(format!("{} on Linux {kernel}, recorded by {tool}: {fault}", scene.name))
                });
                faults.extend(trouble(&seen).into_iter().chain(wrong));
            }
        }
    }
    write(&folder("scenes.txt"), text.as_bytes())?;
    Ok(faults)
}

fn print(text: &mut String, line: &str) {
    print!("{line}");
    *text += line;
}

/// Records the scenes of one kind of guest.
fn seen(
    (keel, seconds): (&Path, u32),
    kernel: &str,
    (name, guest): (&str, &[&str]),
    scenes: &[&Scene],
) -> Result<Vec<Seen>, Failure> {
    if scenes.is_empty() {
        return Ok(Vec::new());
    }
    build()?;
    let script = Script {
        kernel,
        guest,
        script: "tests/live/scenes.sh",
        out: format!("{OUT}/{kernel}/scenes-{name}"),
        first: Some(seconds.to_string()),
        // A guest's second takes several seconds of the host.
        turn: Duration::from_secs(300),
    };
    script.run_with(keel, &scenes.iter().map(|scene| scene.name.clone()).collect::<Vec<_>>())
}

/// Compiles what the scenes need besides a shell, so that it runs in any guest.
fn build() -> Result<(), Failure> {
    let (source, program) = (format!("{TESTS}/scene.c"), folder("scene"));
    let folder = folder("");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let status = Command::new("cc")
        .args(["-O2", "-static", "-pthread", "-o"])
        .args([program.as_path(), Path::new(&source)])
        .current_dir(root())
        .status()
        .map_err(|e| format!("cannot run cc ({e}); install gcc"))?;
    if status.success() { Ok(()) } else { Err(format!("cc refuses {source}")) }
}

/// The result of `keel check` for each recording of a scene.
fn judge(keel: &Path, scene: &Scene, seen: &Seen, out: &str) -> Result<Vec<Judged>, Failure> {
    let check = |file: &str, options: &[&str]| {
        let output = Command::new(keel).args(["check", file]).args(options).current_dir(root()).output();
        output.map_err(|e| format!("cannot run keel: {e}"))
    };
    TOOLS
        .iter()
        .map(|(_, ending)| {
            let file = format!("{out}/{}.{ending}", scene.name);
            let whole = check(&file, &["--json"])?;
            let Some((begins, ends)) =
                judged::marks(&serde_json::from_slice(&whole.stdout).unwrap_or_default())
            else {
                return Ok(Judged::nothing(&String::from_utf8_lossy(&whole.stderr)));
            };
            let (from, until) = (format!("{begins}ns"), format!("{ends}ns"));
            let part =
                |option: &[&str]| check(&file, &[&["--from", &from, "--until", &until], option].concat());
            let (reported, first, strict) = (part(&["--json"])?, part(&[])?, part(&["--strict"])?);
            let json = serde_json::from_slice(&reported.stdout).unwrap_or_default();
            let words = String::from_utf8_lossy(&first.stdout);
            Ok(Judged::new(&json, &words, strict.status.code()).late(seen.fact("late")))
        })
        .collect()
}

/// What went wrong with the scene itself.
fn trouble(seen: &Seen) -> Option<String> {
    seen.trouble().map(|trouble| format!("{}: {trouble} (see {OUT})", seen.turn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let table = std::fs::read_to_string(root().join(TABLE)).unwrap();
        let scenes = Scene::all(&table).unwrap();
        assert!(scenes.iter().filter(|scene| scene.truth == Truth::None).count() >= 20);
        assert!(scenes.iter().any(|scene| scene.truth == Truth::Wasted));
        let script = std::fs::read_to_string(root().join("tests/live/scenes.sh")).unwrap();
        for scene in &scenes {
            assert!(script.contains(&format!("\n{}() {{", scene.name)), "scenes.sh has no {}", scene.name);
        }
        assert!(Scene::read("a\tplain\tnone").is_err() && Scene::read("a\tb\tnone\tx").is_err());
    }
}
