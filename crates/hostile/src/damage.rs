//! Damages recordings in every way, for the replay: changes bytes, cuts off ends, and loses, duplicates, reorders or
//! redirects events. The same number gives the same case.

use crate::replay::{self, Came};
use crate::scene::{self, Scene};
use keel_abi::task::Workload;
use keel_abi::{Instant, Span};
use keel_lab::{RunSpec, workloads};
use keel_trace::{Class, Event, Item, Meta, Reader, Sink, What, Writer};

/// Complete recordings, from which the cases are made.
#[derive(Debug)]
pub struct Originals {
    /// The recordings as files, of any kind.
    files: Vec<Vec<u8>>,
    /// The recordings as streams. Every other one contains the tasks' own acts; in the others, these must be inferred.
    streams: Vec<Vec<Item>>,
}

/// Loads in which tasks wake each other, begin, end, sleep and are preempted.
const LOADS: [&str; 4] = ["chat:1:3:40", "lat-fork", "mix:6:90:40", "lu:4:1+hotplug:1:1:2"];
const LONG: Span = Span::from_us(2500);
/// Another load, in which tasks request every kind of change.
const ASKS: (&str, &str) = ("asks", include_str!("asks.json"));

impl Originals {
    /// Uses the project's own traces and these files. Traces among the files are also damaged as streams.
    pub fn new(files: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let files: Vec<Vec<u8>> = traces().map(|(_, trace)| trace).chain(files).collect();
        let streams = files.iter().filter_map(|file| items(file)).collect();
        Self { files, streams }
    }

    /// Makes the case with this number and replays it. Panics if keel is at fault.
    pub fn replay(&self, number: u64) -> Came {
        let mut dice = Dice(number);
        match dice.below(2) {
            0 => {
                let file = dice.below(self.files.len());
                replay::of_file(&damaged_file(&mut dice, &self.files[file]))
            }
            _ => {
                let stream = dice.below(self.streams.len());
                let mut builder = replay::builder();
                damaged_stream(&mut dice, &self.streams[stream], &mut builder);
                replay::finished(builder)
            }
        }
    }
}

/// Returns traces by name: for each load, one with the tasks' own acts and one without.
pub(crate) fn traces() -> impl Iterator<Item = (String, Vec<u8>)> {
    let classes = [("acts", Class::ALL), ("plain", Class::CORE.with(Class::COUNTS))];
    let of = move |load: &'static str| {
        classes.map(|(kind, classes)| {
            (format!("{}-{kind}", load.replace([':', '+'], "-")), trace(load, classes))
        })
    };
    LOADS.into_iter().chain([ASKS.0]).flat_map(of)
}

/// Returns the trace of a short run.
fn trace(load: &str, classes: Class) -> Vec<u8> {
    scene::with(|scene| {
        let spec = RunSpec {
            duration: LONG,
            workload: workload(load, scene),
            ..scene.spec(scene::built_in("fifo"))
        };
        let mut writer = Writer::of_classes(Vec::new(), classes);
        scene.fifo.run(&spec, None, &mut writer).expect("fifo runs");
        writer.finish().expect("memory takes it")
    })
}

fn workload(load: &str, scene: &Scene) -> Workload {
    if load == ASKS.0 {
        return workloads::read(load, ASKS.1, &scene.machine).expect("it is right").0;
    }
    let parts = workloads::parts(load, |_| false).expect("the name is right");
    let made = parts.into_iter().map(|part| workloads::made(part, &scene.machine).expect("it is built in"));
    let made = made.collect::<Result<Vec<_>, _>>().expect("its numbers are right");
    workloads::join(load, made).expect("they go together")
}

/// Returns the contents of a complete trace. Empty for any other file.
fn items(trace: &[u8]) -> Option<Vec<Item>> {
    let mut reader = Reader::new(trace).ok()?;
    let mut items = Vec::new();
    while let Some(item) = reader.next_item().ok()? {
        items.push(item);
    }
    Some(items)
}

/// Changes a few bytes, and sometimes removes the end.
fn damaged_file(dice: &mut Dice, file: &[u8]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=dice.below(6) {
        let at = dice.below(bytes.len());
        match dice.below(4) {
            0 => bytes[at] ^= 1 << dice.below(8),
            1 => bytes[at] = dice.below(256) as u8,
            2 => drop(bytes.remove(at)),
            _ => bytes.insert(at, dice.below(256) as u8),
        }
    }
    if dice.below(4) == 0 {
        bytes.truncate(1 + dice.below(bytes.len()));
    }
    bytes
}

/// Removes some events, duplicates others, and moves others in time.
fn damaged_stream(dice: &mut Dice, stream: &[Item], sink: &mut dyn Sink) {
    // The rarity ranges from almost no event to most of them.
    let rarity = 2 << dice.below(10);
    let end = if dice.below(4) == 0 { dice.below(stream.len()) + 1 } else { stream.len() };
    for item in &stream[..end] {
        let times = match dice.below(rarity) {
            0 => dice.below(3),
            _ => 1,
        };
        for _ in 0..times {
            match item {
                Item::Event(event) => {
                    let other = match (dice.below(rarity), &stream[dice.below(stream.len())]) {
                        (0, Item::Event(other)) => other,
                        _ => event,
                    };
                    sink.events(&[Event { at: event.at, ..*other }]);
                }
                Item::Meta(at, meta) => {
                    let other = &stream[dice.below(stream.len())];
                    sink.meta(*at, &asked_by_another(dice.below(rarity) == 0, meta, other));
                }
            }
        }
    }
    let last = match stream[end - 1] {
        Item::Event(event) => event.at,
        Item::Meta(at, _) => at,
    };
    sink.meta(last.max(Instant::ZERO), &Meta::End);
}

/// Returns a request, if the other task should make it, with that task and its side.
fn asked_by_another(to: bool, meta: &Meta, other: &Item) -> Meta {
    match (to, meta, other) {
        (true, Meta::Asks { request, .. }, Item::Meta(_, Meta::Asks { task, outside, .. })) => {
            Meta::Asks { task: *task, outside: *outside, request: request.clone() }
        }
        (true, Meta::Asks { request, outside, .. }, Item::Event(event)) => match event.what {
            What::Acts { task, .. } => Meta::Asks { task, outside: !outside, request: request.clone() },
            _ => meta.clone(),
        },
        _ => meta.clone(),
    }
}

/// A random number generator (Steele, Lea and Flood, 'Fast splittable pseudorandom number generators', 2014).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The originals contain each kind of request except `Online`: a CPU that goes offline ends the run of `fifo`.
    #[test]
    fn tasks_ask_for_changes_of_every_kind() {
        let mut kinds: Vec<String> = Vec::new();
        for item in Originals::new([]).streams.iter().flatten() {
            if let Item::Meta(_, Meta::Asks { request, .. }) = item {
                let shown = format!("{request:?}");
                let kind = shown.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
        }
        kinds.sort();
        let expected = "AutogroupNice Cgroup Cpus Exec Hint MigrateDisable MigrateEnable Nice Offline Policy Setsid Slice";
        assert_eq!(kinds.join(" "), expected);
    }

    #[test]
    fn damaged_recordings_are_replayed_or_refused() {
        let originals = Originals::new([]);
        let came: Vec<Came> = (0..300).map(|number| originals.replay(number)).collect();
        let count = |which| came.iter().filter(|came| **came == which).count();
        // Cases that are only rejected show nothing about the replay.
        assert!(count(Came::Replayed) > 100, "{came:?}");
        assert!(count(Came::Unread) > 0, "{came:?}");
    }
}
