use super::*;
use keel_check::Measured;
use keel_experiment::{ArmFigures, RunFigures, judge, read};

/// Markup, quotes, the end of a comment and a terminal escape.
const HOSTILE: &str = "</style><script>alert(1)</script>\"' onload=x --> &amp; \u{1b}[2J";

fn experiment(texts: &str) -> Experiment {
    let text = texts.replace('\\', "\\\\").replace('"', "\\\"").replace('\u{1b}', "\\u001b");
    let file = format!(
        "id = 'test'\ntitle = \"{text}\"\nsource = \"{text}\"\nmodelled = \"{text}\"\nmachine = \"{text}\"\n\
         workload = \"{text}\"\nduration_ms = 1000\n\
         [[arm]]\nlabel = 'old'\nscheduler = \"{text}\"\n\
         [[arm]]\nlabel = 'new'\nscheduler = 's'\nsettings = {{ \"{text}\" = \"{text}\" }}\n\
         [[arm]]\nlabel = 'off'\nscheduler = 's'\n\
         [[claim]]\nsays = \"{text}\"\nmeasure = 'switches_per_s'\nof = 'new'\nto = 'old'\n\
         published = {{ ratio = 4 }}\nband = 'effect'\noff = {{ arm = 'off', instead_of = 'new', gone = \"{text}\" }}\n\
         [[claim]]\nsays = 'its own value'\nmeasure = 'switches_per_s'\nof = 'new'\npublished = {{ of = [300] }}\nband = {{ factor = 2 }}\n\
         [[table]]\nsays = \"{text}\"\nof = 'new'\ntasks = [\"{text}\"]\n[table.counts]\nmigrated = [3]\n"
    );
    read("test.toml", &file).unwrap()
}

fn page(texts: &str, pictures: Vec<Option<ArmPicture>>) -> String {
    let experiment = experiment(texts);
    let arm = |values: &[u64]| {
        let run = |&switches: &u64| RunFigures {
            seed: 1,
            costs: Default::default(),
            result: Ok(Measured { duration: keel_abi::Span::from_s(1), switches, ..Measured::default() }),
        };
        ArmFigures { runs: values.iter().map(run).collect() }
    };
    let arms = [arm(&[95, 105]), arm(&[380, 400]), arm(&[110, 112])];
    let report = ExperimentReport::new(&experiment, &arms, &judge(&experiment, &arms));
    of_experiments(&[experiment], &[report], &[pictures])
}

#[test]
fn the_page_shows_the_whole_experiment() {
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><text>100 % of #1</text></svg>".to_owned();
    let page = page("a text", vec![Some(ArmPicture { label: "old".into(), svg }), None]);
    let body = &page[page.find("<body>").unwrap()..];
    insta::assert_snapshot!(body);
}

#[test]
fn nothing_of_a_text_is_markup() {
    let picture = ArmPicture { label: HOSTILE.into(), svg: HOSTILE.into() };
    let hostile = page(HOSTILE, vec![Some(picture)]);
    let plain = page("a text", vec![Some(ArmPicture { label: "x".into(), svg: "x".into() })]);
    let tags = |page: &str| page.matches('<').count();
    assert_eq!(tags(&hostile), tags(&plain));
    assert!(!hostile.contains("<script"));
    assert!(!hostile.chars().any(|c| c.is_control() && c != '\n'));
    let quotes = |page: &str| page.matches('"').count();
    assert_eq!(quotes(&hostile), quotes(&plain));
}

#[test]
fn the_page_asks_for_nothing_from_outside() {
    let page = page("a text", vec![Some(ArmPicture { label: "x".into(), svg: "<svg/>".into() })]);
    for word in ["http:", "https:", "<script", "@import", "url(", "<link"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_picture_that_is_too_large_is_named() {
    let picture = ArmPicture { label: "big".into(), svg: "x".repeat(MOST_PICTURE + 1) };
    let page = page("a text", vec![Some(picture)]);
    assert!(page.contains("<p>big: the picture is too large for this page.</p>"));
    assert!(page.len() < MOST_PICTURE);
}

#[test]
fn the_matrix_is_a_page_too() {
    let page = of_matrix(&crate::matrix::tests::matrix());
    insta::assert_snapshot!(&page[page.find("<body>").unwrap()..]);
}
