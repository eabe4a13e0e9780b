//! Makes pages without a simulator. `pages FOLDER` writes those that `viewer/tests` opens, `pages FOLDER large` one of
//! ten million events, `pages FOLDER trace MS` a trace of that run's first milliseconds, and `pages FOLDER TRACE...` a
//! page of Evenkeel's own traces.

mod sample;

use keel_abi::Topology;
use keel_check::Judge;
use keel_page::{Budget, Facts, Page, RunData, html};
use keel_profile::{Profile, View};
use keel_report::{RunFacts, RunReport};
use keel_trace::{Fanout, Reader, Sink, Writer};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rest @ ..] = &args[..] else {
        return Err("pages FOLDER [large | trace MS | TRACE...]".into());
    };
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    match rest {
        [] => samples(folder),
        [word] if word == "large" => large(folder),
        [word, ms] if word == "trace" => trace(folder, ms.parse()?),
        traces => recorded(folder, traces),
    }
}

fn samples(folder: &Path) -> Result<(), Box<dyn Error>> {
    let run = |loses, name: &str, runs, profile| {
        let play = |sink: &mut dyn Sink| {
            sample::play(Topology::regular(4, 1, 4, 2), 4_000_000_000, 4_000_000, loses, sink);
        };
        data(play, name, runs, profile)
    };
    let write = |name: &str, runs: &[RunData]| -> Result<(), Box<dyn Error>> {
        Ok(html(runs, &mut File::create(folder.join(name))?)?)
    };
    write("one.html", &[run(true, "lost", 1, None)?])?;
    write("two.html", &[run(true, sample::HOSTILE[1], 2, None)?, run(false, "even", 2, None)?])?;
    let profiled = [run(true, "profiled", 2, Some(&sample::profile()))?, run(false, "not", 2, None)?];
    write("profile.html", &profiled)
}

/// A run of 64 CPUs that makes a million events a second.
fn busy(ms: u64, sink: &mut dyn Sink) {
    sample::play(Topology::regular(8, 1, 8, 1), ms * 1_000_000, 25_000, true, sink);
}

fn large(folder: &Path) -> Result<(), Box<dyn Error>> {
    let run = data(|sink| busy(10_000, sink), "ten million events", 1, None)?;
    eprintln!("{} bytes of data", run.size());
    Ok(html(&[run], &mut File::create(folder.join("large.html"))?)?)
}

fn trace(folder: &Path, ms: u64) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::new(BufWriter::new(File::create(folder.join(format!("{ms}.trc")))?));
    busy(ms, &mut writer);
    Ok(writer.finish().map(drop)?)
}

fn recorded(folder: &Path, traces: &[String]) -> Result<(), Box<dyn Error>> {
    let mut runs = Vec::new();
    for trace in traces {
        let file = File::open(trace)?;
        let mut reported = Ok(None);
        runs.push(data(
            |sink| reported = Reader::new(file).and_then(|mut r| r.pump_what_is_left(sink)),
            trace,
            traces.len(),
            None,
        )?);
        reported?;
    }
    Ok(html(&runs, &mut File::create(folder.join("traces.html"))?)?)
}

/// A run that `play` plays, judged.
fn data(
    play: impl FnOnce(&mut dyn Sink),
    name: &str,
    runs: usize,
    profile: Option<&Profile>,
) -> Result<RunData, Box<dyn Error>> {
    let (mut judge, mut page) = (Judge::default(), Page::new(Budget::for_runs(runs)));
    play(&mut Fanout::new().with(&mut judge).with(&mut page));
    let facts = RunFacts { scheduler: name.to_owned(), ..RunFacts::default() };
    let report = RunReport::new(&facts, &judge.judgement());
    let notes = [sample::HOSTILE[0].to_owned()];
    let view = profile.map(|profile| View::of(profile, &|_| Some(sample::SOURCE.to_owned())));
    let facts = Facts { report: &report, notes: &notes, name: name.to_owned(), profile: view.as_ref() };
    page.finish(&facts).ok_or_else(|| "there is no stream".into())
}
