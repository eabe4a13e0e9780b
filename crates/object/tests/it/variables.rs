//! Global variables: set, found, rejected.

use keel_object::Object;

use crate::common;

const SAMPLE: &str = r#"
        const volatile u64 slice_ns = 20000000;
        const volatile s32 signed_one = -1;
        const volatile bool flag;
        const volatile u8 tiny;
        const volatile u64 __SCX_ENQ_LAST __weak;
        const volatile u64 __SCX_RQ_ONLINE __weak;
        const volatile u64 __SMALL_A __weak = 99;
        enum bug { BUG_TOO_FEW = 1, BUG_TOO_MANY = 2, BUG_LATE = 8 };
        const volatile enum bug bug;
        enum mode { MODE_OFF, MODE_ON_AND_ON = 5, MODE_LAST = -1 };
        const volatile enum mode mode;
        u64 array[3];
        const volatile bool flags[2];
        typedef bool verdict_t;
        const volatile verdict_t verdict = true;
        char letter = 'a';
        static volatile u32 own_section SEC(".data.own") = 4;
        SEC("syscall") long f(void *c) {
            return slice_ns + signed_one + flag + tiny + __SCX_ENQ_LAST + __SCX_RQ_ONLINE + __SMALL_A + array[1] + own_section + bug + mode + flags[0] + verdict + letter;
        }
    "#;

fn sample() -> Object {
    common::try_load(SAMPLE).unwrap()
}

fn value(object: &Object, name: &str) -> Vec<u8> {
    let variable = object.variable(name).unwrap();
    let map = &object.maps[variable.map as usize];
    map.initial[variable.offset as usize..][..variable.size as usize].to_vec()
}

#[test]
fn values_are_set_within_their_range() {
    let check = |name: &str, text: &str, expected: &[u8]| {
        let mut object = sample();
        object.set_variable(name, text).unwrap();
        assert_eq!(value(&object, name), expected, "{name} = {text}");
    };
    check("slice_ns", "5", &5u64.to_le_bytes());
    check("slice_ns", "0xffffffffffffffff", &u64::MAX.to_le_bytes());
    check("signed_one", "-2147483648", &i32::MIN.to_le_bytes());
    check("signed_one", "-0x1", &(-1i32).to_le_bytes());
    check("flag", "true", &[1]);
    check("flag", "false", &[0]);
    check("flag", "0x1", &[1]);
    check("verdict", "0", &[0]);
    check("letter", "-128", &[0x80]);
    check("tiny", "255", &[255]);
    check("own_section", "9", &9u32.to_le_bytes());
}

