use super::*;
use keel_abi::topology::Distance;
use keel_abi::{CpuId, NodeId};

fn error(text: &str) -> String {
    Machine::parse(text).expect_err("a machine file with a fault").to_string()
}

/// Checks the error for a file that has `rest` after its name.
fn check(rest: &str, expected: &str) {
    assert_eq!(error(&format!("name = 'm'\n{rest}")), expected, "{rest}");
}

#[test]
fn every_built_in_machine_is_valid_and_gives_its_sources() {
    for (name, _) in BUILT_IN {
        let machine = Machine::built_in(name).unwrap();
        assert_eq!(machine.name, *name);
        assert!(machine.lines.smt_ps <= machine.lines.llc_ps && machine.lines.llc_ps <= machine.lines.hop_ps);
    }
    assert_eq!(Machine::built_in("no-such"), None);
}

#[test]
fn a_number_means_a_server_of_today() {
    let machine = Machine::of_cpus(130);
    let t = &machine.topology;
    assert_eq!((machine.name.as_str(), machine.hz, t.cpus(), t.nodes()), ("130", 1000, 130, 3));
    let distance = |a, b| t.distance(CpuId(a), CpuId(b));
    assert_eq!(
        [distance(0, 7), distance(7, 8), distance(63, 64)],
        [Distance::Llc, Distance::Node, Distance::Hops(1)]
    );
    assert!(!t.has_smt());
    assert_eq!(Machine::of_cpus(4096).topology.cpus(), 4096);
}

#[test]
fn the_real_time_class_has_rules_of_its_kernel() {
    let read = |table: &str| {
        let text = format!("name = 'm'\n[topology]\nnodes = 1\n{table}");
        Machine::parse(&text).map(|m| m.realtime).map_err(|e| e.to_string())
    };
    let check = |table: &str, wakeup, pull| {
        let expected = Realtime { wakeup, pull, ..Realtime::default() };
        assert_eq!(read(table), Ok(expected), "{table}");
    };
    check("", WakeupRule::After, Pull::Ask);
    check("[realtime]", WakeupRule::After, Pull::Ask);
    check("[realtime]\nwakeup = 'before'", WakeupRule::Before, Pull::Ask);
    check("[realtime]\nwakeup = 'posted'\npull = 'take'", WakeupRule::Posted, Pull::Take);
    for (table, why) in [
        ("[realtime]\nwakeup = 'never'", "line 5"),
        (
            "[realtime]\nwakeup = 'never'",
            "unknown variant `never`, expected one of `before`, `posted`, `after`",
        ),
        ("[realtime]\nspeed = 1", "unknown field `speed`"),
        ("[realtime]\nspin = 1", "expected true or false"),
        (
            "[realtime]\nwatchdog_ms = 0",
            "line 5, realtime.watchdog_ms: 0 is out of range; give 1 to 86400000",
        ),
        ("[realtime]\nthrottle = { runtime_us = 950000 }", "missing field `period_us`"),
        (
            "[realtime]\nthrottle = { runtime_us = 5, period_us = 999 }",
            "line 5, realtime.throttle.period_us: 999 is out of range; give 1000 to 2147483647",
        ),
        (
            "[realtime]\nthrottle = { runtime_us = 2001, period_us = 2000 }",
            "line 5, realtime.throttle.runtime_us: 2001 is out of range; give 1 to 2000",
        ),
        ("[realtime]\nthrottle = { runtime_us = 0, period_us = 2000 }", "give 1 to 2000"),
    ] {
        let said = read(table).expect_err(table);
        assert!(said.contains(why), "{table}: {said}");
    }
}

#[test]
fn the_real_time_class_is_throttled_where_a_file_says_so_and_waiters_spin_unless_one_says_not() {
    let read = |table: &str| {
        Machine::parse(&format!("name = 'm'\n[topology]\nnodes = 1\n[realtime]\n{table}")).unwrap().realtime
    };
    let throttle = |spares_boosted| {
        let [runtime, period] = [950_000, 1_000_000].map(keel_abi::Span::from_us);
        Some(Throttle { runtime, period, spares_boosted })
    };
    let check = |table: &str, spin, throttle| {
        assert_eq!(read(table), Realtime { spin, throttle, ..Realtime::default() }, "{table}");
    };
    check("", true, None);
    check("spin = false", false, None);
    check("throttle = { runtime_us = 950000, period_us = 1000000 }", true, throttle(false));
    check(
        "throttle = { runtime_us = 950000, period_us = 1000000, spares_boosted = true }",
        true,
        throttle(true),
    );
    for (machine, spin) in
        [("default", true), ("quad-2010", false), ("quad-2010-after", false), ("quad-2010-today", true)]
    {
        assert_eq!(Machine::built_in(machine).unwrap().realtime.spin, spin, "{machine}");
    }
}

