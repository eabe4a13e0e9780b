//! The kfuncs on `struct cpumask` and `struct bpf_cpumask`. A mask in the world is as long as the
//! header's number of CPUs; only bits of the machine's CPUs count.

use crate::kfuncs::Served;
use crate::state::bpf::functions::F;
use crate::state::kernel::Kernel;
use crate::state::layout::bpf_cpumask;
use keel_abi::CpuId;
use keel_abi::bpf::{Ea, World};
use smallvec::{SmallVec, smallvec};

/// A mask as 64-bit words, in place on machines of up to 256 CPUs.
pub(super) type Words = SmallVec<[u64; 4]>;

impl Kernel {
    pub(super) fn serve_cpumask<W: World>(&mut self, w: &mut W, c: CpuId, f: F, a: &[u64; 5]) -> Served {
        let yes = |done: bool| Served::Value(u64::from(done));
        let at = Ea(a[0]);
        match f {
            F::MaskCreate => self.mask_create(w).0.into(),
            F::MaskAcquire => self.mask_usage(w, at, 1).0.into(),
            F::MaskRelease => {
                self.mask_usage(w, at, -1);
                0.into()
            }
            F::MaskFirst => {
                let words = self.mask_words(w, c, at);
                self.first_of(&words).into()
            }
            F::MaskFirstZero => {
                let inverse = self.mask_words(w, c, at).iter().map(|word| !word).collect();
                self.first_of(&self.cut(inverse)).into()
            }
            F::MaskSetAll => {
                let all = self.cut(smallvec![u64::MAX; self.mask_word_count()]);
                self.write_words(w, c, at, &all);
                0.into()
            }
            F::MaskClear => {
                let none: Words = smallvec![0; self.mask_word_count()];
                self.write_words(w, c, at, &none);
                0.into()
            }
            F::MaskAnd => yes(self.combine(w, c, a, |x, y| x & y)),
            F::MaskOr => yes(self.combine(w, c, a, |x, y| x | y)),
            F::MaskXor => yes(self.combine(w, c, a, |x, y| x ^ y)),
            F::MaskCopy => {
                let words = self.mask_words(w, c, Ea(a[1]));
                self.write_words(w, c, at, &words);
                0.into()
            }
            F::MaskEqual => yes(self.mask_words(w, c, at) == self.mask_words(w, c, Ea(a[1]))),
            F::MaskIntersects => yes(self.pairs(w, c, a).any(|(x, y)| x & y != 0)),
            F::MaskSubset => yes(self.pairs(w, c, a).all(|(x, y)| x & !y == 0)),
            F::MaskEmpty => yes(self.mask_words(w, c, at).iter().all(|&word| word == 0)),
            F::MaskFull => {
                yes(self.mask_words(w, c, at) == self.cut(smallvec![u64::MAX; self.mask_word_count()]))
            }
            F::MaskWeight => {
                self.mask_words(w, c, at).iter().map(|word| u64::from(word.count_ones())).sum::<u64>().into()
            }
            F::MaskAny => {
                let words = self.mask_words(w, c, at);
                let found = self.idle.any_distribute(c, &words);
                self.cpu_or_none(found).into()
            }
            F::MaskAnyAnd => {
                let (x, y) = (self.mask_words(w, c, at), self.mask_words(w, c, Ea(a[1])));
                let found = self.idle.any_and_distribute(c, &x, &y);
                self.cpu_or_none(found).into()
            }
            _ => Served::forbidden(format!("{}() is not served", f.name())),
        }
    }

    /// The machine's part of the mask at an address; the mask is empty if the address is outside the world.
    pub(super) fn mask_words<W: World>(&mut self, w: &mut W, c: CpuId, at: Ea) -> Words {
        let bytes = self.mask_word_count() as u64 * 8;
        let (stall_ps, bytes) = w.read_ps(at, bytes, c);
        self.charge_ps(c, stall_ps);
        let words = match bytes {
            Some(bytes) => {
                bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes"))).collect()
            }
            None => smallvec![0; self.mask_word_count()],
        };
        self.cut(words)
    }

    /// Clears the bits beyond the machine's last CPU.
    fn cut(&self, mut words: Words) -> Words {
        let beyond = self.cpus.len() % 64;
        if let (1.., Some(last)) = (beyond, words.last_mut()) {
            *last &= (1 << beyond) - 1;
        }
        words
    }

