//! The viewer of report pages: does the stored build match its source, and does it work in a real browser?
//!
//! keel contains the built viewer (`viewer/dist`), so that cargo alone builds keel. `./x viewer` rebuilds and tests it.

use crate::checks::fits;
use crate::tree::root;
use crate::{Failure, cargo};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The files that Vite makes and keel includes.
const FILES: [&str; 3] = ["viewer.js", "viewer.css", "viewer.sha256"];

/// Vite needs Node.js 20.19, 22.12 or newer.
const NODE: &str = "Node.js 20.19 or newer and npm";

/// `./x viewer`: builds the files that keel includes, and tests them.
pub(crate) fn run() -> Result<(), Failure> {
    if let Some(missing) = missing().or_else(no_browser) {
        return Err(missing);
    }
    packages()?;
    npx(&["tsc", "--noEmit"], &[])?;
    npx(&["vite", "build"], &[])?;
    test()
}

/// Why nothing can be tested here, or `None` if it can.
pub(crate) fn missing() -> Option<String> {
    let version = Command::new("node").arg("--version").output().ok()?.stdout;
    let version = String::from_utf8_lossy(&version).trim().trim_start_matches('v').to_owned();
    let mut numbers = version.split('.').map_while(|n| n.parse::<u32>().ok());
    let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let npm = Command::new("npm").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let enough = is_enough(major, minor) && npm.is_ok_and(|status| status.success());
    (!enough).then(|| format!("{NODE} are not installed"))
}

fn is_enough(major: u32, minor: u32) -> bool {
    matches!((major, minor), (20, 19..) | (22, 12..) | (23.., _))
}

/// Why no page can be opened.
pub(crate) fn no_browser() -> Option<String> {
    (!browser().exists()).then(|| "Chromium is not installed; set CHROMIUM if it is elsewhere".to_owned())
}

fn browser() -> PathBuf {
    std::env::var_os("CHROMIUM").map_or_else(|| "/usr/bin/chromium".into(), PathBuf::from)
}

/// The packages of the lock file, if the registry is reachable.
pub(crate) fn packages() -> Result<(), Failure> {
    // The browser is the system's.
    let mut npm = Command::new("npm");
    npm.args(["ci", "--silent", "--ignore-scripts"]).env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    done(npm, "npm ci")
}

/// Rebuilding gives the same bytes, and everything in pages has a suitable licence.
pub(crate) fn check_built() -> Result<(), Failure> {
    licences()?;
    npx(&["tsc", "--noEmit"], &[])?;
    let folder = tempfile::tempdir().map_err(|e| format!("cannot make a temporary folder: {e}"))?;
    let to = folder.path().to_str().ok_or("the folder's name is not UTF-8")?;
    npx(&["vite", "build", "--logLevel", "error", "--outDir", to, "--emptyOutDir"], &[])?;
    let differs = |name: &&&str| {
        let [kept, built] = [root().join("viewer/dist"), folder.path().to_owned()]
            .map(|folder| std::fs::read(folder.join(name)).ok());
        built.is_none() || kept != built
    };
    match FILES.iter().find(differs) {
        Some(name) => Err(format!("viewer/dist/{name} does not match viewer/src: run ./x viewer")),
        None => Ok(()),
    }
}

/// The page in a real browser.
pub(crate) fn test() -> Result<(), Failure> {
    let example = cargo::example("pages")?;
    let out = root().join("viewer/out");
    let pages = out.join("pages");
    let mut make = Command::new(example);
    make.arg(&pages);
    done(make, "making pages")?;
    npx(&["playwright", "test"], &[("PAGES", &pages), ("PAGES_OUT", &out), ("CHROMIUM", &browser())])
}

/// The small pictures of the pages in `folder`, as listed in its pictures.json.
pub(crate) fn pictures(folder: &Path) -> Result<(), Failure> {
    packages()?;
    let out = root().join("viewer/out");
    npx(
        &["playwright", "test", "pictures"],
        &[("PICTURES", folder), ("PAGES_OUT", &out), ("CHROMIUM", &browser())],
    )
}

/// The measurements of the test of a large page, which prints them as a line of JSON.
pub(crate) fn large(page: &Path) -> Result<Value, Failure> {
    packages()?;
    let mut npx = Command::new("npx");
    npx.args(["--no-install", "playwright", "test", "large"]).current_dir(root().join("viewer"));
    let environment = [("LARGE", page), ("PAGES_OUT", &root().join("viewer/out")), ("CHROMIUM", &browser())];
    let output = npx.envs(environment).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("cannot run playwright: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().find_map(|line| serde_json::from_str(line.get(line.find('{')?..)?).ok()) {
        Some(reported) if output.status.success() => Ok(reported),
        _ => Err(format!("the large page's test failed: {text}")),
    }
}

/// Packages whose code gets into pages. Those that only build them are not part of keel.
fn licences() -> Result<(), Failure> {
    let lock =
        std::fs::read(root().join("viewer/package-lock.json")).map_err(|e| format!("no lock file: {e}"))?;
    let lock: Value = serde_json::from_slice(&lock).map_err(|e| format!("the lock file is not JSON: {e}"))?;
    let packages = lock["packages"].as_object().ok_or("the lock file names no packages")?;
    let shipped = packages.iter().filter(|(name, of)| !name.is_empty() && of["dev"] != true);
    let refused = shipped.filter(|(_, of)| !of["license"].as_str().is_some_and(fits));
    match refused.map(|(name, of)| format!("{name} is {}", of["license"])).next() {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

fn npx(args: &[&str], environment: &[(&str, &Path)]) -> Result<(), Failure> {
    let mut npx = Command::new("npx");
    npx.arg("--no-install").args(args).envs(environment.iter().copied());
    done(npx, args[0])
}

fn done(mut command: Command, what: &str) -> Result<(), Failure> {
    let folder = root().join("viewer");
    let status = command.current_dir(folder).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("{what} failed; see its message above")),
        Err(e) => Err(format!("cannot run {what}: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::is_enough;

    #[test]
    fn old_versions_are_not_enough() {
        let check = |major, minor, expected| assert_eq!(is_enough(major, minor), expected, "{major}.{minor}");
        check(18, 20, false);
        check(20, 18, false);
        check(20, 19, true);
        check(21, 7, false);
        check(22, 12, true);
        check(24, 0, true);
    }
}