#[test]
fn the_papers_machine_has_the_papers_hops() {
    let t = Machine::built_in("opteron-6272").unwrap().topology;
    let near = |from| (0..8).filter(|&n| t.hops(NodeId(from), NodeId(n)) == 1).collect::<Vec<_>>();
    assert_eq!(near(0), [1, 2, 4, 6]);
    assert_eq!(near(3), [1, 2, 4, 5, 7]);
    assert_eq!(t.hops(NodeId(1), NodeId(2)), 2);
    assert!((0..64).all(|n| t.hops(NodeId(n / 8), NodeId(n % 8)) <= 2));
    assert_eq!(t.distance(CpuId(0), CpuId(1)), Distance::Smt);
    assert_eq!(t.distance(CpuId(0), CpuId(7)), Distance::Llc);
}

#[test]
fn second_threads_may_come_last() {
    let t = Machine::built_in("laptop-8").unwrap().topology;
    assert_eq!(t.distance(CpuId(1), CpuId(5)), Distance::Smt);
    assert_eq!(t.distance(CpuId(0), CpuId(1)), Distance::Llc);
}

#[test]
fn nodes_may_be_listed_cpu_by_cpu() {
    let text = "
        name = 'odd'
        [[node]]
        cpus = '0-3,8'
        llcs = ['0-1,8', '2-3']
        cores = ['0,8', '1', '2-3']
        [[node]]
        cpus = '4-7'
        [topology]
        hops = [[0, 3], [3, 0]]
        [costs]
        ipi_ns = { value = 7, source = 'a test' }
        [lines]
        hop_ps = { value = 9, source = 'a test' }
    ";
    let machine = Machine::parse(text).unwrap();
    let t = &machine.topology;
    let distance = |a, b| t.distance(CpuId(a), CpuId(b));
    assert_eq!([distance(0, 8), distance(2, 3)], [Distance::Smt; 2]);
    assert_eq!([distance(0, 1), distance(4, 7)], [Distance::Llc; 2]);
    assert_eq!([distance(0, 2), distance(3, 4)], [Distance::Node, Distance::Hops(3)]);
    let listed = text.replace("'0-3,8'", "[0, 1, 2, 3, 8]").replace("'2-3'", "[3, 2]");
    assert_eq!(Machine::parse(&listed).unwrap(), machine, "a list of numbers is as good as text");
    let default = Machine::of_cpus(1);
    assert_eq!((machine.costs.ipi_ns, machine.lines.hop_ps), (7, 9));
    assert_eq!((machine.costs.tick_ns, machine.lines.llc_ps), (default.costs.tick_ns, default.lines.llc_ps));
}

#[test]
fn the_documented_shapes_are_right() {
    let docs = include_str!("../../../../../docs/reference/machines.md");
    let blocks = docs.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let shape = |text: &str| {
        let machine = Machine::parse(text).unwrap_or_else(|e| panic!("{e}:\n{text}"));
        (machine.name, machine.topology.cpus(), machine.topology.nodes(), machine.topology.has_smt())
    };
    let shapes: Vec<_> = blocks.filter(|text| text.starts_with("name = ")).map(shape).collect();
    assert_eq!(shapes, [("two sockets".to_owned(), 128, 2, true), ("odd".to_owned(), 9, 2, true)]);
}

