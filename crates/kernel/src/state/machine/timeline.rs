//! Reads a machine's own hotplug timeline: `[[timeline]]` tables.

use crate::state::machine::cpu_list::CpuList;
use crate::state::machine::text::Text;
use crate::state::machine::{MachineError, Problem};
use keel_abi::timeline::{Change, Happening, MAX_HAPPENINGS};
use keel_abi::{CpuId, CpuSet, Span, Topology};
use serde::Deserialize;
use toml::Spanned;

/// The maximum time in microseconds, as in workload files.
const MOST_US: u64 = i32::MAX as u64;

/// A timeline entry. Times are in microseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [[timeline]] table: at = 100000, offline = \"2-3\"")]
pub(crate) struct Entry {
    at: Spanned<u64>,
    every: Option<Spanned<u64>>,
    times: Option<Spanned<u32>>,
    offline: Option<Spanned<CpuList>>,
    online: Option<Spanned<CpuList>>,
}

/// Reads the machine's timeline.
pub(super) fn read(
    text: Text<'_>,
    entries: &[Spanned<Entry>],
    topology: &Topology,
) -> Result<Vec<Happening>, MachineError> {
    if let Some(entry) = entries.get(MAX_HAPPENINGS) {
        let problem = Problem::BadTimeline(format!("a timeline has at most {MAX_HAPPENINGS} entries"));
        return Err(text.error(entry.span(), "timeline", problem));
    }
    entries.iter().map(|entry| happening(text, entry, topology)).collect()
}

fn happening(text: Text<'_>, entry: &Spanned<Entry>, topology: &Topology) -> Result<Happening, MachineError> {
    let wrong = |why: &str| text.error(entry.span(), "timeline", Problem::BadTimeline(why.to_owned()));
    let e = entry.get_ref();
    let (cpus, online) = match (&e.offline, &e.online) {
        (Some(cpus), None) => (cpus, false),
        (None, Some(cpus)) => (cpus, true),
        _ => return Err(wrong("an entry has either \"offline\" or \"online\", with CPUs")),
    };
    if e.times.is_some() && e.every.is_none() {
        return Err(wrong("has \"times\" without \"every\"; give both"));
    }
    if e.times.as_ref().is_some_and(|times| *times.get_ref() == 0) {
        return Err(wrong("\"times\" must be at least 1"));
    }
    let cpus = cpu_list(text, cpus, topology)?;
    Ok(Happening {
        at: time(text, &e.at, 0)?,
        every: e.every.as_ref().map(|every| time(text, every, 1)).transpose()?,
        times: e.times.as_ref().map(|times| *times.get_ref()),
        follows: false,
        change: if online { Change::Online(cpus) } else { Change::Offline(cpus) },
    })
}

fn time(text: Text<'_>, time: &Spanned<u64>, least: u64) -> Result<Span, MachineError> {
    match *time.get_ref() {
        us if (least..=MOST_US).contains(&us) => Ok(Span::from_us(us)),
        value => {
            let problem = Problem::OutOfRange { value, least, most: MOST_US };
            Err(text.error(time.span(), "timeline", problem))
        }
    }
}

fn cpu_list(text: Text<'_>, list: &Spanned<CpuList>, topology: &Topology) -> Result<CpuSet, MachineError> {
    let wrong = |why: String| text.error(list.span(), "timeline", Problem::BadCpus(why));
    let cpus = list.get_ref().read().map_err(|e| wrong(e.to_string()))?;
    if cpus.is_empty() {
        return Err(text.error(list.span(), "timeline", Problem::NoCpus));
    }
    if let Some(cpu) = cpus.iter().find(|c| c.0 >= topology.cpus()) {
        return Err(wrong(format!("there is no CPU {} on this machine of {}", cpu.0, topology.cpus())));
    }
    match cpus.contains(CpuId(0)) {
        true => Err(wrong("CPU 0 stays online, as on x86; leave it out".to_owned())),
        false => Ok(cpus),
    }
}
