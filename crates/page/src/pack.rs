//! Packs numbers: LEB128, shares and logarithms in a byte, DEFLATE.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;

/// Appends a number, seven bits per byte, lowest first. The top bit means that more bytes follow.
pub(crate) fn number(to: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        to.push(n as u8 | 0x80);
        n >>= 7;
    }
    to.push(n as u8);
}

/// Returns the share of `part` in `whole`, in 255ths. A share above 0 never becomes 0.
pub(crate) fn share(part: u64, whole: u64) -> u8 {
    if part == 0 || whole == 0 {
        return 0;
    }
    let share = (part as f64 / whole as f64).min(1.0) * 255.0;
    (share.round() as u8).max(1)
}

/// Encodes a mean from 0 to 254 as `32 log2(1 + mean)`, so that 1 becomes 32 and small means are still distinguished.
pub(crate) fn logarithm(sum: u64, time: u64) -> u8 {
    if sum == 0 || time == 0 {
        return 0;
    }
    let mean = sum as f64 / time as f64;
    ((1.0 + mean).log2() * 32.0).round().clamp(1.0, 255.0) as u8
}

/// Compresses bytes with raw DEFLATE, which every browser can decompress.
pub(crate) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    // Writing to memory cannot fail.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory takes every byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let check = |n, expected: &[u8]| {
            let mut to = Vec::new();
            number(&mut to, n);
            assert_eq!(to, expected, "{n}");
        };
        check(0, &[0]);
        check(127, &[127]);
        check(128, &[0x80, 1]);
        check(u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
    }

    #[test]
    fn shares_and_means_fit_a_byte() {
        let check = |part, whole, by_share, by_log| {
            assert_eq!((share(part, whole), logarithm(part, whole)), (by_share, by_log), "{part} of {whole}");
        };
        check(0, 9, 0, 0);
        check(9, 0, 0, 0);
        check(9, 9, 255, 32);
        check(1, 1_000_000, 1, 1);
        check(3, 1, 255, 64);
        check(u64::MAX, 1, 255, 255);
    }
}
