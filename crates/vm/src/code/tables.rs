//! Everything that a program refers to, each once: imports, addresses, places that may fault.

use super::{Address, Needed, Site};
use std::collections::BTreeMap;

/// No import belongs to this site.
pub(crate) const NO_IMPORT: u32 = u32::MAX;

/// The tables of one object's code, while they grow.
#[derive(Default)]
pub(super) struct Tables {
    /// Each import, and the function that needs it first.
    pub(super) imports: Vec<(Needed, u32)>,
    /// Each address, and the function that needs it first.
    pub(super) addresses: Vec<(Address, u32)>,
    pub(super) sites: Vec<Site>,
    import_numbers: BTreeMap<Needed, u32>,
    address_numbers: BTreeMap<Address, u32>,
}

impl Tables {
    pub(super) fn import(&mut self, needed: Needed, function: u32) -> u32 {
        let next = self.imports.len() as u32;
        let number = *self.import_numbers.entry(needed.clone()).or_insert(next);
        if number == next {
            self.imports.push((needed, function));
        }
        number
    }

    pub(super) fn address(&mut self, address: Address, function: u32) -> u32 {
        let next = self.addresses.len() as u32;
        let number = *self.address_numbers.entry(address).or_insert(next);
        if number == next {
            self.addresses.push((address, function));
        }
        number
    }

    pub(super) fn site(&mut self, function: u32, insn: u32, import: Option<u32>) -> u32 {
        self.sites.push(Site { function, insn, import: import.unwrap_or(NO_IMPORT) });
        self.sites.len() as u32 - 1
    }
}
