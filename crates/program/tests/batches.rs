//! Many elements of maps in one call, and objects by their numbers, as on a kernel.

mod common;

#[test]
fn elements_are_read_and_written_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("batches", folder.path());
    let (code, output, refused) = common::run(&program, &[]);
    assert_eq!((code, refused), (0, Vec::<String>::new()), "{output}");
    let expected = [
        // A hash map.
        "update: 7, done",
        "first: 3, done",
        "next: 3, done",
        "next: 1, No such file or directory",
        "sum 532",
        "delete: 2, done",
        "missing: 0, No such file or directory",
        "take: 5, No such file or directory",
        "sum 530",
        "empty: 0, No such file or directory",
        "nothing: 0, done",
        // Changed during a walk.
        "update: 1, done",
        "update: 1, done",
        "update: 1, done",
        "first: 1, done",
        "key 5",
        "update: 1, done",
        "next: 1, done",
        "key 6",
        "delete: 1, done",
        "next: 1, No such file or directory",
        "key 7",
        // An array.
        "update: 10, done",
        "first: 4, done",
        "next: 4, done",
        "next: 2, No such file or directory",
        "sum 2310",
        "delete: 1, not supported",
        "frozen: 1, Operation not permitted",
        "no map: 1, Bad file descriptor",
        // By numbers.
        "next done, 1",
        "other: 10, done",
        "first: 10, done",
        "next: 0, No such file or directory",
        "sum 2310",
        "last No such file or directory",
        "program No such file or directory",
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}
