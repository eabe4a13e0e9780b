//! Checks the licence of every dependency against the list of licences that fit the project's.

use super::{all_or, metadata};
use crate::Failure;
use spdx::{Expression, LicenseReq, ParseMode};

/// Licences whose code may be linked into an MIT OR Apache-2.0 program without further conditions.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Exceptions only remove conditions.
const ALLOWED_EXCEPTIONS: &[&str] = &["LLVM-exception"];

pub(super) fn run() -> Result<(), Failure> {
    let metadata = metadata()?;
    let fault = |package: &cargo_metadata::Package| {
        let why = match package.license.as_deref() {
            None => "names no licence".to_owned(),
            Some(licence) => refused(licence)?,
        };
        Some(format!("{} {} {why}", package.name, package.version))
    };
    all_or(metadata.packages.iter().filter_map(fault).collect())
}

/// Whether a licence expression fits.
pub(crate) fn fits(licence: &str) -> bool {
    refused(licence).is_none()
}

/// Why a licence expression does not fit, or `None` if it does.
fn refused(licence: &str) -> Option<String> {
    // Older crates write `MIT/Apache-2.0`.
    match Expression::parse_mode(licence, ParseMode::LAX) {
        Err(e) => Some(format!("has '{licence}', which cannot be read: {}", e.reason)),
        Ok(expression) if expression.evaluate(allowed) => None,
        Ok(_) => Some(format!("is '{licence}'; allowed are {}", ALLOWED.join(", "))),
    }
}

fn allowed(req: &LicenseReq) -> bool {
    let id = req.license.id().is_some_and(|id| ALLOWED.contains(&id.name));
    let addition = match &req.addition {
        None => true,
        Some(addition) => ALLOWED_EXCEPTIONS.contains(&addition.to_string().as_str()),
    };
    id && addition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_judged_as_a_whole() {
        let check = |licence, fits| assert_eq!(refused(licence).is_none(), fits, "{licence}");
        check("MIT OR Apache-2.0", true);
        check("MIT/Apache-2.0", true);
        check("(MIT OR Apache-2.0) AND Unicode-3.0", true);
        check("Apache-2.0 WITH LLVM-exception", true);
        check("GPL-2.0-only OR MIT", true);
        check("GPL-2.0-only", false);
        check("GPL-2.0", false);
        check("MIT AND GPL-3.0-or-later", false);
        check("MPL-2.0", false);
        check("Do what you like", false);
    }
}
