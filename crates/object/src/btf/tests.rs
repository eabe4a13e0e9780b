use super::{Btf, BtfError, essential_name};

#[test]
fn a_flavour_is_the_last_suffix_after_three_underscores() {
    let check = |name, expected| assert_eq!(essential_name(name), expected, "{name}");
    check("task_struct", "task_struct");
    check("task_struct___old", "task_struct");
    check("a___b___c", "a___b");
    check("a____b", "a____b");
    check("___b", "___b");
    check("a___", "a___");
    check("", "");
    check("a___b", "a");
}

#[test]
fn invalid_btf_is_refused() {
    let check = |bytes: &[u8], expected: BtfError| assert_eq!(Btf::parse(bytes).unwrap_err(), expected);
    check(b"", BtfError::Truncated { what: "its header", offset: 0 });
    check(b"\x7fELF", BtfError::Magic(0x457f));
    check(b"\xeb\x9f\x01\x00", BtfError::BigEndian);
    check(b"\x9f\xeb\x02\x00", BtfError::Version(2));
    check(b"\x9f\xeb\x01\x00\x18\0\0\0\0\0\0\0\x08\0\0\0", BtfError::Bounds { what: "type", size: 16 });
}
