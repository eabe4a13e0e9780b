//! The built-in workload files, from `workloads/`.

const BUILT_IN: [(&str, &str); 5] = [
    ("hogs", include_str!("../../../workloads/hogs.json")),
    ("interactive", include_str!("../../../workloads/interactive.json")),
    ("mix-64", include_str!("../../../workloads/mix-64.json")),
    ("pingpong", include_str!("../../../workloads/pingpong.json")),
    ("typist", include_str!("../../../workloads/typist.json")),
];

/// Returns the text of a built-in workload file, by its name with or without `.json`.
pub fn built_in(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".json").unwrap_or(name);
    BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map(|&(_, text)| text)
}

/// Returns the names of the built-in workloads, in alphabetical order.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|&(name, _)| name)
}
