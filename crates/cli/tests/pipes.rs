//! Recordings from pipes, from standard input, and compressed. Also pipes without a writer.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn keel(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keel"));
    command.args(args).current_dir(folder).env_remove("RUST_LOG").stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.into()).expect("keel prints UTF-8")
}

fn good(output: &Output) -> Vec<u8> {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    output.stdout.clone()
}

/// A folder with a recording of 200 ms.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "sim",
        "fifo",
        "--machine",
        "2",
        "--workload",
        "mix:5:90",
        "--duration",
        "200ms",
        "--trace",
        "t.keel",
    ];
    good(&keel(folder.path(), &args).output().unwrap());
    folder
}

fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    path
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0; zstd_safe::compress_bound(bytes.len())];
    let length = zstd_safe::compress(&mut packed[..], bytes, 3).unwrap();
    packed.truncate(length);
    packed
}

#[test]
fn files_and_pipes_are_judged_alike() {
    let folder = folder();
    let trace = std::fs::read(folder.path().join("t.keel")).unwrap();
    let expected = good(&keel(folder.path(), &["check", "t.keel", "--json"]).output().unwrap());
    let pipe = pipe(folder.path());
    for (name, bytes) in [("plain", trace.clone()), ("t.gz", gzip(&trace)), ("t.zst", zstd(&trace))] {
        let path = folder.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        let named = good(&keel(folder.path(), &["check", name, "--json"]).output().unwrap());
        assert!(named == expected, "{name}, by its name");
        let stdin = || File::open(&path).unwrap();
        let file = good(&keel(folder.path(), &["check", "-", "--json"]).stdin(stdin()).output().unwrap());
        assert!(file == expected, "{name}, as standard input");
        let mut cat = Command::new("cat").stdin(stdin()).stdout(Stdio::piped()).spawn().unwrap();
        let piped = cat.stdout.take().unwrap();
        let piped = good(&keel(folder.path(), &["check", "-", "--json"]).stdin(piped).output().unwrap());
        assert!(piped == expected, "{name}, through a pipe");
        cat.wait().unwrap();
        for (args, made) in
            [(&["check", "pipe", "--json"][..], None), (&["report", "pipe", "-o", "r.html"], Some("r.html"))]
        {
            let writer = std::thread::spawn({
                let (pipe, bytes) = (pipe.clone(), bytes.clone());
                move || std::fs::write(pipe, bytes)
            });
            let output = good(&keel(folder.path(), args).output().unwrap());
            writer.join().unwrap().unwrap();
            match made {
                None => assert!(output == expected, "{name}, through a named pipe"),
                Some(page) => {
                    assert!(std::fs::metadata(folder.path().join(page)).unwrap().len() > 1_000, "{name}")
                }
            }
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 6, "no copies are left");
}

#[test]
fn waiting_for_a_writer_times_out() {
    let folder = tempfile::tempdir().unwrap();
    pipe(folder.path());
    let begun = Instant::now();
    let commands: [&[&str]; 4] = [
        &["check", "pipe"],
        &["report", "pipe", "-o", "r.html"],
        &["sim", "fifo", "--workload", "./pipe"],
        &["sim", "fifo", "--machine", "./pipe"],
    ];
    let run = |args: &&[&str]| {
        keel(folder.path(), args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = commands.iter().map(run).collect();
    for (child, args) in children.into_iter().zip(commands) {
        let output = child.wait_with_output().unwrap();
        let reported = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {reported}");
        assert!(reported.contains("nothing has been written to this pipe for 10 s"), "{args:?}: {reported}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn files_that_are_not_recordings_are_refused() {
    let folder = folder();
    let trace = std::fs::read(folder.path().join("t.keel")).unwrap();
    let check = |bytes: &[u8], expected: &str| {
        std::fs::write(folder.path().join("bad"), bytes).unwrap();
        for args in [&["check", "-"][..], &["check", "bad"], &["report", "-", "-o", "r.html"]] {
            let stdin = File::open(folder.path().join("bad")).unwrap();
            let output = keel(folder.path(), args).stdin(stdin).output().unwrap();
            let reported = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {reported}");
            assert!(reported.contains(expected), "{args:?}: {reported}");
            assert!(!folder.path().join("r.html").exists());
        }
    };
    check(b"", "the file is empty");
    check(b"hello", "unknown format");
    check(&gzip(b"hello"), "unknown format");
    check(&gzip(&trace)[..100], "it cannot be decompressed: it is cut off");
    check(&zstd(&trace)[..100], "it cannot be decompressed: it is cut off");
    check(&gzip(&vec![0; 64 << 20]).repeat(9), "so it is not a recording");
    check(&gzip(&gzip(&trace)), "unknown format");
    let twice = keel(folder.path(), &["report", "-", "-", "-o", "r.html"]).output().unwrap();
    assert!(text(&twice.stderr).contains("can be read only once"));
}
