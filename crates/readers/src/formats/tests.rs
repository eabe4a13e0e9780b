use super::describe::Description;
use super::field::{Field, Place};
use super::{Decoder, Order};
use crate::sched_record::{Name, SchedEvent, Who};
use keel_trace::Why;

/// `sched_switch` as kernels describe it: before 4.14 with other states, on 32 bits with a shorter field.
fn switch(long: usize, states: &str) -> Description {
    let after = 24 + 4 + 4 + long;
    let text = format!(
        "name: sched_switch
ID: 310
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:{long};	signed:1;
	field:char next_comm[16];	offset:{after};	size:16;	signed:0;
	field:pid_t next_pid;	offset:{};	size:4;	signed:1;
	field:int next_prio;	offset:{};	size:4;	signed:1;

print fmt: \"prev_comm=%s ...\", REC->prev_comm, {}, REC->next_prio",
        after + 16,
        after + 20,
        states.replace('\n', " "),
    );
    Description::read(&text).expect("it has a name and a number")
}

const TODAY: &str = r#"(REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, "|", { 0x00000001, "S" }, { 0x00000002, "D" },
 { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R""#;
const OLD: &str = r#"REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" },
 { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }, { 512, "P" }, { 1024, "N" }) : "R""#;

fn record(order: Order, long: usize, flags: u8, state: u64) -> Vec<u8> {
    let n16 = |n: u16| if order == Order::Little { n.to_le_bytes() } else { n.to_be_bytes() };
    let n32 = |n: u32| if order == Order::Little { n.to_le_bytes() } else { n.to_be_bytes() };
    let mut bytes = n16(310).to_vec();
    bytes.extend([flags, 0]);
    bytes.extend(n32(7));
    bytes.extend(b"make\0old rubbish");
    bytes.extend(n32(7));
    bytes.extend(n32(120));
    let wide = if order == Order::Little { state.to_le_bytes() } else { state.to_be_bytes() };
    match (long, order) {
        (8, _) => bytes.extend(wide),
        (_, Order::Little) => bytes.extend(&wide[..4]),
        (_, Order::Big) => bytes.extend(&wide[4..]),
    }
    bytes.extend(b"sixteen letters!");
    bytes.extend(n32(8));
    bytes.extend(n32(100));
    bytes
}

#[test]
fn switches_are_read_as_their_kernel_describes_them() {
    let check = |order, long, states, state, why| {
        let mut decoder = Decoder::new(order);
        decoder.learn(&switch(long, states));
        let decoded = decoder.decode(&record(order, long, 0x11, state)).expect("it is described");
        let prev = Who { pid: 7, name: Name::new(b"make"), prio: Some(120) };
        let next = Who { pid: 8, name: Name::new(b"sixteen letters!"), prio: Some(100) };
        assert_eq!(decoded.what, Some(SchedEvent::Switch { prev, why, next }), "{order:?} {long} {state:#x}");
        assert_eq!((decoded.current, decoded.interrupt), (Some(7), true));
    };
    for order in [Order::Little, Order::Big] {
        for long in [4, 8] {
            for (state, why) in [
                (0, Why::Preempted),
                (1, Why::Blocked),
                (2, Why::Blocked),
                (0x10, Why::Exited),
                (0x20, Why::Exited),
                (0x40, Why::Blocked),
                (0x80, Why::Blocked),
                (0x100, Why::Preempted),
                (0x101, Why::Preempted),
            ] {
                check(order, long, TODAY, state, why);
                check(order, long, "nothing", state, why);
            }
            for (state, why) in [
                (0, Why::Preempted),
                (64, Why::Exited),
                (16, Why::Exited),
                (256, Why::Blocked),
                (1024, Why::Blocked),
                (2048, Why::Preempted),
            ] {
                check(order, long, OLD, state, why);
            }
        }
    }
}

#[test]
fn too_few_bytes_give_nothing() {
    let mut decoder = Decoder::new(Order::Little);
    assert_eq!(decoder.decode(&[]), None);
    decoder.learn(&switch(8, TODAY));
    let whole = record(Order::Little, 8, 0, 0);
    // Without its priority, it is still a task.
    for length in 0..whole.len() - 4 {
        assert_eq!(decoder.decode(&whole[..length]).and_then(|decoded| decoded.what), None, "{length}");
    }
    assert_eq!(decoder.decode(&[9, 9, 0, 0]), None, "nobody described this one");
}

#[test]
fn texts_elsewhere_in_a_record_are_found() {
    let check = |place, record: &[u8], expected: Option<&[u8]>| {
        let field = Field { offset: 2, size: 4, signed: false, place };
        assert_eq!(field.bytes(record, Order::Little), expected, "{place:?}");
    };
    check(Place::Here, b"..abcdef", Some(b"abcd"));
    check(Place::Elsewhere, &[0, 0, 7, 0, 2, 0, 1, b'h', b'i'], Some(b"hi"));
    check(Place::Behind, &[0, 0, 1, 0, 2, 0, 1, b'h', b'i'], Some(b"hi"));
    check(Place::Elsewhere, &[0, 0, 8, 0, 2, 0, 1, b'h', b'i'], None);
    check(Place::Here, b"..abc", None);
    let text = "name: x\nID: 3\nformat:\n\tfield:__data_loc char[] comm;	offset:8;	size:4;	signed:0;
	field:__rel_loc char[] child_comm;	offset:12;	size:4;	signed:0;\n\tfield:const char * name;	offset:16;	size:8;	signed:0;";
    let event = Description::read(text).expect("an event");
    assert_eq!(event.field("comm").map(|field| field.place), Some(Place::Elsewhere));
    assert_eq!(event.field("child_comm").map(|field| field.place), Some(Place::Behind));
    assert_eq!(event.field("name").map(|field| (field.offset, field.size)), Some((16, 8)));
    assert_eq!(Description::read("name: x"), None);
}

#[test]
fn hotplug_is_detected_from_its_steps() {
    let text = "name: cpuhp_enter\nID: 5\nformat:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned int cpu;	offset:8;	size:4;	signed:0;
	field:int target;	offset:12;	size:4;	signed:1;
	field:int idx;	offset:16;	size:4;	signed:1;";
    let mut decoder = Decoder::new(Order::Little);
    decoder.learn(&Description::read(text).expect("an event"));
    let check = |target: u32, step: u32, expected| {
        let mut bytes = vec![5, 0, 0, 0, 0, 0, 0, 0];
        [3, target, step].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
        assert_eq!(
            decoder.decode(&bytes).and_then(|decoded| decoded.what),
            Some(expected),
            "{target} {step}"
        );
    };
    check(0, 235, SchedEvent::Online { target: 3, up: false });
    check(236, 100, SchedEvent::Other);
    check(236, 235, SchedEvent::Online { target: 3, up: true });
}

/// No kernel has steps of eight bytes, but a file may.
#[test]
fn the_largest_step_is_no_step_of_hotplug() {
    let text = "name: cpuhp_enter\nID: 5\nformat:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned int cpu;	offset:8;	size:4;	signed:0;
	field:long target;	offset:16;	size:8;	signed:1;
	field:long idx;	offset:24;	size:8;	signed:1;";
    let mut decoder = Decoder::new(Order::Little);
    decoder.learn(&Description::read(text).expect("an event"));
    let mut bytes = vec![0; 32];
    bytes[0] = 5;
    [16, 24].iter().for_each(|&at: &usize| bytes[at..at + 8].copy_from_slice(&i64::MAX.to_le_bytes()));
    assert_eq!(decoder.decode(&bytes).and_then(|decoded| decoded.what), Some(SchedEvent::Other));
}
