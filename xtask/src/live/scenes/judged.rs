//! The result of `keel check` for one recording of a scene, and whether it is correct.

use super::Truth;
use serde_json::Value;

/// The start of a sentence about waste in a recording that lacks something.
const CAVEAT: &str = "This recording does not show";
/// The limit for false waste, as a share of the machine.
const MOST_FALSE: f64 = 0.005;
/// The least real waste: the scenes leave half of the machine without work.
const LEAST_TRUE: f64 = 0.2;

/// The parts that matter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    /// As a share of the time that CPUs were online. `None` if nothing could be judged.
    share: Option<f64>,
    /// Whether the first sentence states what the recording lacks.
    caveat: bool,
    /// The exit code of `--strict`.
    strict: Option<i32>,
    /// Whether wasted cores were found.
    found: bool,
    /// keel's first sentence.
    words: String,
}

/// When the scene began and ended, from the first instants of two tasks.
pub(super) fn marks(whole: &Value) -> Option<(u64, u64)> {
    let first = |name: &str| {
        let task = whole["tasks"].as_array()?.iter().find(|task| task["name"] == name)?;
        task["first_run_ns"].as_u64()
    };
    first("begins").zip(first("ends")).filter(|(begins, ends)| (1..*ends).contains(begins))
}

impl Judged {
    /// A recording that does not contain the scene, and keel's message about it.
    pub(super) fn nothing(words: &str) -> Self {
        let words = words.lines().next().unwrap_or("the scene is not in it").to_owned();
        Self { share: None, caveat: false, strict: None, found: false, words }
    }

    /// The output as JSON, as text or error, and the exit code of `--strict`.
    pub(super) fn new(json: &Value, words: &str, strict: Option<i32>) -> Self {
        let words = words.lines().next().unwrap_or_default().to_owned();
        Self {
            share: json["wasted_share"].as_f64(),
            caveat: words.starts_with(CAVEAT),
            strict,
            found: json["findings_total"]["wasted_core"].as_u64() > Some(0),
            words,
        }
    }

    /// A recorder that started too late did not record the scene.
    pub(super) fn late(self, words: &str) -> Self {
        match words {
            "" => self,
            late => Self { share: None, words: format!("{late} in vain"), ..self },
        }
    }

    /// What is wrong with it. The project's `own` recordings lack nothing.
    pub(super) fn fault(&self, truth: Truth, own: bool) -> Option<String> {
        let Some(share) = self.share else { return Some(format!("nothing was judged: {}", self.words)) };
        match truth {
            Truth::None if share < MOST_FALSE => None,
            Truth::None if own || !self.caveat => {
                Some(format!("{} falsely reported as wasted: {}", percent(share), self.words))
            }
            // Otherwise it failed because of something that may not be real.
            Truth::None => None,
            Truth::Wasted if share < LEAST_TRUE || !self.found => {
                Some(format!("only {} wasted: {}", percent(share), self.words))
            }
            Truth::Wasted if own && self.strict != Some(1) => Some("--strict does not count it".to_owned()),
            Truth::Wasted | Truth::Brief => None,
        }
    }

    /// What is wrong if every task may use every CPU: keel's `own` recording differs from the other recorder's, or a
    /// recording does not state what it lacks.
    pub(super) fn apart(&self, other: &Self, own: bool) -> Option<String> {
        let [Some(share), Some(of_other)] = [self.share, other.share] else {
            return Some(format!("nothing was judged: {}", self.words));
        };
        if own && (share - of_other).abs() >= MOST_FALSE {
            return Some(format!(
                "{} wasted, which are {}: {}",
                percent(share),
                percent(of_other),
                self.words
            ));
        }
        let silent = !own && !self.caveat && share >= MOST_FALSE;
        silent.then(|| format!("{} wasted, without what it lacks: {}", percent(share), self.words))
    }

    fn cell(&self) -> String {
        match self.share {
            None => "nothing".to_owned(),
            Some(share) if self.caveat => format!("{} if", percent(share)),
            Some(share) => percent(share),
        }
    }
}

/// The table's header.
pub(super) fn head(tools: [&str; 3]) -> String {
    row("scene", "truth", tools.map(str::to_owned)) + "\n"
}

/// A scene's row: its truth and the results for each recording. `if` means that the first sentence states what the
/// recording lacks.
pub(super) fn line(scene: &str, truth: Truth, reported: &[Judged]) -> String {
    let cells = std::array::from_fn(|nth| reported.get(nth).map_or_else(String::new, Judged::cell));
    let truth = match truth {
        Truth::None => "none",
        Truth::Wasted => "wasted",
        Truth::Brief => "brief",
    };
    row(scene, truth, cells) + "\n"
}

