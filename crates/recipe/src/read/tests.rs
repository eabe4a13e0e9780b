use super::*;
use crate::companion::{Call, Program, Rest};
use keel_abi::{CpuSet, Topology};

fn facts() -> Facts {
    Facts { topology: Topology::regular(2, 1, 2, 1), online: CpuSet::first(4), page_bytes: 4096 }
}

fn plan(text: &str) -> Result<Vec<Action>, String> {
    let recipe = Recipe::read("r", text).map_err(|e| e.to_string())?;
    recipe.plan(&facts()).map_err(|e| e.to_string())
}

#[test]
fn a_loader_that_comes_back_says_when() {
    assert_eq!(plan("restart_ms = 20"), Ok(vec![Action::Restart { after: Span::from_ms(20) }]));
    let refused = plan("restart_ms = -1").expect_err("that is before it went");
    assert!(refused.contains("line 1, restart_ms: it takes 0 to 3600000"), "{refused}");
    let beside = "restart_ms = 20\n[[companion]]\nname = 'half'\nround = ''";
    let refused = plan(beside).expect_err("its maps go");
    assert!(refused.contains("line 1, restart_ms: a scheduler with companions"), "{refused}");
}

#[test]
fn a_recipe_becomes_actions_in_their_order() {
    let text = r#"
        counters = ["nr_picked"]
        attach = ["watch_futex"]
        [set]
        nr_cpus = "cpus"
        node_of = "node_of_cpu"
        slice_ns = 5_000_000
        debug = true
        big = "0xffffffffffffffff"
        weights = [1, -2]
        [ops]
        flags = ["SCX_OPS_ENQ_LAST", "SCX_OPS_ENQ_EXITING"]
        timeout_ms = 5000
        [[map]]
        name = "cpu_data"
        max_entries = "cpus"
        values = "llc_of_cpu"
        entries = [{ key = 7, value = [1, 2] }]
        [[run]]
        program = "tick"
        every_ms = 100
        [[run]]
        program = "setup"
        args = ["nodes", -1]
    "#;
    let set = |variable: &str, value| Action::Set { variable: variable.into(), value };
    let put = |key, value| Action::Put { map: "cpu_data".into(), key: Value::One(key), value, cpu: None };
    let one = Value::One;
    let mut expected = vec![
        set("big", one(u64::MAX.into())),
        set("debug", one(1)),
        set("node_of", Value::List(vec![0, 0, 1, 1])),
        set("nr_cpus", one(4)),
        set("slice_ns", one(5_000_000)),
        set("weights", Value::List(vec![1, -2])),
        Action::AddFlags(6),
        Action::SetMember { member: "timeout_ms", value: 5000 },
        Action::Resize { map: "cpu_data".into(), entries: 4 },
    ];
    expected.extend([put(0, one(0)), put(1, one(0)), put(2, one(1)), put(3, one(1))]);
    expected.push(put(7, Value::List(vec![1, 2])));
    expected.push(Action::Run { program: "setup".into(), args: vec![2, u64::MAX] });
    expected.push(Action::Attach { program: "watch_futex".into() });
    let every = Span::from_ms(100);
    expected.push(Action::RunEvery { program: "tick".into(), args: vec![], every });
    expected.push(Action::Count { variable: "nr_picked".into() });
    let mut planned = plan(text).unwrap();
    // The file's order of variables does not matter: each is set once.
    let variables = planned.iter().filter(|action| matches!(action, Action::Set { .. })).count();
    planned[..variables].sort_by_key(|action| format!("{action:?}"));
    assert_eq!(planned, expected);
}

#[test]
fn parts_left_out_programs_and_one_cpus_values_are_planned() {
    let part = |at, bytes: &[u8]| Action::SetPart { variable: "layers".into(), at, bytes: bytes.to_vec() };
    let table = |rest: &str| plan(&format!("[[part]]\nvariable = 'layers'\n{rest}"));
    assert_eq!(table("at = 8\nvalues = [1]"), Ok(vec![part(8, &[1, 0, 0, 0, 0, 0, 0, 0])]));
    assert_eq!(table("at = 2\nsize = 2\nvalues = [1, -1]"), Ok(vec![part(2, &[1, 0, 255, 255])]));
    assert_eq!(table("at = 0\nvalues = ['0xffffffffffffffff']"), Ok(vec![part(0, &[255; 8])]));
    assert_eq!(table("at = 0\nsize = 1\nvalues = 'cpus'"), Ok(vec![part(0, &[4])]));
    let refused = table("at = 0\nsize = 1\nvalues = [256]").expect_err("too large");
    assert!(refused.contains("line 5, part layers.values: its values don't fit"), "{refused}");
    assert!(table("at = 0\nsize = 3\nvalues = [1]").is_err(), "no integer has three bytes");
    assert!(table("at = 0\nvalues = []").is_err(), "it sets something");
    let out = Action::LeaveOut { program: "probe".into() };
    assert_eq!(plan("leave_out = ['probe']"), Ok(vec![out]));
    let entry = plan("[[map]]\nname = 'm'\nentries = [{ key = 0, cpu = 3, value = 1 }]");
    let (key, value) = (Value::One(0), Value::One(1));
    assert_eq!(entry, Ok(vec![Action::Put { map: "m".into(), key, value, cpu: Some(3) }]));
}

