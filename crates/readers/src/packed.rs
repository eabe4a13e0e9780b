//! Unpacks recordings that were compressed as a whole with gzip or zstd, detected by their first bytes.
//!
//! A reader needs to seek, so a compressed recording is first unpacked into a file. A few bytes may unpack to
//! terabytes, so the output is bounded.

use std::io::{self, BufRead, BufReader, Read, Write};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

/// How a recording was compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// With gzip. Several members form one file, as for gzip itself.
    Gzip,
    /// With zstd. Several frames form one file, as for zstd itself.
    Zstd,
}

/// The maximum size that a compressed recording may unpack to, as a multiple of its length. Text of the same few events
/// compresses best, to about a 50th.
const RATIO: u64 = 200;
/// The number of additional bytes that are always allowed.
const SLACK: u64 = 256 << 20;
/// The log2 of the largest accepted window in bytes: that of zstd without `--long`.
const WINDOW_LOG: u32 = 27;
/// The number of bytes that are written at once.
const CHUNK: usize = 256 << 10;

/// Why a recording could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The compressed data is damaged or truncated.
    #[error("it cannot be decompressed: {0}")]
    Damaged(String),
    /// It unpacks to too much.
    #[error("its first {} compressed KiB expand to more than {} MiB, so it is not a recording", packed >> 10, most >> 20)]
    TooMuch {
        /// The number of bytes that were read.
        packed: u64,
        /// The number of bytes that were written.
        most: u64,
    },
    /// It could not be read.
    #[error("cannot read it: {0}")]
    Read(io::Error),
    /// The output could not be written.
    #[error("{0}")]
    Write(io::Error),
}

impl Packing {
    /// Returns how a file that begins with `first` is compressed, if at all.
    pub fn of(first: &[u8]) -> Option<Self> {
        match first {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Returns the command that unpacks such a file.
    pub fn command(self) -> &'static str {
        match self {
            Self::Gzip => "gzip -dc",
            Self::Zstd => "zstd -dc",
        }
    }

    /// Unpacks all of `from` into `to`.
    ///
    /// # Errors
    /// It is damaged, or unpacks to too much. Part of the output has then been written.
    pub fn unpack(self, from: impl Read, to: &mut dyn Write) -> Result<(), UnpackError> {
        let counted = Counted { from, read: 0, failed: None };
        match self {
            Self::Gzip => gunzip(counted, to),
            Self::Zstd => unzstd(counted, to),
        }
    }
}

/// Input bytes; distinguishes an error in reading them from one in decompressing.
struct Counted<R> {
    from: R,
    read: u64,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.from.read(into) {
            Ok(read) => {
                self.read += read as u64;
                Ok(read)
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
            Err(e) => {
                let kind = e.kind();
                self.failed = Some(e);
                Err(kind.into())
            }
        }
    }
}

/// Output bytes, bounded.
struct Bounded<'a> {
    to: &'a mut dyn Write,
    written: u64,
}

impl Bounded<'_> {
    fn write(&mut self, bytes: &[u8], packed: u64) -> Result<(), UnpackError> {
        let most = packed.saturating_mul(RATIO).saturating_add(SLACK);
        self.written += bytes.len() as u64;
        if self.written > most {
            return Err(UnpackError::TooMuch { packed, most });
        }
        self.to.write_all(bytes).map_err(UnpackError::Write)
    }
}

fn gunzip<R: Read>(from: Counted<R>, to: &mut dyn Write) -> Result<(), UnpackError> {
    let mut out = Bounded { to, written: 0 };
    let mut unpacked = flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(CHUNK, from));
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = unpacked.read(&mut chunk);
        let counted = unpacked.get_mut().get_mut();
        match read {
            Ok(0) => return Ok(()),
            Ok(read) => out.write(&chunk[..read], counted.read)?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => {
                return Err(match counted.failed.take() {
                    Some(failed) => UnpackError::Read(failed),
                    None if e.kind() == io::ErrorKind::UnexpectedEof => cut_off(),
                    None => UnpackError::Damaged(e.to_string()),
                });
            }
        }
    }
}