#[test]
fn enums_take_the_names_of_their_values() {
    let check = |name: &str, text: &str, expected: i32| {
        let mut object = sample();
        object.set_variable(name, text).unwrap();
        assert_eq!(value(&object, name), expected.to_le_bytes(), "{name} = {text}");
    };
    check("bug", "too-many", 2);
    check("bug", "BUG_TOO_MANY", 2);
    check("bug", "Too_Few+late", 9);
    check("bug", "0", 0);
    check("bug", "11", 11);
    check("mode", "0x5", 5);
    check("mode", "-1", -1);
    check("mode", "on-and-on", 5);
    check("mode", "last", -1);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let check = |name: &str, text: &str, expected: &str| {
        let mut object = sample();
        assert_eq!(object.set_variable(name, text).unwrap_err().to_string(), expected);
        assert_eq!(object, sample());
    };
    check("tiny", "256", "variable tiny takes 0 to 255, not 256");
    check("tiny", &"9".repeat(23), &format!("variable tiny takes 0 to 255, not {}", "9".repeat(23)));
    check("tiny", "-1", "variable tiny takes 0 to 255, not -1");
    check("signed_one", "2147483648", "variable signed_one takes -2147483648 to 2147483647, not 2147483648");
    check("bug", "few", r#"variable bug takes too-few, too-many, late, joined by +, not "few""#);
    check("bug", "late+", r#"variable bug takes too-few, too-many, late, joined by +, not "late+""#);
    check("mode", "off+last", r#"variable mode takes off, on-and-on, last, not "off+last""#);
    check("mode", "3", r#"variable mode takes off, on-and-on, last, not "3""#);
    check("mode", "4294967295", r#"variable mode takes off, on-and-on, last, not "4294967295""#);
    check("bug", "4", r#"variable bug takes too-few, too-many, late, joined by +, not "4""#);
    check("bug", "-1", r#"variable bug takes too-few, too-many, late, joined by +, not "-1""#);
    check("array", "1", "variable array is not an integer, boolean or enum");
    check("letter", "128", "variable letter takes -128 to 127, not 128");
    for text in ["2", "254", "255", "256", "-1", "yes", "on"] {
        check("flag", text, &format!("variable flag takes true, false, 1 or 0, not {text:?}"));
        check("verdict", text, &format!("variable verdict takes true, false, 1 or 0, not {text:?}"));
    }
    check("slice_n", "1", "the object has no variable slice_n; did you mean slice_ns?");
    check("zzzzzz", "1", "the object has no variable zzzzzz");
    let number = "variable tiny takes an integer, decimal or hexadecimal, or true or false, not";
    for text in ["", "-", "+1", "0x", "1.5", "--1", "ten"] {
        check("tiny", text, &format!("{number} {text:?}"));
    }
}

#[test]
fn constants_come_from_the_kernels_enums() {
    let object = sample();
    assert_eq!(value(&object, "__SCX_ENQ_LAST"), (1u64 << 41).to_le_bytes());
    assert_eq!(value(&object, "__SCX_RQ_ONLINE"), [0; 8], "the kernel has no such enumerator");
    assert_eq!(value(&object, "__SMALL_A"), 99u64.to_le_bytes(), "the object has set it");
}

#[test]
fn bytes_go_anywhere_within_a_variable() {
    let check = |name: &str, at: u64, bytes: &[u8], expected: Result<(), &str>| {
        let mut object = sample();
        let mut after = object.variable(name).map_or(Vec::new(), |_| value(&object, name).to_vec());
        let done = object.set_bytes(name, at, bytes).map_err(|e| e.to_string());
        if done.is_ok() {
            after[at as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        assert_eq!(done, expected.map_err(str::to_owned), "{name} {at}");
        assert!(after.is_empty() || value(&object, name) == after, "{name} {at}");
    };
    let bytes = value(&sample(), "array").len() as u64;
    check("array", 1, &[5, 6], Ok(()));
    check("array", bytes - 1, &[9], Ok(()));
    let beyond = format!("variable array has {bytes} bytes, but the write ends at {}", bytes + 1);
    check("array", bytes - 1, &[9, 9], Err(&beyond));
    let far = format!("variable array has {bytes} bytes, but the write ends at {}", u64::MAX);
    check("array", u64::MAX, &[9], Err(&far));
    check("nobody", 0, &[1], Err("the object has no variable nobody"));
}

#[test]
fn lists_fill_the_first_elements_of_arrays() {
    let check = |name: &str, numbers: &[i128], expected: Result<&[u8], &str>| {
        let mut object = sample();
        match (object.set_list(name, numbers), expected) {
            (Ok(()), Ok(bytes)) => assert_eq!(value(&object, name), bytes),
            (Err(e), Err(text)) => assert_eq!(e.to_string(), text),
            (found, expected) => panic!("{name} {numbers:?}: {found:?} instead of {expected:?}"),
        }
    };
    let before = value(&sample(), "array").to_vec();
    let element = before.len() / 3;
    let mut after = before.clone();
    after[..element].copy_from_slice(&7u64.to_le_bytes()[..element]);
    check("array", &[7], Ok(&after));
    check("array", &[], Ok(&before));
    check("array", &[1; 4], Err("variable array holds 3 numbers, not 4"));
    check("flags", &[1, 0], Ok(&[1, 0]));
    check("flags", &[0, 2], Err(r#"variable flags takes true, false, 1 or 0, not "2""#));
    check("tiny", &[1], Err("variable tiny is not an array of integers"));
    check("nobody", &[1], Err("the object has no variable nobody"));
}

#[test]
fn an_outline_lists_variables_without_a_kernel() {
    let bytes = common::object(SAMPLE);
    let outline = keel_object::outline(&bytes).unwrap();
    let named =
        |object: &Object| object.variables.iter().map(|v| (v.name.clone(), v.offset)).collect::<Vec<_>>();
    assert_eq!(named(&outline.object), named(&sample()));
    assert_eq!(outline.object.programs.len(), sample().programs.len());
    assert!(outline.schedulers().is_empty());
}

#[test]
fn queues_have_the_names_of_the_objects_own_constants() {
    let source = r#"
        enum mine { SHARED_DSQ = 5, NOT_A_QUEUE = 6, SCX_DSQ_FAKE = 7, LATE_DSQ_ID = 0x100 };
        enum my_dsqs { FAST, SLOW, SAME = 5 };
        enum scx_dsq_ids { THEIRS = 9 };
        enum far { FAR_DSQ = 0x8000000000000001ULL };
        enum mine a;
        enum my_dsqs b;
        enum scx_dsq_ids c;
        enum far d;
        SEC("syscall") long f(void *x) { return a + b + c + d; }
    "#;
    let object = common::try_load(source).unwrap();
    let expected = [(0, "FAST"), (1, "SLOW"), (5, "SHARED_DSQ"), (0x100, "LATE_DSQ_ID")];
    assert_eq!(object.queues, expected.map(|(id, name)| (id, name.to_owned())));
}
