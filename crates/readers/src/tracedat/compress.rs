//! Unpacks the compressed parts of version 7: sections, and chunks of pages.

use crate::formats::Order;
use flate2::read::ZlibDecoder;
use std::io::Read;

/// The algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Zlib,
    Zstd,
}

/// Returns one chunk, unpacked to at most `most` bytes, and its size in the file.
pub(super) fn chunk(
    from: &mut impl Read,
    compression: Compression,
    order: Order,
    most: usize,
) -> Result<(Vec<u8>, u64), &'static str> {
    let mut sizes = [0; 8];
    from.read_exact(&mut sizes).map_err(|_| "the file is cut off")?;
    let [packed, size] = [0, 4].map(|at| {
        let word = [sizes[at], sizes[at + 1], sizes[at + 2], sizes[at + 3]];
        order.u32(word) as usize
    });
    if size > most || packed > most {
        return Err("compressed data is larger than any that trace-cmd writes");
    }
    let mut bytes = Vec::new();
    from.take(packed as u64).read_to_end(&mut bytes).map_err(|_| "the file cannot be read")?;
    if bytes.len() < packed {
        return Err("the file is cut off");
    }
    Ok((unpack(&bytes, compression, size)?, 8 + packed as u64))
}

fn unpack(bytes: &[u8], compression: Compression, size: usize) -> Result<Vec<u8>, &'static str> {
    const WRONG: &str = "compressed data cannot be decompressed";
    let mut unpacked = Vec::new();
    match compression {
        Compression::Zlib => {
            let mut from = ZlibDecoder::new(bytes).take(size as u64);
            from.read_to_end(&mut unpacked).map_err(|_| WRONG)?;
        }
        Compression::Zstd => {
            unpacked.resize(size, 0);
            let there = zstd_safe::decompress(&mut unpacked[..], bytes).map_err(|_| WRONG)?;
            unpacked.truncate(there);
        }
    }
    if unpacked.len() == size { Ok(unpacked) } else { Err(WRONG) }
}
