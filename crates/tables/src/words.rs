//! Puts the messages of serde, which name Rust's types, into words.

/// What introduces the value that was found, and the type that belongs there.
const FOUND: [&str; 2] = ["invalid type: ", "invalid value: "];
const EXPECTED: &str = ", expected ";

/// Returns the message with the words of a TOML file for the types of Rust.
pub(crate) fn plain(message: &str) -> String {
    let Some(start) = FOUND.into_iter().find(|start| message.starts_with(start)) else {
        return message.to_owned();
    };
    // The type comes last; what was found may be a string with any content.
    let Some((found, expected)) = message[start.len()..].rsplit_once(EXPECTED) else {
        return message.to_owned();
    };
    format!("{start}{}{EXPECTED}{}", kind(found), wanted(expected))
}

/// What was found, if serde names only its kind or begins with it.
fn kind(found: &str) -> String {
    match found {
        "sequence" => "list".to_owned(),
        "map" => "table".to_owned(),
        _ => match found.strip_prefix("floating point ") {
            Some(number) => format!("number {number}"),
            None => found.to_owned(),
        },
    }
}

/// What belongs there.
fn wanted(expected: &str) -> String {
    let whole = |most: u64| format!("a whole number from 0 to {most}");
    match expected {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        "u64" | "usize" => "a whole number of at least 0".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        _ if expected.starts_with("struct ") => "a table".to_owned(),
        _ => expected.to_owned(),
    }
}
