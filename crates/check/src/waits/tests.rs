use super::*;
use crate::origin::Decision;
use crate::script::play;
use keel_abi::CpuId;

/// The stories of the longest waits of `wanted`.
fn stories(cpus: u32, wanted: &str, most: usize, lines: &str) -> (WaitSums, Vec<Story>) {
    let mut waits = Waits::new(Wanted(wanted.to_owned()), most);
    play(&mut waits, cpus, lines);
    let sums = waits.sums();
    let mut stories = WaitStories::of(&sums);
    play(&mut stories, cpus, lines);
    (sums, stories.stories())
}

const LINES: &str = "0    0 fork A 0
     0    0 switch - idle A
     0    1 fork B 1
     0    1 switch - idle B
     100  1 switch B blocked -
     200  0 wake B 0 A
     500  0 switch A blocked C
     900  1 migrate B 0 1
     1000 1 switch - idle B
     1100 1 switch B preempted A
     1150 1 switch A blocked B
     2000 end";

#[test]
fn a_wait_is_described_event_by_event() {
    let (sums, stories) = stories(3, "task-b", 1, LINES);
    assert_eq!((sums.tasks, sums.waits, sums.waited), (1, 3, Span::from_us(850)));
    assert_eq!(sums.ran, Span::from_us(100 + 100 + 850));
    let [story] = stories.as_slice() else { panic!("{stories:?}") };
    assert_eq!((story.key.length, story.began, story.on), (Span::from_us(800), Began::Woken, CpuId(0)));
    assert_eq!(story.waker, "task-a (pid 1000)");
    let words = |decision: Option<&Decision>| decision.map(Decision::words).unwrap_or_default();
    assert_eq!(
        words(story.decision.as_ref()),
        "woken by CPU 0 and put on CPU 0 at 200.00 µs; it last ran on CPU 1"
    );
    assert_eq!(words(story.moves.first()), "pulled from CPU 0 by CPU 1 at 900.00 µs");
    let ran: Vec<_> = story.ran.iter().map(|(name, span)| (name.as_str(), span.as_ns() / 1000)).collect();
    assert_eq!(ran, [("task-c (pid 1002)", 400), ("task-a (pid 1000)", 300)]);
    // CPU 1 idled until it came, CPU 2 all the time.
    assert_eq!(story.idled, [(CpuId(1), Span::from_us(800)), (CpuId(2), Span::from_us(800))]);
    let ended = Ended::Ran { cpu: CpuId(1), after: TaskId::IDLE, why: Why::WasIdle };
    assert_eq!((story.ended, story.after.as_str()), (ended, ""));
}

#[test]
fn a_preempted_wait_names_the_preemptor() {
    let (_, stories) = stories(3, "1001", 9, LINES);
    assert_eq!(
        stories.iter().map(|story| story.key.length.as_ns()).collect::<Vec<_>>(),
        [800_000, 50_000, 0]
    );
    assert_eq!(
        (stories[1].by.as_str(), stories[1].after.as_str()),
        ("task-a (pid 1000)", "task-a (pid 1000)")
    );
    assert_eq!(stories[1].ran, [("task-a (pid 1000)".to_owned(), Span::from_us(50))]);
}

#[test]
fn only_allowed_cpus_are_listed_and_a_wait_may_last_to_the_end() {
    let (_, stories) =
        stories(3, "task-b", 9, "0 may B 0,2\n0 0 fork A 0\n0 0 switch - idle A\n10 0 fork B 0\n30 end");
    assert_eq!(stories[0].idled, [(CpuId(2), Span::from_us(20))]);
    assert_eq!(stories[0].ended, Ended::Not);
}

#[test]
fn an_unknown_name_matches_no_task() {
    let (sums, stories) = stories(3, "task", 9, LINES);
    assert_eq!((sums, stories), (WaitSums::default(), vec![]));
}

#[test]
fn a_wait_ends_when_the_task_is_throttled_and_another_begins_later() {
    let lines = "0    0 fork A 0
         0    0 switch - idle A
         100  0 wake B 0 A
         300  0 throttled B on
         900  0 throttled B off
         1000 0 switch A preempted B
         1100 0 throttled B on
         1200 0 switch B preempted A
         1300 0 throttled B off
         1350 0 throttled C on
         1400 0 wake C 0
         1500 end";
    let (sums, stories) = stories(2, "task-b", 9, lines);
    assert_eq!((sums.waits, sums.waited, sums.ran), (3, Span::from_us(500), Span::from_us(200)));
    let waits: Vec<_> =
        stories.iter().map(|story| (story.key.start.as_ns() / 1000, story.began, story.ended)).collect();
    let ran = Ended::Ran { cpu: CpuId(0), after: TaskId(0), why: Why::Preempted };
    assert_eq!(
        waits,
        [
            (100, Began::Woken, Ended::Throttled),
            (1300, Began::Unthrottled, Ended::Not),
            (900, Began::Unthrottled, ran),
        ]
    );
    let (sums, _) = self::stories(2, "task-c", 9, lines);
    assert_eq!((sums.waits, sums.waited), (0, Span::ZERO));
}

#[test]
fn a_cpu_that_idles_on_purpose_does_not_idle_meanwhile() {
    let lines =
        "0 0 fork A 0\n0 0 switch - idle A\n10 0 fork B 0\n15 0 reserved 1 on\n25 0 reserved 1 off\n30 end";
    let (_, stories) = stories(2, "task-b", 9, lines);
    assert_eq!(stories[0].idled, [(CpuId(1), Span::from_us(10))]);
}
