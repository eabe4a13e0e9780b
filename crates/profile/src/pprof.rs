//! A profile for pprof and other readers of its format (`profile.proto` of google/pprof), compressed as required.

use crate::lines::Key;
use crate::model::Profile;
use crate::shown::clean;
use crate::stacks::{Cost, Stack, stacks};
use flate2::Compression;
use flate2::write::GzEncoder;
use keel_abi::numbers::counted;
use prost::Message;
use std::collections::BTreeMap;
use std::io::Write;

#[derive(Clone, PartialEq, Message)]
struct Proto {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// The values of each sample: name and unit. The first one shown is the time.
const VALUES: [(&str, &str); 4] = [
    ("time", "nanoseconds"),
    ("instructions", "count"),
    ("calls", "nanoseconds"),
    ("cache_lines", "nanoseconds"),
];

/// Returns the profile in pprof's format. The sum of the times is the run's time in callbacks.
pub fn pprof(profile: &Profile) -> Vec<u8> {
    let mut made = Made::default();
    made.string("");
    let proto = Proto {
        sample_type: VALUES
            .iter()
            .map(|(name, unit)| ValueType { r#type: made.string(name), unit: made.string(unit) })
            .collect(),
        duration_nanos: profile.about.duration_ns as i64,
        default_sample_type: made.string("time"),
        comment: vec![made.string(&comment(profile))],
        sample: stacks(profile).iter().map(|(stack, cost)| made.sample(stack, cost)).collect(),
        ..Proto::default()
    };
    let Made { strings, functions, locations, .. } = made;
    let proto = Proto { string_table: strings, function: functions, location: locations, ..proto };
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&proto.encode_to_vec()).expect("memory takes all bytes");
    gzip.finish().expect("memory takes all bytes")
}

fn comment(profile: &Profile) -> String {
    let about = &profile.about;
    clean(&format!(
        "keel: {} under {}, machine {} ({}), seed {}; virtual time",
        about.scheduler,
        about.workload,
        about.machine,
        counted(about.cpus.into(), "CPU"),
        about.seed
    ))
}

/// The items that samples refer to, each once.
#[derive(Default)]
struct Made {
    strings: Vec<String>,
    known_strings: BTreeMap<String, i64>,
    functions: Vec<Function>,
    known_functions: BTreeMap<(String, String), u64>,
    locations: Vec<Location>,
    known_locations: BTreeMap<Key, u64>,
}

impl Made {
    fn string(&mut self, text: &str) -> i64 {
        let text = clean(text);
        let next = self.strings.len() as i64;
        *self.known_strings.entry(text).or_insert_with_key(|text| {
            self.strings.push(text.clone());
            next
        })
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let key = (name.to_owned(), file.to_owned());
        if let Some(id) = self.known_functions.get(&key) {
            return *id;
        }
        let id = self.functions.len() as u64 + 1;
        let (name, filename) = (self.string(name), self.string(file));
        self.functions.push(Function { id, name, filename });
        self.known_functions.insert(key, id);
        id
    }

    fn location(&mut self, key: &Key) -> u64 {
        if let Some(id) = self.known_locations.get(key) {
            return *id;
        }
        let function_id = self.function(&key.function, &key.file);
        let id = self.locations.len() as u64 + 1;
        self.locations.push(Location { id, line: vec![Line { function_id, line: i64::from(key.line) }] });
        self.known_locations.insert(key.clone(), id);
        id
    }

    /// Locations begin with the innermost.
    fn sample(&mut self, stack: &Stack, cost: &Cost) -> Sample {
        let origin = Key { function: stack.origin.clone(), ..Key::default() };
        let location_id = stack.lines.iter().rev().chain([&origin]).map(|key| self.location(key)).collect();
        let ns = |ps: u64| (ps / 1000) as i64;
        let value = vec![cost.ns as i64, cost.instructions as i64, ns(cost.calls_ps), ns(cost.lines_ps)];
        Sample { location_id, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::made_up;
    use flate2::read::GzDecoder;
    use std::io::Read;

    #[test]
    fn what_pprof_reads_is_the_profile() {
        let profile = made_up();
        let mut bytes = Vec::new();
        GzDecoder::new(&pprof(&profile)[..]).read_to_end(&mut bytes).unwrap();
        let proto = Proto::decode(&bytes[..]).unwrap();
        let name = |at: i64| proto.string_table[at as usize].as_str();
        let sums: Vec<i64> = (0..4).map(|at| proto.sample.iter().map(|s| s.value[at]).sum()).collect();
        assert_eq!(sums[..2], [profile.totals.callback_ns as i64, profile.totals.instructions as i64]);
        assert_eq!(proto.string_table[0], "");
        let frame = |id: &u64| {
            let line = &proto.location[*id as usize - 1].line[0];
            let function = &proto.function[line.function_id as usize - 1];
            format!("{}:{}", name(function.name), line.line)
        };
        let deepest = proto.sample.iter().max_by_key(|s| s.location_id.len()).unwrap();
        let frames: Vec<String> = deepest.location_id.iter().map(frame).collect();
        assert_eq!(frames, ["pick:21", "enqueue:11", "ops.enqueue:0"]);
    }
}