fn unzstd<R: Read>(from: Counted<R>, to: &mut dyn Write) -> Result<(), UnpackError> {
    let mut out = Bounded { to, written: 0 };
    let mut context = DCtx::create();
    // If this is rejected, the default applies, which is the same.
    let _ = context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG));
    let mut from = BufReader::with_capacity(CHUNK, from);
    let mut chunk = vec![0; CHUNK];
    // The input that the current frame still needs; 0 between two frames.
    let mut wanted = 0;
    loop {
        let there = match from.fill_buf() {
            Ok(there) => there,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(UnpackError::Read(from.get_mut().failed.take().unwrap_or(e))),
        };
        let at_end = there.is_empty();
        let mut input = InBuffer::around(there);
        let mut output = OutBuffer::around(&mut chunk[..]);
        let done = context.decompress_stream(&mut output, &mut input);
        let (taken, given) = (input.pos(), output.pos());
        from.consume(taken);
        out.write(&chunk[..given], from.get_ref().read)?;
        match done {
            Ok(more) if taken > 0 || given > 0 => wanted = more,
            Ok(_) if at_end && wanted == 0 => return Ok(()),
            Ok(_) => return Err(cut_off()),
            Err(code) => return Err(UnpackError::Damaged(zstd_safe::get_error_name(code).to_owned())),
        }
    }
}

fn cut_off() -> UnpackError {
    UnpackError::Damaged("it is cut off".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        to.write_all(bytes).unwrap();
        to.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        let mut packed = vec![0; zstd_safe::compress_bound(bytes.len())];
        let length = zstd_safe::compress(&mut packed[..], bytes, 3).unwrap();
        packed.truncate(length);
        packed
    }

    fn unpack(bytes: &[u8]) -> Result<Vec<u8>, UnpackError> {
        let mut to = Vec::new();
        Packing::of(bytes).expect("it is known").unpack(bytes, &mut to).map(|()| to)
    }

    proptest! {
        #[test]
        fn what_was_compressed_comes_out_again(parts in prop::collection::vec(prop::collection::vec(0..4u8, 0..2_000), 1..4)) {
            for pack in [gzip as fn(&[u8]) -> Vec<u8>, zstd] {
                let packed: Vec<u8> = parts.iter().flat_map(|part| pack(part)).collect();
                prop_assert_eq!(unpack(&packed).unwrap(), parts.concat());
            }
        }

        #[test]
        fn damage_is_reported_and_never_panics(part in prop::collection::vec(0..4u8, 1..2_000), at in any::<prop::sample::Index>(), byte: u8) {
            for pack in [gzip as fn(&[u8]) -> Vec<u8>, zstd] {
                let whole = pack(&part);
                let mut damaged = whole.clone();
                let at = at.index(whole.len());
                damaged[at] = byte;
                if Packing::of(&damaged).is_some() {
                    let _ = unpack(&damaged);
                }
                if Packing::of(&whole[..at]).is_some() {
                    let reported = unpack(&whole[..at]).unwrap_err().to_string();
                    prop_assert_eq!(reported, "it cannot be decompressed: it is cut off");
                }
            }
        }
    }

    #[test]
    fn what_expands_without_measure_is_refused() {
        let zeroes = vec![0; 64 << 20];
        for pack in [gzip as fn(&[u8]) -> Vec<u8>, zstd] {
            let bomb = pack(&zeroes).repeat(8);
            let mut written = 0;
            struct Count<'a>(&'a mut u64);
            impl Write for Count<'_> {
                fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                    *self.0 += bytes.len() as u64;
                    Ok(bytes.len())
                }
                fn flush(&mut self) -> io::Result<()> {
                    Ok(())
                }
            }
            let reported =
                Packing::of(&bomb).unwrap().unpack(&bomb[..], &mut Count(&mut written)).unwrap_err();
            assert!(matches!(reported, UnpackError::TooMuch { .. }), "{reported}");
            assert!(written <= SLACK + RATIO * bomb.len() as u64, "{written}");
        }
    }

    #[test]
    fn errors_of_reading_and_of_decompressing_differ() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        for packed in [gzip(b"something"), zstd(b"something")] {
            let packing = Packing::of(&packed).unwrap();
            let read = packing.unpack(packed[..8].chain(Fails), &mut io::sink()).unwrap_err();
            assert_eq!(read.to_string(), "cannot read it: the disk is gone");
            let mut full = [0; 1];
            let written = packing.unpack(&packed[..], &mut &mut full[..]).unwrap_err();
            assert!(matches!(written, UnpackError::Write(_)), "{written}");
        }
        assert_eq!(Packing::of(b"KEELTRC"), None);
        assert_eq!(Packing::of(b""), None);
    }
}
