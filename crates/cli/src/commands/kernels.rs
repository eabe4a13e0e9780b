//! `keel list kernels`: lists the kernels that `keel vm` can boot, and their uses.

use super::vm;
use crate::failure::Failure;
use crate::lab::Names;
use keel_guest::{DEFAULT, Flavour, GuestError, Listed};
use std::io::Write;

/// Returns the kernels with a description of each, better ones first.
pub(crate) fn names() -> Result<Names, Failure> {
    let (kernels, trouble) = vm::store()?.list(Flavour::Full);
    match trouble {
        None => {}
        Some(error) if kernels.is_empty() => return Err(vm::failure(error)),
        Some(error) => note(&error),
    }
    Ok(described(&kernels))
}

/// Reports a problem with the downloaded lists. Kernels in the cache can be booted without them.
fn note(trouble: &GuestError) {
    let reported = crate::text::shown(&trouble.to_string());
    // If stderr is closed there is nobody left to report to.
    let _ = writeln!(std::io::stderr(), "keel: {reported}; there may be more kernels than these");
}

fn described(kernels: &[Listed]) -> Names {
    let mut names = Names::new();
    for kernel in kernels {
        let number = kernel.release.number();
        // The number stands for the first kernel that has it.
        if names.iter().all(|(name, _)| name != number) {
            let state = if kernel.cached { "cached" } else { "not downloaded" };
            names.push((number.to_owned(), format!("{state:13}  {}", good_for(kernel))));
        }
    }
    names
}

fn good_for(kernel: &Listed) -> &'static str {
    let is_default = kernel.release.is_meant_by(DEFAULT);
    match (kernel.release.has_clean_btf(), is_default) {
        _ if !kernel.release.has_sched_ext() => "no sched_ext: schedulers cannot be loaded",
        (true, true) => "the default: its rules are the ones simulated",
        (true, false) => "schedulers must load and survive on it",
        (false, _) => "broken BTF: most schedulers fail to load",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_guest::Release;

    #[test]
    fn each_number_is_shown_once_with_its_use() {
        let kernels = [
            ("7.2.13+deb14-amd64", true),
            ("7.0.13+deb13-amd64", false),
            ("7.2.13+deb13-amd64", false),
            ("7.2.12+deb13-amd64", false),
            ("6.1.0-56-amd64", false),
        ];
        let kernels = kernels
            .map(|(name, cached)| Listed { release: Release::parse(name).expect("a release"), cached });
        let lines: Vec<String> =
            described(&kernels).into_iter().map(|(name, about)| format!("{name} {about}")).collect();
        assert_eq!(
            lines,
            [
                "7.2.13 cached         the default: its rules are the ones simulated",
                "7.0.13 not downloaded  schedulers must load and survive on it",
                "7.2.12 not downloaded  broken BTF: most schedulers fail to load",
                "6.1.0 not downloaded  no sched_ext: schedulers cannot be loaded",
            ]
        );
    }
}
