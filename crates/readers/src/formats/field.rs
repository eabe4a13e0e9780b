//! Reads a field of an event from a record.

use super::{Order, u16_at, u32_at};

/// Where a field's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At the field's offset.
    Here,
    /// At the place that the field specifies (`__data_loc`): the length in the upper half, and the offset from the
    /// record's beginning in the lower half.
    Elsewhere,
    /// Likewise, but counted from the field's own end (`__rel_loc`).
    Behind,
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) signed: bool,
    pub(crate) place: Place,
}

impl Field {
    /// Returns its bytes, if the record contains them.
    #[inline]
    pub(crate) fn bytes<'a>(&self, record: &'a [u8], order: Order) -> Option<&'a [u8]> {
        let here = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        let from = match self.place {
            Place::Here => return Some(here),
            Place::Elsewhere => 0,
            Place::Behind => self.offset + self.size,
        };
        let word = u32_at(here, 0, order)?;
        let (offset, length) = ((word & 0xffff) as usize, (word >> 16) as usize);
        record.get(from + offset..from + offset + length)
    }

    /// Reads a number of 1, 2, 4 or 8 bytes.
    #[inline]
    pub(crate) fn number(&self, record: &[u8], order: Order) -> Option<i64> {
        // The most common case.
        if self.size == 4 && self.place == Place::Here {
            let number = u32_at(record, self.offset, order)?;
            return Some(if self.signed { i64::from(number.cast_signed()) } else { i64::from(number) });
        }
        if self.size == 2 && self.place == Place::Here && !self.signed {
            return u16_at(record, self.offset, order).map(i64::from);
        }
        self.any_number(record, order)
    }

    fn any_number(&self, record: &[u8], order: Order) -> Option<i64> {
        let bytes = self.bytes(record, order)?;
        Some(match (bytes.len(), self.signed) {
            (1, false) => i64::from(bytes[0]),
            (1, true) => i64::from(bytes[0].cast_signed()),
            (2, false) => i64::from(u16_at(bytes, 0, order)?),
            (2, true) => i64::from(u16_at(bytes, 0, order)?.cast_signed()),
            (4, false) => i64::from(u32_at(bytes, 0, order)?),
            (4, true) => i64::from(u32_at(bytes, 0, order)?.cast_signed()),
            (8, _) => order.u64(bytes.try_into().ok()?).cast_signed(),
            _ => return None,
        })
    }
}
