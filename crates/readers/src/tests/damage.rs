//! Tests truncated, corrupted and spliced files: reading them ends with a judgement or an error, in bounded memory.

use super::{any_dat, any_perf, any_perfetto};
use crate::make::{TextShape, any_records, perf, perfetto, text, tracedat};
use crate::{Files, ReadError, Recording, Way, read_in};
use keel_check::{Judge, Judgement};
use proptest::prelude::*;
use std::io::Cursor;

/// A change to a file.
#[derive(Clone, Debug)]
enum Damage {
    Cut(prop::sample::Index),
    Flip(Vec<(prop::sample::Index, u8)>),
    /// A run of bytes is copied over another.
    Copy(prop::sample::Index, prop::sample::Index, usize),
    Drop(prop::sample::Index, usize),
}

/// Returns the number of files of each kind. `KEEL_CASES` sets another number.
fn cases() -> u32 {
    std::env::var("KEEL_CASES").map_or(300, |cases| cases.parse().expect("KEEL_CASES is a number"))
}

fn any_damage() -> impl Strategy<Value = Damage> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        place().prop_map(Damage::Cut),
        prop::collection::vec((place(), any::<u8>()), 1..12).prop_map(Damage::Flip),
        (place(), place(), 1usize..64).prop_map(|(from, to, length)| Damage::Copy(from, to, length)),
        (place(), 1usize..64).prop_map(|(at, length)| Damage::Drop(at, length)),
    ]
}

fn damaged(mut bytes: Vec<u8>, damage: &Damage) -> Vec<u8> {
    let length = bytes.len();
    if length == 0 {
        return bytes;
    }
    match damage {
        Damage::Cut(at) => bytes.truncate(at.index(length)),
        Damage::Flip(flips) => flips.iter().for_each(|(at, with)| bytes[at.index(length)] ^= with),
        Damage::Copy(from, to, run) => {
            let (from, to) = (from.index(length), to.index(length));
            let run = (*run).min(length - from).min(length - to);
            bytes.copy_within(from..from + run, to);
        }
        Damage::Drop(at, run) => {
            let at = at.index(length);
            bytes.drain(at..(at + run).min(length));
        }
    }
    bytes
}

/// Reads it. Any message is one printable sentence, and the same for any number of threads.
fn ends(bytes: &[u8]) {
    let read = judged(Way::One, bytes);
    assert_eq!(judged(Way::Threads, bytes), read);
    match read {
        Ok((recording, judgement)) => {
            assert!(judgement.waste.share <= 1.0);
            recording.notes.iter().for_each(|note| one_sentence(note));
        }
        Err(error) => one_sentence(&error),
    }
}

/// Returns the recording and its judgement, or why there is none.
fn judged(way: Way, bytes: &[u8]) -> Result<(Recording, Judgement), String> {
    let mut judge = Judge::default();
    match read_in(way, Files::one(Cursor::new(bytes)), &mut judge) {
        Ok(recording) => Ok((recording, judge.judgement())),
        Err(ReadError::Io(error)) => panic!("memory can be read: {error}"),
        Err(error) => Err(error.to_string()),
    }
}

fn one_sentence(text: &str) {
    assert!(!text.is_empty() && !text.contains(|c: char| c.is_control()), "{text:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn damaged_perf_data_ends(
        records in any_records(4, 40),
        shape in any_perf(),
        damage in prop::collection::vec(any_damage(), 1..3),
    ) {
        ends(&damage.iter().fold(perf(&records, shape), damaged));
    }

    #[test]
    fn damaged_trace_dat_ends(
        records in any_records(4, 40),
        shape in any_dat(),
        damage in prop::collection::vec(any_damage(), 1..3),
    ) {
        ends(&damage.iter().fold(tracedat(&records, shape), damaged));
    }

    #[test]
    fn damaged_perfetto_traces_end(
        records in any_records(4, 40),
        shape in any_perfetto(),
        damage in prop::collection::vec(any_damage(), 1..3),
    ) {
        ends(&damage.iter().fold(perfetto(&records, shape), damaged));
    }

    #[test]
    fn damaged_recordings_of_a_real_kernel_end(
        bytes in prop::sample::select(vec![
            include_bytes!("../../recordings/perf.data").as_slice(),
            include_bytes!("../../recordings/pipe.data"),
            include_bytes!("../../recordings/trace.dat"),
            include_bytes!("../../recordings/ftrace.txt"),
            include_bytes!("../../recordings/script.txt"),
        ]),
        damage in prop::collection::vec(any_damage(), 1..3),
    ) {
        ends(&damage.iter().fold(bytes.to_vec(), damaged));
    }

    #[test]
    fn damaged_text_ends(
        records in any_records(4, 40),
        shape in prop::sample::select(vec![TextShape::Ftrace, TextShape::TraceCmd, TextShape::PerfScript]),
        damage in prop::collection::vec(any_damage(), 1..3),
    ) {
        ends(&damage.iter().fold(text(&records, shape), damaged));
    }
}
