use super::synthetic::{lost_node, play};
use super::*;
use keel_abi::Topology;

fn drawn(topology: &Topology, seconds: u64, wanted: impl Fn(CpuId, f64, u64) -> u32, title: &str) -> String {
    let mut picture = Picture::new();
    play(&mut picture, topology, seconds * 1_000_000_000, wanted);
    picture.svg(&Caption { title: title.to_owned(), subtitle: "made-up".to_owned() })
}

#[test]
fn noise_on_a_large_machine_stays_below_two_megabytes() {
    let topology = Topology::regular(8, 1, 32, 1);
    let svg = drawn(&topology, 8, |_, _, random| random as u32 % 10, "noise");
    assert!((500_000..2_000_000).contains(&svg.len()), "{} bytes", svg.len());
}

#[test]
fn a_long_run_takes_no_more_room_than_a_short_one() {
    let topology = Topology::regular(2, 1, 4, 1);
    for seconds in [1, 100] {
        let svg = drawn(&topology, seconds, |_, _, random| random as u32 % 3, "noise");
        assert!(svg.len() < 150_000, "{seconds} s take {} bytes", svg.len());
    }
}

#[test]
fn a_lost_node_is_hatched_and_its_neighbour_red() {
    let topology = Topology::regular(4, 1, 4, 1);
    let svg = drawn(&topology, 4, lost_node(&topology), "t");
    assert!(svg.contains("url(#dense)\" d=\"m"));
    assert!(svg.contains("stroke=\"#e8281e\" d=\"m"));
    let even = drawn(&topology, 4, |_, _, _| 1, "t");
    assert!(!even.contains("url(#dense)\" d=\""), "nothing is wasted where every CPU has its task");
}

#[test]
fn a_stranger_s_text_stays_text() {
    let topology = Topology::flat(2);
    let svg = drawn(&topology, 1, |_, _, _| 1, "</title><script>alert('\u{1b}&')</script>");
    assert!(!svg.contains("<script"));
    assert!(svg.contains("&lt;/title&gt;&lt;script&gt;alert(&#39;\u{fffd}&amp;&#39;)&lt;/script&gt;"));
}

#[test]
fn nothing_heard_is_drawn_as_nothing() {
    let caption = Caption { title: String::new(), subtitle: String::new() };
    assert!(Picture::new().svg(&caption).contains("width=\"1\""));
}