#[test]
fn companions_are_resolved() {
    let text = "
        [[companion]]
        name = 'one'
        pid = 'who'
        sleep_us = 1500
        round = '''
        n += 1
        loads.cpu = batch - 1
        get(loads)
        object.load = loads.load
        '''
        [companion.set]
        batch = 'cpus'
        [companion.records]
        loads = { key = ['u32 cpu'], value = ['u64 load'] }
        [[companion]]
        round = ''";
    let actions = plan(text).unwrap();
    let [Action::Accompany(one), Action::Accompany(other)] = &actions[..] else { panic!("{actions:?}") };
    let rest = Rest::Sleep(Span::from_us(1500));
    assert_eq!((one.name.as_str(), one.pid.as_deref(), one.rest), ("one", Some("who"), rest));
    assert_eq!(one.program.variables, ["load"]);
    assert_eq!(one.program.calls, [(Call::Get, 0)]);
    assert_eq!((one.program.maps[0].key_bytes, one.program.maps[0].value_bytes), (4, 8));
    assert_eq!((other.name.as_str(), other.pid.as_deref(), other.rest), ("companion", None, Rest::Yield));
    assert_eq!(other.program, Program::default());
}

#[test]
fn the_selected_scheduler_comes_first() {
    let text = "[set]\na = 1\n[ops]\nvariable = 'b_ops'\ntimeout_ms = 5\nhotplug_seq = '0x123456789a'";
    let expected = [
        Action::Choose { scheduler: "b_ops".into() },
        Action::Set { variable: "a".into(), value: Value::One(1) },
        Action::SetMember { member: "timeout_ms", value: 5 },
        Action::SetMember { member: "hotplug_seq", value: 0x12_3456_789a },
    ];
    assert_eq!(plan(text).unwrap(), expected);
}

#[test]
fn errors_are_reported_with_their_place() {
    let check = |text: &str, expected: &str| {
        let reported = plan(text).unwrap_err();
        assert!(
            reported.starts_with(&format!("r, {expected}")),
            "{text:?}: {reported:?} should begin with {expected:?}"
        );
    };
    check("x = 1", "line 1: unknown field `x`");
    check("[set]\na = ", "line 2: ");
    check("[set]\na = 'speed'", "line 2, set.a: a machine has no \"speed\"; it has cpus, nodes");
    check("[set]\na = 1.5", "line 2, set.a: it takes an integer");
    check("[set]\na = [1, 'cpus']", "line 2, set.a: it takes an integer");
    check("[ops]\n\nflags = ['SCX_OPS_FAST']", "line 3, ops.flags: there is no flag \"SCX_OPS_FAST\"");
    check("[ops]\ntimeout_ms = -1", "line 2, ops.timeout_ms: it takes 0 to 4294967295, not -1");
    check("[ops]\ntimeout_ms = [1]", "line 2, ops.timeout_ms: it takes one number");
    check("\n[[map]]\nname = 'm'", "line 2, map m: it does not describe the map");
    check("[[map]]\nname = 'm'\nvalues = 'cpus'", "line 3, map m.values: it takes a list");
    check("[[map]]\nname = 'm'\nmax_entries = 0", "line 3, map m.max_entries: it takes 1 to");
    check("[[run]]\nprogram = 'p'\nevery_ms = 0", "line 3, run p.every_ms: it takes 1 to 3600000");
    check("[[run]]\nevery_ms = 1", "line 1: missing field `program`");
    check("[[companion]]\nname = 'a'", "line 1: missing field `round`");
    check("[[companion]]\nround = 'x = y'", "line 2, companion companion.round: nothing is ever put into");
    let script = "[[companion]]\nname = 'a'\nround = '''\nx = 1\n\nx = $\n'''";
    check(script, "line 6, companion a.round: '$' means nothing in a script");
    check("[[companion]]\nround = ''\nsleep_us = 0", "line 3, companion companion.sleep_us: it takes 1 to");
    check(
        "[[companion]]\nround = ''\nset = { a = [1] }",
        "line 3, companion companion.set.a: it takes one number",
    );
    let name = "a name has no control characters, and at most 256 bytes";
    for place in [
        "[[run]]\nprogram = \"a\\nb\"",
        "[[companion]]\nname = \"a\\nb\"\nround = 'x = y'",
        "[set]\n\"a\\nb\" = 1",
        "[queues]\n\"a\\u001bb\" = 1",
        "[[map]]\nname = \"a\\nb\"\nmax_entries = 1",
        "[ops]\nvariable = \"a\\nb\"",
        "\nleave_out = [\"a\\nb\"]",
        "\nattach = [\"a\\nb\"]",
        "\ncounters = [\"a\\nb\"]",
        "\npart = [{ variable = \"a\\nb\", at = 0, values = [1] }]",
    ] {
        check(place, &format!("line 2: {name}"));
    }
    let records = |record: &str| format!("[[companion]]\nround = ''\nrecords = {{ m = {record} }}");
    check(&records("3"), "line 3, companion companion.records.m: it takes a list of fields, or a table");
    check(&records("[1]"), "line 3, companion companion.records.m: it takes a list of fields, or a table");
    check(&records("{ key = ['u8 a'] }"), "line 3, companion companion.records.m: it takes a list");
    check(&records("['u8']"), "line 3, companion companion.records.m: a field is written like");
    check(&"[[companion]]\nround = ''\n".repeat(65), "line 129, companion: there are more than 64");
}

#[test]
fn nothing_is_done_by_an_empty_recipe() {
    assert_eq!(plan("").unwrap(), []);
    assert_eq!(Recipe::default().plan(&facts()).unwrap(), []);
}

#[test]
fn queues_are_given_names() {
    let named = |id, name: &str| Action::NameQueue { id, name: name.to_owned() };
    assert_eq!(
        plan("[queues]\nshared = 5\nnode1 = 0x101"),
        Ok(vec![named(0x101, "node1"), named(5, "shared")])
    );
    let refused = plan("[queues]\nlocal = -1").expect_err("the kernel's own");
    assert!(refused.contains("line 2, queues.local: it takes 0 to 9223372036854775807"), "{refused}");
}
