//! Writes the output of `--report`: an interactive page, or a picture if the name ends in `.svg`.

use crate::failure::Failure;
use crate::output::Output;
use crate::text::shown_path;
use keel_front::profile::view;
use keel_page::{Budget, Facts, Page, RunData};
use keel_profile::Profile;
use keel_report::picture::Caption;
use keel_report::{Picture, RunReport};
use keel_trace::Sink;
use std::ffi::OsStr;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The maximum number of runs that a page shows.
pub(crate) const MOST_RUNS: usize = 4;

/// The sink that collects a run for `--report`.
pub(crate) enum Drawing {
    Page(Box<Page>),
    Picture(Box<Picture>),
}

impl Drawing {
    /// Chooses by the name's suffix; `runs` runs share a page.
    pub(crate) fn of(path: &Path, runs: usize) -> Self {
        match is_picture(path) {
            true => Self::Picture(Box::default()),
            false => Self::Page(Box::new(Page::new(Budget::for_runs(runs)))),
        }
    }

    pub(crate) fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Page(page) => page.as_mut(),
            Self::Picture(picture) => picture.as_mut(),
        }
    }

    /// Writes it after the run. A page includes the profile, if there is one.
    pub(crate) fn write(
        self,
        run: &RunReport,
        profile: Option<&Profile>,
        to: &mut Output,
    ) -> Result<(), Failure> {
        match self {
            Self::Picture(mut picture) => to.write(picture.svg(&Caption::of(run)).as_bytes()),
            Self::Page(page) => {
                let view = profile.map(view);
                let facts = Facts { report: run, notes: &[], name: named(run), profile: view.as_ref() };
                let data = page.finish(&facts);
                write(&data.into_iter().collect::<Vec<_>>(), to)
            }
        }
    }
}

/// Returns whether a picture is requested, not a page.
pub(crate) fn is_picture(path: &Path) -> bool {
    ends_in(path, "svg")
}

/// Returns whether the name is suitable for a page. Any name of a device or pipe is.
pub(crate) fn is_page(path: &Path) -> bool {
    ends_in(path, "html") || std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Returns the failure for a name with the suffix of a format that the command does not write.
pub(crate) fn refused(option: &str, path: &Path, writes: &str, ends: &str) -> Failure {
    Failure::input(format!("{option} {}: {writes}", shown_path(path)))
        .help(format!("name a file that ends in {ends}"))
}

fn ends_in(path: &Path, end: &str) -> bool {
    path.extension() == Some(OsStr::new(end))
}

/// Returns the name of a run in its page.
pub(crate) fn named(run: &RunReport) -> String {
    format!("{}: {}", run.scheduler, run.workload)
}

/// Writes a page of these runs.
pub(crate) fn write(runs: &[RunData], to: &mut Output) -> Result<(), Failure> {
    let mut into = BufWriter::new(to.writer());
    let written = keel_page::html(runs, &mut into).and_then(|()| into.flush());
    drop(into);
    written.map_err(|e| to.failed(&e))
}
