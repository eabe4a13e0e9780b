//! `ARRAY_OF_MAPS`: programs look maps up in it, and user space puts them there.

use super::plan::Plan;
use super::{Body, HANDLE_STRIDE, Map, MapError, Maps, info_of, kinds};
use crate::memory::Region;
use keel_abi::bpf::{Ea, Errno, MapId, MapInfo};
use keel_object::model::MapDef;
use std::collections::BTreeMap;

/// The most maps that user space may add, and the least if an object has a map of maps: it may put several maps into
/// the same entry, one after the other.
const MOST_ADDED: u64 = 1 << 16;
pub(super) const LEAST_ADDED: u64 = 256;

/// An array of maps.
pub(super) struct Nested {
    entries: u32,
    /// The entries that hold a map.
    slots: BTreeMap<u32, MapId>,
    /// The definition that a map must match to be put here.
    template: MapDef,
}

/// Bytes for the handles of `defs` and of the maps that user space may add.
pub(super) fn handle_bytes(defs: &[MapDef]) -> u64 {
    let outer = defs.iter().filter(|def| def.kind == kinds::ARRAY_OF_MAPS);
    let added: Option<u64> = outer.map(|def| u64::from(def.max_entries)).reduce(|a, b| a + b);
    HANDLE_STRIDE * (defs.len() as u64 + added.map_or(0, |added| added.clamp(LEAST_ADDED, MOST_ADDED)))
}

/// Returns whether `inner` is like the template (`bpf_map_meta_equal()`, and `array_map_meta_equal()`).
fn is_like(template: &MapDef, inner: &MapDef) -> bool {
    let sizes = |def: &MapDef| (def.kind, def.key_size, def.value_size, def.flags, def.has_lock);
    let counts = matches!(template.kind, kinds::ARRAY | kinds::PERCPU_ARRAY | kinds::PERF_EVENT_ARRAY)
        && template.flags & kinds::INNER_MAP == 0;
    sizes(template) == sizes(inner) && (!counts || template.max_entries == inner.max_entries)
}

impl Nested {
    pub(super) fn new(plan: &Plan<'_>, defs: &[MapDef]) -> Result<Self, MapError> {
        let def = plan.def;
        plan.require(def.key_size == 4, "the key of an array has 4 bytes")?;
        plan.require(def.value_size == 4, "the value of a map of maps has 4 bytes")?;
        plan.require(def.max_entries > 0, "max_entries is 0")?;
        plan.total(8, u64::from(def.max_entries))?;
        let template = def.inner.and_then(|inner| defs.get(inner as usize));
        plan.require(template.is_some(), "a map of maps needs a template of its inner maps")?;
        let template = template.expect("just required").clone();
        let mut slots = BTreeMap::new();
        for &(slot, inner) in &def.values {
            let found = defs.get(inner as usize).filter(|inner| is_like(&template, inner));
            plan.require(found.is_some(), "a map in it is not like its template")?;
            plan.require(slot < def.max_entries, "it names more maps than it has entries")?;
            slots.insert(slot, MapId(inner));
        }
        Ok(Self { entries: def.max_entries, slots, template })
    }

    /// The map at the index in the 4 bytes at `key`.
    pub(super) fn lookup(&self, region: &Region, key: Ea) -> Option<MapId> {
        let index = u32::from_le_bytes(region.slice(key, 4)?.try_into().ok()?);
        self.slots.get(&index).copied()
    }
}

impl Maps {
    /// Fills an entry of a map of maps as user space does: creates a map like its template and puts it there, replacing
    /// any earlier one. `max_entries` is its size, unless that is 0.
    ///
    /// # Errors
    /// EINVAL if `outer` is not a map of maps, or the inner map is not possible; E2BIG if it has no entry `index`;
    /// ENOMEM when out of memory.
    pub fn add_inner(
        &mut self,
        region: &mut Region,
        outer: MapId,
        index: u32,
        max_entries: u32,
    ) -> Result<MapId, Errno> {
        let Some(Body::Nested(nested)) = self.body(outer) else { return Err(Errno::EINVAL) };
        if index >= nested.entries {
            return Err(Errno::E2BIG);
        }
        let mut def = nested.template.clone();
        if max_entries != 0 {
            def.max_entries = max_entries;
        }
        if !is_like(&nested.template, &def) {
            return Err(Errno::EINVAL);
        }
        let added = MapId(self.maps.len() as u32);
        if u64::from(added.0) >= self.most {
            return Err(Errno::ENOMEM);
        }
        let plan = Plan::new(&def, self.cpus);
        let body = Body::new(&plan, &[], region).map_err(|why| match why {
            MapError::TooLarge { .. } => Errno::ENOMEM,
            _ => Errno::EINVAL,
        })?;
        self.maps.push(Map { info: info_of(&plan), kptrs: def.kptrs.clone(), body });
        if let Some(Body::Nested(nested)) = self.body_mut(outer) {
            nested.slots.insert(index, added);
        }
        Ok(added)
    }

    /// Puts an existing map into an entry of a map of maps, replacing any earlier one.
    ///
    /// # Errors
    /// EINVAL if `outer` is not a map of maps, or `inner` does not match the template; E2BIG if it has no entry
    /// `index`.
    pub fn put_inner(&mut self, outer: MapId, index: u32, inner: MapId) -> Result<(), Errno> {
        let Some(info) = self.maps.get(inner.0 as usize).map(|map| map.info) else {
            return Err(Errno::EINVAL);
        };
        let Some(Body::Nested(nested)) = self.body_mut(outer) else { return Err(Errno::EINVAL) };
        if index >= nested.entries {
            return Err(Errno::E2BIG);
        }
        let template = &nested.template;
        if (info.key_size, info.value_size) != (template.key_size, template.value_size) {
            return Err(Errno::EINVAL);
        }
        nested.slots.insert(index, inner);
        Ok(())
    }

    /// Removes a map from an entry of a map of maps; returns whether there was one.
    pub fn take_inner(&mut self, outer: MapId, index: u32) -> bool {
        match self.body_mut(outer) {
            Some(Body::Nested(nested)) => nested.slots.remove(&index).is_some(),
            _ => false,
        }
    }

    /// The map in an entry of a map of maps.
    pub fn inner_at(&self, outer: MapId, index: u32) -> Option<(MapId, MapInfo)> {
        let Body::Nested(nested) = self.body(outer)? else { return None };
        let map = *nested.slots.get(&index)?;
        Some((map, self.info(map)))
    }
}
