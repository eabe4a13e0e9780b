//! Generates lists of exact, approximate and absent features for LIMITATIONS.md, from the code's own tables. They
//! replace the text between marks in the page.

use keel_abi::feature::{Feature, FeatureKind, Level};

const END: &str = "<!-- end -->";

/// Regenerates the text between the page's marks (`<!-- generated: KIND -->` and `<!-- end -->`).
///
/// # Errors
/// A kind has no mark, or a mark has no end.
pub fn page(page: &str, features: &[Feature]) -> Result<String, String> {
    let mut made = page.to_owned();
    for kind in FeatureKind::ALL {
        let mark = format!("<!-- generated: {} -->\n", kind.name());
        let begin =
            made.find(&mark).ok_or_else(|| format!("the page has no mark {}", mark.trim()))? + mark.len();
        let end = made[begin..].find(END).ok_or_else(|| format!("{} has no end", mark.trim()))? + begin;
        let of_kind: Vec<&Feature> = features.iter().filter(|feature| feature.kind == kind).collect();
        made.replace_range(begin..end, &section(&of_kind));
    }
    Ok(made)
}

/// The maximum length of a line.
const LINE: usize = 120;

/// Adds a name, on this line or the next.
fn add(mut text: String, name: &str) -> String {
    let used = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
    text.push(if used + name.len() + 3 > LINE { '\n' } else { ' ' });
    text + &format!("`{name}`")
}

/// Returns the exact features, the ones that differ and how, and the absent ones. Absent ones with a remark have a row
/// of their own.
fn section(features: &[&Feature]) -> String {
    let exact = features.iter().filter(|feature| feature.level == Level::Exact);
    let mut text = exact.fold("Exact:".to_owned(), |text, feature| add(text, feature.name));
    text.push('\n');
    let differs = features.iter().filter_map(|feature| match feature.level {
        Level::Approximate(how) => Some(format!("| `{}` | {how} |\n", feature.name)),
        _ => None,
    });
    let differs: String = differs.collect();
    if !differs.is_empty() {
        text += &format!("\n| approximate | how |\n| --- | --- |\n{differs}");
    }
    let absent = features.iter().filter(|feature| feature.level == Level::Absent(""));
    let names = absent.fold("\nAbsent:".to_owned(), |text, feature| add(text, feature.name));
    if names.ends_with('`') {
        text += &(names + "\n");
    }
    let reasons = features.iter().filter_map(|feature| match feature.level {
        Level::Absent(why) if !why.is_empty() => Some(format!("| `{}` | {why} |\n", feature.name)),
        _ => None,
    });
    let reasons: String = reasons.collect();
    if !reasons.is_empty() {
        text += &format!("\n| absent | note |\n| --- | --- |\n{reasons}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(of: impl Fn(&str) -> String) -> String {
        FeatureKind::ALL
            .map(|kind| format!("<!-- generated: {} -->\n{}{END}\n", kind.name(), of(kind.name())))
            .concat()
    }

    #[test]
    fn the_text_between_marks_is_regenerated() {
        let kind = FeatureKind::Map;
        let features = [
            Feature { kind, name: "A", level: Level::Exact },
            Feature { kind, name: "B", level: Level::Approximate("slower") },
            Feature { kind, name: "C", level: Level::Absent("") },
            Feature { kind, name: "D", level: Level::Absent("too new") },
        ];
        let made = page(&format!("before\n{}after\n", marks(|_| "old\n".to_owned())), &features).unwrap();
        let expected = "Exact: `A`\n\n| approximate | how |\n| --- | --- |\n| `B` | slower |\n\nAbsent: `C`\n\n| absent | note |\n| --- | --- |\n| `D` | too new |\n";
        let of = |name: &str| if name == "map" { expected.to_owned() } else { "Exact:\n".to_owned() };
        assert_eq!(made, format!("before\n{}after\n", marks(of)));
        assert_eq!(page(&made, &features), Ok(made.clone()), "twice is once");
    }

    #[test]
    fn missing_marks_are_reported() {
        assert!(page("nothing", &[]).unwrap_err().contains("no mark <!-- generated: callback -->"));
        let open = marks(|_| String::new()).replace(END, "");
        assert!(page(&open, &[]).unwrap_err().contains("has no end"));
    }
}