fn row(scene: &str, truth: &str, cells: [String; 3]) -> String {
    let [keel, perf, trace_cmd] = cells;
    format!("  {scene:20}{truth:8}{keel:>12}{perf:>12}{trace_cmd:>12}")
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judged(share: f64, words: &str, strict: i32) -> Judged {
        let json = json!({"wasted_share": share, "findings_total": {"wasted_core": u64::from(share > 0.0)}});
        Judged::new(&json, words, Some(strict))
    }

    #[test]
    fn false_waste_needs_a_caveat_and_true_waste_is_found() {
        let check = |judged: Judged, truth, own, expected: Option<&str>| {
            assert_eq!(judged.fault(truth, own).as_deref(), expected);
        };
        let caveat = "This recording does not show X. If";
        check(judged(0.004, "Core 1 idled", 1), Truth::None, true, None);
        check(
            judged(0.006, "Core 1 idled", 1),
            Truth::None,
            true,
            Some("0.60 % falsely reported as wasted: Core 1 idled"),
        );
        check(
            judged(0.006, caveat, 0),
            Truth::None,
            true,
            Some("0.60 % falsely reported as wasted: This recording does not show X. If"),
        );
        check(judged(0.7, caveat, 0), Truth::None, false, None);
        check(
            judged(0.7, "Core 1 idled", 0),
            Truth::None,
            false,
            Some("70.00 % falsely reported as wasted: Core 1 idled"),
        );
        check(judged(0.4, "Core 1 idled", 1), Truth::Wasted, true, None);
        check(judged(0.4, "Core 1 idled", 0), Truth::Wasted, true, Some("--strict does not count it"));
        check(judged(0.4, caveat, 0), Truth::Wasted, false, None);
        check(judged(0.1, "Core 1 idled", 1), Truth::Wasted, true, Some("only 10.00 % wasted: Core 1 idled"));
        let nothing = Judged::nothing("keel: x: no such file\n");
        check(nothing, Truth::None, false, Some("nothing was judged: keel: x: no such file"));
        check(
            judged(0.0, "", 0).late("perf_records"),
            Truth::None,
            false,
            Some("nothing was judged: perf_records in vain"),
        );
        check(judged(0.0, "", 0).late(""), Truth::None, false, None);
    }

    #[test]
    fn brief_waits_are_those_that_another_recorder_sees() {
        let check = |own: f64, other: f64, words: &str, expected: [Option<&str>; 2]| {
            let [own, other] = [judged(own, "Core 1 idled", 1), judged(other, words, 0)];
            let reported = [own.apart(&other, true), other.apart(&other, false)];
            assert_eq!(reported.each_ref().map(Option::as_deref), expected);
        };
        let caveat = "This recording does not show X. If";
        check(0.042, 0.040, caveat, [None, None]);
        check(0.042, 0.030, caveat, [Some("4.20 % wasted, which are 3.00 %: Core 1 idled"), None]);
        check(0.003, 0.003, "", [None, None]);
        check(0.042, 0.040, "Core", [None, Some("4.00 % wasted, without what it lacks: Core")]);
        let nothing = Judged::nothing("keel: x: no such file");
        assert!(nothing.apart(&judged(0.0, "", 0), true).is_some());
        assert!(judged(0.0, "", 0).apart(&nothing, true).is_some());
    }

    #[test]
    fn two_tasks_mark_the_scene() {
        let task = |name: &str, ns: u64| json!({"name": name, "first_run_ns": ns});
        let check = |tasks: Vec<Value>, expected| assert_eq!(marks(&json!({"tasks": tasks})), expected);
        check(vec![task("a", 1), task("ends", 9), task("begins", 5)], Some((5, 9)));
        check(vec![task("begins", 5)], None);
        check(vec![task("begins", 9), task("ends", 5)], None);
        assert_eq!(marks(&Value::Null), None);
    }

    #[test]
    fn a_scene_is_a_line() {
        let reported = [
            judged(0.0012, "", 0),
            judged(0.7, "This recording does not show X.", 0),
            Judged::new(&Value::Null, "", None),
        ];
        assert_eq!(
            head(["keel", "perf", "trace-cmd"]) + &line("pinned", Truth::None, &reported),
            "  scene               truth           keel        perf   trace-cmd\n\
             \x20 pinned              none          0.12 %  70.00 % if     nothing\n"
        );
    }
}
