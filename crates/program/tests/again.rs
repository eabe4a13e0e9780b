//! A program executes itself again: it gets the arguments and variables that it passed, and its clock continues.

mod common;

#[test]
fn a_program_executes_itself_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let program = common::compiled("again", folder.path());
    let (code, output, refused) = common::run(&program, &[]);
    let expected = "first -: 250 ms, pid 2, -\n\
                    renamed with words: 500 ms, pid 2, 1, counted 1, other closed, 7 in the pipe, a name\n\
                    renamed with words: 750 ms, pid 2, 2, counted 2, other closed, 7 in the pipe, a name\n\
                    renamed with words: 0 ms, pid 2, 3, counted 3, other closed, 7 in the pipe, a name\n\
                    Permission denied\n";
    assert_eq!((code, output.as_str()), (0, expected));
    assert_eq!(refused, ["executing another program in its place"]);
}
