//! Reads the caches of the first CPU that has any: their sizes, and the size of a line.

use crate::file::Machine;
use crate::tree::Tree;

/// Adds the sizes of a CPU's caches by level, in KiB, and the size of a line, in bytes.
pub(crate) fn see(tree: &Tree, machine: &mut Machine, unseen: &mut Vec<String>) {
    let cpus = tree.numbered("sys/devices/system/cpu", "cpu").into_iter();
    let folders = cpus.map(|cpu| format!("sys/devices/system/cpu/cpu{cpu}/cache"));
    let Some(folder) = folders.into_iter().find(|folder| !tree.numbered(folder, "index").is_empty()) else {
        unseen.push("cache sizes are unknown".to_owned());
        return;
    };
    let mut last = None;
    for index in tree.numbered(&folder, "index") {
        let cache = format!("{folder}/index{index}");
        let is_data = tree.text(&format!("{cache}/type")).is_some_and(|kind| kind != "Instruction");
        let (level, size) = (tree.number(&format!("{cache}/level")), tree.text(&format!("{cache}/size")));
        let (true, Some(level), Some(kb)) = (is_data, level, size.as_deref().and_then(kib)) else { continue };
        let source = format!("/{cache}/size");
        match level {
            1 => machine.constant("costs", "l1_kb", kb, source),
            2 => machine.constant("costs", "l2_kb", kb, source),
            _ => last = last.max(Some((level, kb, source))),
        }
        if let Some(bytes) = tree.number(&format!("{cache}/coherency_line_size"))
            && level == 1
            && (16..=64).contains(&bytes)
            && bytes.is_power_of_two()
        {
            machine.constant("lines", "bytes", bytes, format!("/{cache}/coherency_line_size"));
        }
    }
    let (kb, source) = match last {
        Some((_, kb, source)) => (kb, source),
        None => (0, format!("/{folder} has no third level")),
    };
    machine.constant("costs", "llc_kb", kb, source);
}

/// Parses a size such as `32K` or `2M`, in KiB.
fn kib(size: &str) -> Option<u64> {
    let (number, unit) = size.split_at_checked(size.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    match unit {
        "K" => Some(number),
        "M" => number.checked_mul(1 << 10),
        "G" => number.checked_mul(1 << 20),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::kib;

    #[test]
    fn sizes_have_units() {
        let check = |size, expected| assert_eq!(kib(size), expected, "{size}");
        check("32K", Some(32));
        check("2M", Some(2048));
        check("32", None);
        check("K", None);
        check("", None);
        check("é", None);
    }
}