#[test]
fn a_faulty_shape_is_reported_in_one_sentence() {
    check("", "line 1, topology: give either topology.nodes or [[node]] tables, and not both");
    check("[topology]\nnodes = 0", "line 3, topology: the machine has no CPU; give at least one");
    check(
        "[topology]\nnodes = 65\ncores_per_llc = 64",
        "line 3, topology: 4160 CPUs are too many; give at most 4096",
    );
    check(
        "[[node]]\ncpus = '0-4'\n[[node]]\ncpus = '4-7'",
        "line 5, node[1].cpus: CPU 4 is in an earlier node too; give each CPU to one node",
    );
    check(
        "[[node]]\ncpus = '0-2'\n[[node]]\ncpus = '4-7'",
        "line 4, node: CPU 3 is in no node; number CPUs from 0 without gaps and place each",
    );
    check("[[node]]\ncpus = ''", "line 3, node[0].cpus: the machine has no CPU; give at least one");
    check(
        "[[node]]\ncpus = '3-1'",
        "line 3, node[0].cpus: '3-1' is not a CPU list such as 0-3,8 (below 4096)",
    );
    check(
        "[[node]]\ncpus = '0-3'\nllcs = ['0-1', '1-3']",
        "line 4, node[0].llcs: CPU 1 is in an earlier cache too; give each CPU to one cache",
    );
    check(
        "[[node]]\ncpus = '0-3'\nllcs = ['0-1', '2-4']",
        "line 4, node[0].llcs: CPU 4 is not in this node; keep each cache within one node",
    );
    check(
        "[[node]]\ncpus = '0-3'\nllcs = ['0-1']",
        "line 2, node: CPU 2 is in no cache; number CPUs from 0 without gaps and place each",
    );
    check(
        "[[node]]\ncpus = '0-3'\nllcs = ['0-1', '2-3']\ncores = ['0', '1-2', '3']",
        "line 5, node[0].cores: CPU 2 is not in this cache; keep each core within one cache",
    );
}

#[test]
fn faulty_hops_are_reported_in_one_sentence() {
    check(
        "[topology]\nnodes = 2\nhops = [[0, 1]]",
        "line 4, topology.hops: 2 nodes need 2 rows of 2 hops each; row 2 has 1",
    );
    check(
        "[topology]\nnodes = 2\nhops = [[0, 1], [1]]",
        "line 4, topology.hops: 2 nodes need 2 rows of 2 hops each; row 1 has 1",
    );
    check(
        "[topology]\nnodes = 2\nhops = [[0, 1], [2, 0]]",
        "line 4, topology.hops: node 0 is 1 hops from node 1; give 0 to itself alone, and the same both ways",
    );
    check(
        "[topology]\nnodes = 3\nlinks = [[0, 1]]",
        "line 4, topology.links: node 2 is not linked to node 0; hops between them are missing",
    );
    check(
        "[topology]\nnodes = 2\nlinks = [[0, 2]]",
        "line 4, topology.links: [0, 2] is not a link; give two of nodes 0 to 1",
    );
    check(
        "[topology]\nnodes = 2\nlinks = [[0, 1]]\nhops = [[0, 1], [1, 0]]",
        "line 4, topology.links: hops are given too; give links or hops, not both",
    );
}

#[test]
fn a_faulty_constant_is_reported_in_one_sentence() {
    let with = |rest: &str| format!("[topology]\nnodes = 1\n{rest}");
    check(
        &with("[costs]\ntick_ns = { value = 5, source = ' ' }"),
        "line 5, costs.tick_ns: the source is empty; say where the value comes from",
    );
    check(
        &with("[costs]\ninsn_ps = { value = 0, source = 's' }"),
        "line 5, costs.insn_ps: 0 is out of range; give 1 to 1000000",
    );
    check(
        &with("[lines]\nhop_ps = { value = 2000000000, source = 's' }"),
        "line 5, lines.hop_ps: 2000000000 is out of range; give 0 to 1000000000",
    );
    check(
        &with("[lines]\nhops_ps = { value = 1, source = 's' }"),
        "line 5, lines.hops_ps: there is no such constant; the constants are bytes, smt_ps, llc_ps, node_ps, \
         hop_ps, more_hops_ps, memory_ps, tasks_held",
    );
    check(
        &with("[lines]\nbytes = { value = 48, source = 's' }"),
        "line 5, lines.bytes: 48 is not a power of two",
    );
    check(
        &with("[lines]\nbytes = { value = 128, source = 's' }"),
        "line 5, lines.bytes: 128 is out of range; give 16 to 64",
    );
}

