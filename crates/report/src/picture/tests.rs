use super::*;
use crate::made_up::{MadeUp, shared};
use keel_abi::{CpuSet, Pid, Topology};
use keel_trace::Policy;
use keel_trace::policy::{Group, Kind, Outcome};

fn drawn(topology: &Topology, seconds: u64, wanted: impl Fn(CpuId, f64, u64) -> u32, title: &str) -> String {
    let mut picture = Picture::new();
    MadeUp::new(topology.clone(), seconds * 1_000_000_000).play(&mut picture, wanted, |_| None);
    picture.svg(&Caption { title: title.to_owned(), subtitle: "made-up".to_owned() })
}

#[test]
fn noise_on_a_large_machine_stays_below_two_megabytes() {
    let topology = Topology::regular(8, 1, 32, 1);
    let svg = drawn(&topology, 8, |_, _, random| random as u32 % 10, "noise");
    assert!((500_000..2_000_000).contains(&svg.len()), "{} bytes", svg.len());
}

#[test]
fn a_long_run_takes_no_more_memory_than_a_short_one() {
    let topology = Topology::regular(2, 1, 4, 1);
    for seconds in [1, 100] {
        let svg = drawn(&topology, seconds, |_, _, random| random as u32 % 3, "noise");
        assert!(svg.len() < 150_000, "{seconds} s take {} bytes", svg.len());
    }
}

#[test]
fn a_lost_node_is_hatched_and_its_neighbour_red() {
    let topology = Topology::regular(4, 1, 4, 1);
    let svg = drawn(&topology, 4, shared(&topology, true), "t");
    assert!(svg.contains("url(#dense)\" d=\"m"));
    assert!(svg.contains("stroke=\"#e8281e\" d=\"m"));
    let even = drawn(&topology, 4, |_, _, _| 1, "t");
    assert!(!even.contains("url(#dense)\" d=\""), "nothing is wasted where every CPU has its task");
}

#[test]
fn tall_rows_have_the_numbers_of_their_cpus() {
    let of = |topology: &Topology| drawn(topology, 1, |_, _, _| 1, "t").matches(">3</text>").count();
    assert_eq!(of(&Topology::regular(2, 1, 4, 1)), 5, "once in each strip");
    assert_eq!(of(&Topology::regular(1, 1, 64, 1)), 0, "there is no room");
}

#[test]
fn cells_hold_all_of_the_time() {
    let topology = Topology::regular(2, 1, 2, 1);
    let mut picture = Picture::new();
    MadeUp::new(topology.clone(), 2_000_000_000).play(&mut picture, |_, _, _| 1, |_| None);
    let cells = picture.cells();
    for cpu in 0..4 {
        let of_cpu: Vec<_> = cells.iter().filter(|cell| cell.cpu == cpu).collect();
        assert_eq!(of_cpu.iter().map(|cell| cell.for_ns).sum::<u64>(), 2_000_000_000);
        assert!(of_cpu.windows(2).all(|pair| pair[0].at_ns + pair[0].for_ns == pair[1].at_ns));
        // Each CPU's task wakes 900 ns after the previous CPU's task, and then never sleeps.
        let missing: Vec<u64> = of_cpu.iter().map(|cell| cell.for_ns - cell.runnable_ns).collect();
        assert_eq!(missing[0], 900 * u64::from(cpu));
        assert!(missing[1..].iter().all(|&ns| ns == 0), "one task all the time: {missing:?}");
    }
    assert!(Picture::new().cells().is_empty());
}

#[test]
fn untrusted_text_is_escaped() {
    let topology = Topology::flat(2);
    let svg = drawn(&topology, 1, |_, _, _| 1, "</title><script>alert('\u{1b}&')</script>");
    assert!(!svg.contains("<script"));
    assert!(svg.contains("&lt;/title&gt;&lt;script&gt;alert(&#39;\u{fffd}&amp;&#39;)&lt;/script&gt;"));
}

#[test]
fn an_empty_stream_draws_nothing() {
    let caption = Caption { title: String::new(), subtitle: String::new() };
    assert!(Picture::new().svg(&caption).contains("width=\"1\""));
}

/// Returns a picture of one second in which CPU 0 balances `decisions` times and looks at every other CPU.
fn decided(topology: &Topology, decisions: u64) -> String {
    let mut picture = Picture::new();
    let end = Instant::from_ns(1_000_000_000);
    let [scheduler, workload, unit] = ["s", "w", "u"].map(str::to_owned);
    picture.meta(Instant::ZERO, &Meta::Start { topology: topology.clone(), scheduler, workload, unit });
    let group = Group { load: u64::MAX, first_cpu: CpuId(0), cpus: 2, runnable: 3, class: None };
    let policy = Policy {
        kind: Kind::Balance,
        level: 1,
        cpu: CpuId(0),
        pid: Pid(0),
        chosen: Some(CpuId(topology.cpus() - 1)),
        moved: 0,
        outcome: Some(Outcome::Pinned),
        considered: topology.iter().filter(|cpu| cpu.0 % 2 == 0).collect::<CpuSet>(),
        nr_groups: 16,
        groups: vec![group; 16],
    };
    for n in 0..decisions {
        let at = Instant::from_ns(n * 500_000_000 / decisions);
        picture.meta(at, &Meta::Policy(Box::new(policy.clone())));
    }
    picture.meta(end, &Meta::End);
    picture.svg(&Caption { title: "t".to_owned(), subtitle: "s".to_owned() })
}

#[test]
fn considered_cpus_are_drawn() {
    let svg = decided(&Topology::flat(4), 1);
    assert!(svg.contains("M0.0 1v12M0.0 25v12\""), "two of four rows of 12 pixels: {svg}");
    assert!(svg.contains(
        "<title>0.000000 s: CPU 0 balanced level 1 (2 CPUs, 16 groups: own 18446744073709551615 over 2 CPUs"
    ));
    assert!(svg.contains("own group of 2 CPUs, the first CPU 0: load 18446744073709551615, 3 runnable"));
    assert!(svg.contains("(1 decision)"));
    let none = decided(&Topology::flat(4), 0);
    assert!(!none.contains("decision") && !none.contains("circle"));
    assert!(none.len() < svg.len());
}

#[test]
fn many_decisions_stay_below_two_megabytes() {
    let svg = decided(&Topology::regular(8, 1, 128, 1), 20_000);
    assert!((250_000..400_000).contains(&svg.len()), "{} bytes", svg.len());
    assert!(svg.contains("most interesting of 20,000 decisions"));
}
