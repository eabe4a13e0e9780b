//! Tests every format: written records are read back, and damaged files are read as far as possible.

mod blame;
mod damage;
mod folder;
mod large;
mod recordings;
mod waste;
mod whole;

use crate::make::{
    DatShape, PacketPacking, Packing, PerfShape, PerfettoShape, Shape, TextShape, any_records, perf,
    perfetto, text, tracedat,
};
use crate::sched_record::{SchedEvent, SchedRecord};
use crate::source::Damage;
use crate::{Files, Kind, ReadError};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Cursor;

/// Everything from a file's reader.
fn all(bytes: &[u8]) -> Result<(Vec<SchedRecord>, Damage), ReadError> {
    let kind = Kind::of(bytes).ok_or(ReadError::Foreign)?;
    let mut files = Files::one(Cursor::new(bytes));
    let mut source = crate::open(kind, &mut files)?;
    let mut all = Vec::new();
    while let Some(seen) = source.next()? {
        all.push(seen);
    }
    Ok((all, source.damage().clone()))
}

fn same(bytes: &[u8], kind: Kind, expected: &[SchedRecord]) {
    assert_eq!(Kind::of(bytes), Some(kind));
    let (read, damage) = all(bytes).unwrap_or_else(|error| panic!("{error}"));
    let read: Vec<SchedRecord> =
        read.into_iter().filter(|seen| seen.what != SchedEvent::BeginsHere).collect();
    assert_eq!(read, expected);
    assert_eq!(damage, Damage { lines: kind == Kind::Text, ..Damage::default() });
}

fn any_perf() -> impl Strategy<Value = PerfShape> {
    (Shape::any(), any::<bool>(), any::<bool>(), 1usize..30)
        .prop_map(|(events, pipe, compressed, round)| PerfShape { events, pipe, compressed, round })
}

fn any_dat() -> impl Strategy<Value = DatShape> {
    let packing =
        prop::sample::select(vec![None, Some(Packing::None), Some(Packing::Zlib), Some(Packing::Zstd)]);
    (Shape::any(), packing, prop::sample::select(vec![512, 4096]))
        .prop_map(|(events, packing, page)| DatShape { events, packing, page })
}

fn any_perfetto() -> impl Strategy<Value = PerfettoShape> {
    let packing = prop::sample::select(vec![None, Some(PacketPacking::Zlib), Some(PacketPacking::Zstd)]);
    (any::<bool>(), packing, 1usize..60).prop_map(|(compact, packing, round)| PerfettoShape {
        compact,
        packing,
        round,
    })
}

/// Returns the records, without what is lost if switches lack the previous task.
fn compact(records: &[SchedRecord]) -> Vec<SchedRecord> {
    let mut running = BTreeMap::new();
    let mut known = |record: &SchedRecord| match record.what {
        SchedEvent::Switch { why, next, .. } => match running.insert(record.cpu, next) {
            Some(prev) => SchedRecord {
                current: Some(prev.pid),
                interrupt: false,
                what: SchedEvent::Switch { prev, why, next },
                ..*record
            },
            None => {
                let current = Some(next.pid);
                SchedRecord { current, interrupt: false, what: SchedEvent::Other, ..*record }
            }
        },
        SchedEvent::Waking { .. } => {
            SchedRecord { current: running.get(&record.cpu).map(|who| who.pid), ..*record }
        }
        _ => *record,
    };
    records.iter().map(&mut known).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn perf_data_is_read_as_it_was_written(records in any_records(4, 120), shape in any_perf()) {
        same(&perf(&records, shape), Kind::Perf, &records);
    }

    #[test]
    fn trace_dat_is_read_as_it_was_written(
        mut records in any_records(4, 120),
        losses in prop::collection::vec(prop_oneof![9 => Just(0u64), 1 => 1u64..1000], 120),
        shape in any_dat(),
    ) {
        records.iter_mut().zip(losses).for_each(|(seen, lost)| seen.lost = lost);
        same(&tracedat(&records, shape), Kind::TraceDat, &records);
    }

    #[test]
    fn perfetto_traces_are_read_as_they_were_written(records in any_records(4, 120), shape in any_perfetto()) {
        let expected = if shape.compact { compact(&records) } else { records.clone() };
        same(&perfetto(&records, shape), Kind::Perfetto, &expected);
    }

    #[test]
    fn text_is_read_as_it_was_written(
        mut records in any_records(4, 60),
        shape in prop::sample::select(vec![TextShape::Ftrace, TextShape::TraceCmd, TextShape::PerfScript]),
    ) {
        prop_assume!(!records.is_empty());
        if shape == TextShape::PerfScript {
            records.iter_mut().for_each(|seen| seen.interrupt = false);
        }
        same(&text(&records, shape), Kind::Text, &records);
    }
}
