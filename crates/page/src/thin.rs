//! Selects items with a size and a worth within a budget: half of it for the most valuable, the rest spread over the
//! run.

/// The size of an item, and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth {
    pub(crate) size: usize,
    pub(crate) worth: u64,
}

#[derive(Debug)]
struct Kept<T> {
    number: u64,
    worth: Worth,
    thing: T,
}

/// Keeps some of many, in their order.
#[derive(Debug)]
pub(crate) struct Thin<T> {
    budget: usize,
    kept: Vec<Kept<T>>,
    size: usize,
    next: u64,
    /// Items whose number is a multiple of 2 to this power are spread over the run.
    shift: u32,
}

impl<T> Thin<T> {
    pub(crate) fn new(budget: usize) -> Self {
        Self { budget, kept: Vec::new(), size: 0, next: 0, shift: 0 }
    }

    pub(crate) fn add(&mut self, thing: T, worth: Worth) {
        self.kept.push(Kept { number: self.next, worth, thing });
        self.next += 1;
        self.size += worth.size;
        while self.size > self.budget && self.kept.len() > 1 {
            self.drop_one();
        }
    }

    pub(crate) fn finish(self) -> Vec<T> {
        self.kept.into_iter().map(|kept| kept.thing).collect()
    }

    fn drop_one(&mut self) {
        while self.spread().map(|kept| kept.worth.size).sum::<usize>() > self.budget / 2 && self.shift < 63 {
            self.shift += 1;
        }
        let shift = self.shift;
        let of_no_use = |kept: &&(usize, &Kept<T>)| !is_spread(kept.1.number, shift);
        let all: Vec<(usize, &Kept<T>)> = self.kept.iter().enumerate().collect();
        let least = all.iter().filter(of_no_use).min_by_key(|(_, kept)| (kept.worth.worth, kept.number));
        // If all are spread, the last one is dropped, and the next time they are spread wider.
        let at = least.map_or(self.kept.len() - 1, |(at, _)| *at);
        self.size -= self.kept[at].worth.size;
        self.kept.remove(at);
    }

    fn spread(&self) -> impl Iterator<Item = &Kept<T>> {
        self.kept.iter().filter(|kept| is_spread(kept.number, self.shift))
    }
}

fn is_spread(number: u64, shift: u32) -> bool {
    number.is_multiple_of(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worth_most_stays_and_the_rest_is_spread() {
        let mut thin = Thin::new(16);
        for n in 0..1000u64 {
            let worth = if (500..506).contains(&n) { 100 } else { n % 3 };
            thin.add(n, Worth { size: 1, worth });
        }
        let kept = thin.finish();
        assert_eq!(kept.len(), 16);
        assert!((500..506).all(|n| kept.contains(&n)), "{kept:?}");
        assert!(kept.iter().filter(|&&n| n < 500).count() >= 3, "{kept:?}");
        assert!(kept.iter().filter(|&&n| n > 600).count() >= 2, "{kept:?}");
    }

    #[test]
    fn within_the_budget_nothing_goes() {
        let mut thin = Thin::new(1000);
        (0..1000u64).for_each(|n| thin.add(n, Worth { size: 1, worth: 0 }));
        assert_eq!(thin.finish().len(), 1000);
    }
}
