//! Passes files to a target: `replay TARGET FILE... [--object OUT]`. `--object` writes the object that an input of
//! `object` or `run` represents.
#![forbid(unsafe_code)]

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [target, rest @ ..] = args.as_slice() else { panic!("usage: replay TARGET FILE... [--object OUT]") };
    let (files, out) = match rest.iter().position(|arg| arg == "--object") {
        Some(at) => (&rest[..at], rest.get(at + 1)),
        None => (rest, None),
    };
    for file in files {
        let input = std::fs::read(file)?;
        if let Some(out) = out {
            std::fs::write(
                out,
                keel_hostile::altered_object(target, &input).expect("it stands for an object"),
            )?;
        }
        println!("{file}");
        keel_hostile::call(target, &input);
    }
    Ok(())
}
