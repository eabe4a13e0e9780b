//! CPUs in a machine file: text such as `"0-3,8"`, or a list of numbers as in workload files.

use keel_abi::cpuset::{BadCpuList, MAX_CPUS};
use keel_abi::{CpuId, CpuSet};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;

/// A list of CPUs, or the reason why it is invalid.
#[derive(Clone, Debug)]
pub(super) struct CpuList(Result<CpuSet, BadCpuList>);

impl CpuList {
    /// Returns the CPUs if the list is valid.
    pub(super) fn read(&self) -> Result<CpuSet, BadCpuList> {
        self.0.clone()
    }
}

impl<'de> Deserialize<'de> for CpuList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = CpuList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CPUs such as \"0-3,8\" or [0, 1, 2, 3, 8]")
    }

    fn visit_str<E>(self, text: &str) -> Result<CpuList, E> {
        Ok(CpuList(text.parse()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CpuList, A::Error> {
        let mut cpus = CpuSet::new();
        let mut wrong = None;
        while let Some(cpu) = list.next_element::<i64>()? {
            match u32::try_from(cpu).ok().filter(|&cpu| cpu < MAX_CPUS) {
                Some(cpu) => drop(cpus.insert(CpuId(cpu))),
                None => wrong = wrong.or(Some(BadCpuList(cpu.to_string()))),
            }
        }
        Ok(CpuList(wrong.map_or(Ok(cpus), Err)))
    }
}
