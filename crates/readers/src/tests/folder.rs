//! Tests folders of `perf record --threads`: their files yield the same records as a single file.

use crate::formats::Order;
use crate::make::perf::folder;
use crate::make::{PerfShape, Shape, any_records};
use crate::sched_record::{SchedEvent, SchedRecord};
use crate::{Files, Kind, ReadError, read_folder};
use keel_check::Judge;
use proptest::prelude::*;
use std::io::Cursor;

/// Returns all records of a folder's files.
fn all(head: &[u8], parts: &[Vec<u8>]) -> Result<Vec<SchedRecord>, ReadError> {
    let parts = parts.iter().map(|part| Cursor::new(&part[..])).collect();
    let mut files = Files { file: Cursor::new(head), parts };
    let mut source = crate::open(Kind::Perf, &mut files)?;
    let mut all = Vec::new();
    while let Some(seen) = source.next()? {
        all.push(seen);
    }
    Ok(all)
}

fn any_shape() -> impl Strategy<Value = PerfShape> {
    Shape::any().prop_map(|events| PerfShape { events, pipe: false, compressed: false, round: 1 })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_files_of_a_folder_are_merged_by_time(records in any_records(4, 120), shape in any_shape()) {
        let (head, parts) = folder(&records, shape, 1);
        if parts.is_empty() {
            return Ok(());
        }
        let read = all(&head, &parts).unwrap();
        let times = |records: &[SchedRecord]| records.iter().map(|seen| seen.at).collect::<Vec<_>>();
        prop_assert_eq!(times(&read), times(&records));
        // Each CPU's records are in order; records of two CPUs at the same moment may come in either order.
        for cpu in 0..4 {
            let of = |all: &[SchedRecord]| all.iter().filter(|seen| seen.cpu == cpu).copied().collect::<Vec<_>>();
            prop_assert_eq!(of(&read), of(&records));
        }
    }

    #[test]
    fn a_damaged_folder_never_breaks_a_reader(
        records in any_records(4, 60),
        shape in any_shape(),
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let (head, parts) = folder(&records, shape, 1);
        let mut files = [vec![head], parts].concat();
        let file = which.get_mut(&mut files);
        if !file.is_empty() {
            let at = at.index(file.len());
            file[at] = byte;
            file.truncate(if cut { at } else { file.len() });
        }
        let parts = files.split_off(1);
        let mut judge = Judge::default();
        let parts: Vec<_> = parts.into_iter().map(Cursor::new).collect();
        let read = read_folder(Cursor::new(files.remove(0)), parts, &mut judge);
        prop_assert!(!matches!(read, Err(ReadError::Io(_))), "{:?}", read);
    }
}

#[test]
fn a_head_says_which_files_belong_to_it() {
    let shape = PerfShape {
        events: Shape { order: Order::Little, long: 8, far_names: false },
        pipe: false,
        compressed: false,
        round: 1,
    };
    let check = |version: u64, parts: &[Vec<u8>], expected: Result<usize, &str>| {
        let (head, _) = folder(&[], shape, version);
        let read = all(&head, parts).map(|records| records.len()).map_err(|e| e.to_string());
        match (read, expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected),
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
            (read, expected) => panic!("{read:?}, not {expected:?}"),
        }
    };
    check(1, &[Vec::new()], Ok(0));
    check(1, &[], Err("name the folder instead"));
    // All records are in the head. The files beside it do not belong to it.
    check(0, &[b"not records".to_vec()], Ok(0));
    check(2, &[Vec::new()], Err("folder of version 2"));
}

/// `perf record -a --threads=numa -z` on an emulated Linux 7.2.13 with two nodes of one CPU each. perf prints 1120
/// records of it. Whatever the threads (`cpu`, `core`, `package`, `numa`), each CPU has a file.
#[test]
fn a_compressed_folder_of_a_real_kernel_is_read_whole() {
    let head = include_bytes!("../../recordings/threads/data");
    let parts: [&[u8]; 2] = [
        include_bytes!("../../recordings/threads/data.0"),
        include_bytes!("../../recordings/threads/data.1"),
    ];
    let read = all(head, &parts.map(<[u8]>::to_vec)).expect("it can be read");
    // perf keeps tasks' names separate from its records.
    let is_name = |seen: &&SchedRecord| matches!(seen.what, SchedEvent::Named { .. });
    assert_eq!(read.len() - read.iter().filter(is_name).count(), 1120);
    assert!(read.is_sorted_by_key(|seen| seen.at));
    let of = |cpu| read.iter().filter(|seen| seen.cpu == cpu).count();
    assert!(of(0) > 100 && of(1) > 100);
    let mut judge = Judge::default();
    read_folder(Cursor::new(&head[..]), parts.map(Cursor::new).to_vec(), &mut judge)
        .expect("it can be judged");
    let summary = judge.judgement().summary;
    // Three more than perf's: two missing ones, and the one to a task that was already running.
    assert_eq!((summary.switches, summary.duration.as_ns() / 1_000_000), (687, 2315));
}