#[test]
fn a_constant_without_its_source_gets_a_suggested_line() {
    let constant = |rest: &str, expected: &str| {
        let wanted = format!("a constant has a value and its source; write {expected}");
        let said = error(&format!("name = 'm'\n[topology]\nnodes = 1\n{rest}"));
        let (place, problem) = said.split_once(": ").expect("a place first");
        assert_eq!(problem, wanted, "{rest}");
        assert!(place.starts_with("line 5, "), "{said}");
    };
    constant("[costs]\nipi_ns = 4", "ipi_ns = { value = 4, source = \"where it is from\" }");
    constant("[costs]\ntick_ns = { value = 5 }", "tick_ns = { value = 5, source = \"where it is from\" }");
    constant("[lines]\nhop_ps = { source = 'x' }", "hop_ps = { value = 900, source = \"where it is from\" }");
    constant("[frequency]\nleast = 9", "least = { value = 9, source = \"where it is from\" }");
    check(
        "[topology]\nnodes = 1\n[frequency]\nleats = 9",
        "line 5, frequency.leats: there is no such constant; the constants are least, switch_ns, rate_limit_ns",
    );
}

#[test]
fn toml_errors_are_reported_with_their_line() {
    let starts = |rest: &str, expected: &str| {
        let said = error(&format!("name = 'm'\n{rest}"));
        assert!(said.starts_with(expected) && !said.contains('\n'), "{rest}: {said}");
    };
    starts("hz = 0\n[topology]\nnodes = 1", "line 2, hz: 0 is out of range; give 1 to 10000");
    starts("hz = -5", "line 2: invalid value: integer `-5`");
    starts("colour = 'red'", "line 2: unknown field `colour`");
    starts("[topology]\nnodes = 2\nmemory = 3", "line 4: unknown field `memory`");
    let constant = |rest: &str, expected: &str| starts(&format!("[topology]\nnodes = 1\n{rest}"), expected);
    constant(
        "[costs]\ntick_ns = 'fast'",
        "line 5: invalid type: string \"fast\", expected a value and its source, as in ipi_ns = { value = 900, \
         source = \"where it is from\" }",
    );
    constant("[costs]\ntick_ns = { value = 5, sauce = '' }", "line 5: unknown field `sauce`");
    constant(
        "[costs]\ntick_ns = { value = 'x', source = '' }",
        "line 5: invalid type: string \"x\", expected a whole number of at least 0",
    );
    starts("topology = 3", "line 2: invalid type: integer `3`, expected a [topology] table: nodes = 2");
    starts("[[node]]\ncpus = 3", "line 3: invalid type: integer `3`, expected CPUs such as \"0-3,8\"");
    starts("[[node]]\ncpus = ['a']", "line 3: invalid type: string \"a\", expected a whole number");
    starts("timeline = [3]", "line 2: invalid type: integer `3`, expected a [[timeline]] table: at = 100000");
    constant(
        "[realtime]\nthrottle = 5",
        "line 5: invalid type: integer `5`, expected { runtime_us = 950000, period_us = 1000000 }",
    );
    starts("[topology\nnodes", "line 2: ");
}

#[test]
fn a_missing_constant_is_named() {
    let text = "name = 'm'\n[topology]\nnodes = 1\n";
    let missing = read::parse(text, None).expect_err("no constants").to_string();
    assert_eq!(missing, "line 1, costs: the constant insn_ps is missing; give its value and source");
}

const FOUR: &str = "[topology]\nnodes = 1\ncores_per_llc = 4\n";

#[test]
fn frequencies_and_capacities_are_read_or_refused() {
    let text = format!(
        "name = 'm'\n{FOUR}[frequency]\nleast = {{ value = 256, source = 'a test' }}\n\
         [[capacity]]\ncpus = '2-3'\nvalue = 512\nsource = 'a test'\n"
    );
    let machine = Machine::parse(&text).unwrap();
    assert_eq!((machine.frequency.least, &machine.capacity[..]), (256, &[1024, 1024, 512, 512][..]));
    assert_eq!(machine.frequency.switch_ns, Machine::of_cpus(1).frequency.switch_ns);
    let wrong = |rest: &str, expected: &str| check(&format!("{FOUR}{rest}"), expected);
    wrong(
        "[frequency]\nleast = { value = 1025, source = 'x' }",
        "line 6, frequency.least: 1025 is out of range; give 1 to 1024",
    );
    wrong(
        "[frequency]\nleast = { value = 5, source = ' ' }",
        "line 6, frequency.least: the source is empty; say where the value comes from",
    );
    let capacity =
        |cpus: &str, value: u32| format!("[[capacity]]\ncpus = '{cpus}'\nvalue = {value}\nsource = 'x'");
    wrong(&capacity("3-4", 512), "line 6, capacity.cpus: there is no CPU 4 on this machine of 4");
    let twice = format!("{}\n{}", capacity("2-3", 512), capacity("1-2", 9));
    let says = "line 10, capacity.cpus: CPU 2 is in an earlier [[capacity]] table too; \
                give each CPU to one [[capacity]] table";
    wrong(&twice, says);
    wrong(&capacity("3", 0), "line 7, capacity.value: 0 is out of range; give 1 to 1024");
    wrong(&capacity("x", 9), "line 6, capacity.cpus: 'x' is not a CPU list such as 0-3,8 (below 4096)");
}