    fn write_words<W: World>(&mut self, w: &mut W, c: CpuId, at: Ea, words: &[u64]) {
        let stall_ps = w.touch_ps(at, words.len() as u64 * 8, c, true);
        self.charge_ps(c, stall_ps);
        for (i, word) in words.iter().enumerate() {
            if let Some(bytes) = w.slice_mut(at.offset(i as u64 * 8), 8) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
    }

    fn pairs<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        a: &[u64; 5],
    ) -> impl Iterator<Item = (u64, u64)> + use<W> {
        let (x, y) = (self.mask_words(w, c, Ea(a[0])), self.mask_words(w, c, Ea(a[1])));
        x.into_iter().zip(y)
    }

    /// `dst = a op b`; returns whether `dst` is non-empty.
    fn combine<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5], op: fn(u64, u64) -> u64) -> bool {
        let (x, y) = (self.mask_words(w, c, Ea(a[1])), self.mask_words(w, c, Ea(a[2])));
        let words: Words = x.iter().zip(&y).map(|(&x, &y)| op(x, y)).collect();
        self.write_words(w, c, Ea(a[0]), &words);
        words.iter().any(|&word| word != 0)
    }

    /// `bpf_cpumask_test_cpu()`. CPUs that the machine doesn't have are never set.
    pub(super) fn mask_test_cpu<W: World>(&mut self, w: &mut W, c: CpuId, a: &[u64; 5]) -> Served {
        let Some((at, bit)) = self.place_of_bit(a) else { return 0.into() };
        let (stall_ps, byte) = w.read_ps(at, 1, c);
        self.charge_ps(c, stall_ps);
        byte.map_or(0, |byte| u64::from(byte[0] & bit != 0)).into()
    }

    /// Sets or clears a CPU's bit. Returns whether it was set (`bpf_cpumask_test_and_set_cpu()`).
    pub(super) fn mask_change_cpu<W: World>(
        &mut self,
        w: &mut W,
        c: CpuId,
        a: &[u64; 5],
        to: bool,
    ) -> Served {
        let Some((at, bit)) = self.place_of_bit(a) else { return 0.into() };
        let stall_ps = w.touch_ps(at, 1, c, true);
        self.charge_ps(c, stall_ps);
        let Some(byte) = w.slice_mut(at, 1) else { return 0.into() };
        let was = byte[0] & bit != 0;
        byte[0] = if to { byte[0] | bit } else { byte[0] & !bit };
        u64::from(was).into()
    }

    /// The byte that has the bit of the CPU in the first argument, in the mask in the second, and the bit in it; `None`
    /// if the machine has no such CPU.
    #[inline]
    fn place_of_bit(&self, a: &[u64; 5]) -> Option<(Ea, u8)> {
        let cpu = a[0] as u32;
        ((cpu as usize) < self.cpus.len()).then(|| (Ea(a[1]).offset(u64::from(cpu / 8)), 1 << (cpu % 8)))
    }

    fn first_of(&self, words: &[u64]) -> u64 {
        let first = words.iter().enumerate().find(|(_, w)| **w != 0);
        first.map_or(self.cpus.len() as u64, |(i, w)| i as u64 * 64 + u64::from(w.trailing_zeros()))
    }

    /// The kernel's searches return `nr_cpu_ids` if they find nothing.
    fn cpu_or_none(&self, cpu: Option<CpuId>) -> u64 {
        cpu.map_or(self.cpus.len() as u64, |cpu| u64::from(cpu.0))
    }

    fn mask_create<W: World>(&mut self, w: &mut W) -> Ea {
        let Some(at) = w.alloc(bpf_cpumask::SIZE.max(self.mask_bytes())) else { return Ea::NULL };
        w.put(at.offset(bpf_cpumask::USAGE), &1u32.to_le_bytes());
        at
    }

    /// Takes or drops a reference to a `bpf_cpumask`; dropping the last one frees it.
    fn mask_usage<W: World>(&mut self, w: &mut W, at: Ea, change: i32) -> Ea {
        let Some(bytes) = w.bytes::<4>(at.offset(bpf_cpumask::USAGE)) else { return Ea::NULL };
        let usage = i32::from_le_bytes(bytes).wrapping_add(change);
        w.put(at.offset(bpf_cpumask::USAGE), &usage.to_le_bytes());
        if usage == 0 {
            w.free(at);
        }
        at
    }
}
