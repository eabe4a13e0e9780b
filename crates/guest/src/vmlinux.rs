//! The kernel inside its compressed image: an ELF file with its types.
//!
//! The header of an x86 image contains the place of the compressed kernel (Linux' boot protocol 2.08). The first bytes
//! identify the program that compressed it.

use crate::error::{GuestError, at, why};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The first bytes of each program's output.
const PROGRAMS: &[(&[u8], &str)] = &[
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
    (&[0x1f, 0x8b], "gzip"),
    (&[0x02, 0x21, 0x4c, 0x18], "lz4"),
];

/// Writes the kernel in the image `vmlinuz` to `into`.
///
/// # Errors
/// [`GuestError::Input`] if it is no such image, [`GuestError::Missing`] if the program that unpacks it is missing.
pub fn uncompress(vmlinuz: &Path, into: &Path) -> Result<(), GuestError> {
    let image = std::fs::read(vmlinuz).map_err(at(vmlinuz))?;
    let no_image = || GuestError::Input(format!("{} is not a kernel image for x86", vmlinuz.display()));
    let packed = payload(&image).ok_or_else(no_image)?;
    let known = PROGRAMS.iter().find(|(magic, _)| packed.starts_with(magic));
    let (_, program) = known.ok_or_else(no_image)?;
    let out = std::fs::File::create(into).map_err(at(into))?;
    let missing = |e: std::io::Error| {
        GuestError::Missing(format!("{program} cannot be run ({}), which unpacks the kernel", why(&e)))
    };
    let mut child = Command::new(program)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(out)
        .stderr(Stdio::null())
        .spawn()
        .map_err(missing)?;
    let fed = child.stdin.take().expect("piped").write_all(packed);
    let done = child.wait().map_err(missing)?;
    match fed.is_ok() && done.success() {
        true => Ok(()),
        false => Err(no_image()),
    }
}

/// Returns the compressed kernel in an image, without its length at the end.
fn payload(image: &[u8]) -> Option<&[u8]> {
    const SECTOR: usize = 512;
    (image.get(0x202..0x206)? == b"HdrS").then_some(())?;
    let word = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let setup_sectors = match image[0x1f1] {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (setup_sectors + 1) * SECTOR + word(0x248)?;
    image.get(start..(start + word(0x24c)?).checked_sub(4)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an image whose payload is `packed`.
    fn image(packed: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 2 * 512 + 8];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&8u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(packed.len() as u32 + 4).to_le_bytes());
        image.extend(packed);
        image.extend((packed.len() as u32).to_le_bytes());
        image
    }

    #[test]
    fn the_payload_is_where_the_header_says() {
        assert_eq!(payload(&image(b"kernel")), Some(b"kernel".as_slice()));
        let whole = image(b"kernel");
        for len in [0, 0x205, 0x24e, whole.len() - 5] {
            assert_eq!(payload(&whole[..len]), None, "{len} bytes");
        }
    }

    #[test]
    fn files_that_are_no_images_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for bytes in [b"nothing".to_vec(), image(b"kernel"), image(&[0x1f, 0x8b, 0])] {
            std::fs::write(&from, bytes).unwrap();
            let reported = uncompress(&from, &to).unwrap_err().to_string();
            assert!(reported.ends_with("is not a kernel image for x86"), "{reported}");
        }
    }
}