#[test]
fn energy_models_are_read_or_refused() {
    let table =
        |cpus: &str, states: &str| format!("[[energy]]\ncpus = '{cpus}'\nstates = {states}\nsource = 'x'\n");
    let all = "[[200, 50], [1024, 300]]";
    let text = format!("name = 'm'\n{FOUR}{}{}", table("0-1", all), table("2-3", all));
    let energy = Machine::parse(&text).unwrap().energy;
    assert_eq!((energy.len(), energy[1].cpus.to_string(), energy[1].states.len()), (2, "2-3".into(), 2));
    let wrong = |rest: &str, expected: &str| check(&format!("{FOUR}{rest}"), expected);
    wrong(&table("3-4", all), "line 6, energy.cpus: there is no CPU 4 on this machine of 4");
    wrong(
        &table("0-2", all),
        "line 6, energy.cpus: CPU 3 has no [[energy]] table; give each CPU one, or none",
    );
    let twice = table("0-3", all) + &table("1", all);
    wrong(&twice, "line 10, energy.cpus: CPU 1 has an [[energy]] table already");
    wrong(
        &table("0-3", "[[200, 50], [150, 300]]"),
        "line 7, energy.states: 150 is out of range; give 201 to 1024",
    );
    wrong(&table("0-3", "[[200, 0]]"), "line 7, energy.states: 0 is out of range; give 1 to 1000000");
    wrong(&table("0-3", "[[200, 9]]"), "line 7, energy.states: 200 is out of range; give 1024 to 1024");
    wrong(&table("0-3", "[]"), "line 7, energy.states: 0 is out of range; give 1024 to 1024");
}

#[test]
fn a_machine_has_a_timeline_of_its_own() {
    let text = format!("name = 'm'\n{FOUR}[[timeline]]\nat = 5\nevery = 7\ntimes = 2\noffline = '1-2'\n");
    let timeline = Machine::parse(&text).unwrap().timeline;
    assert_eq!(timeline.len(), 1);
    let us = |us| keel_abi::Span::from_us(us);
    assert_eq!((timeline[0].at, timeline[0].every, timeline[0].times), (us(5), Some(us(7)), Some(2)));
    let listed = Machine::parse(&text.replace("'1-2'", "[1, 2]")).unwrap().timeline;
    assert_eq!(listed, timeline, "a list of numbers is as good as text");
    let wrong = |entry: &str, expected: &str| {
        check(&format!("{FOUR}[[timeline]]\n{entry}"), &format!("line {expected}"));
    };
    wrong("at = 5", "5, timeline: an entry has either \"offline\" or \"online\", with CPUs");
    wrong("at = 5\noffline = '0-1'", "7, timeline: CPU 0 stays online, as on x86; leave it out");
    wrong("at = 5\noffline = [0, 1]", "7, timeline: CPU 0 stays online, as on x86; leave it out");
    wrong("at = 5\noffline = [1, 4]", "7, timeline: there is no CPU 4 on this machine of 4");
    wrong("at = 5\noffline = [-1]", "7, timeline: '-1' is not a CPU list such as 0-3,8 (below 4096)");
    wrong("at = 5\noffline = []", "7, timeline: the machine has no CPU; give at least one");
    wrong("at = 5\noffline = '4'", "7, timeline: there is no CPU 4 on this machine of 4");
    wrong("at = 5\ntimes = 3\nonline = '1'", "5, timeline: has \"times\" without \"every\"; give both");
    wrong("at = 5\nevery = 0\nonline = '1'", "7, timeline: 0 is out of range; give 1 to 2147483647");
}
