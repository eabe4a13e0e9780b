//! Replays damaged recordings: `damaged CASES [RECORDING...]`. It uses the recordings of the repository and the given
//! ones, and prints the results. Run it from the repository's root.
#![forbid(unsafe_code)]

use keel_hostile::Came;
use keel_hostile::damage::Originals;

/// Recordings of real kernels, made by other tools.
const FOLDER: &str = "crates/readers/recordings";

fn main() -> std::io::Result<()> {
    let cases: u64 = std::env::args()
        .nth(1)
        .and_then(|arg| arg.parse().ok())
        .expect("usage: damaged CASES [RECORDING...]");
    let mut paths: Vec<_> =
        std::fs::read_dir(FOLDER)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    paths.extend(std::env::args_os().skip(2).map(Into::into));
    let files = paths.iter().filter(|path| path.is_file()).map(std::fs::read);
    let originals = Originals::new(files.collect::<Result<Vec<_>, _>>()?);
    let replay = |number| {
        let came = std::panic::catch_unwind(|| originals.replay(number));
        came.unwrap_or_else(|_| panic!("case {number} panics; its message is above"))
    };
    let came: Vec<Came> = (0..cases).map(replay).collect();
    let count = |which| came.iter().filter(|came| **came == which).count();
    println!(
        "{cases} damaged recordings: {} replayed, {} made and too large to replay here, {} refused, {} unreadable; none \
         panicked",
        count(Came::Replayed),
        count(Came::Made),
        count(Came::Refused),
        count(Came::Unread)
    );
    Ok(())
}
