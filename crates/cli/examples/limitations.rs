//! Regenerates the lists of LIMITATIONS.md from the code's own tables: `./x limits`.
#![forbid(unsafe_code)]

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../LIMITATIONS.md");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = std::fs::read_to_string(PAGE)?;
    std::fs::write(PAGE, keel_report::features::page(&page, &keel_lab::features())?)?;
    Ok(())
}
