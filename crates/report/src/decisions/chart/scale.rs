//! Converts values to pixels, and places names.

/// A logarithmic scale.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    /// The logarithms of its ends.
    from: f64,
    to: f64,
    /// The pixels of its ends.
    first: f64,
    last: f64,
}

impl Scale {
    /// Returns a scale from the minimum of the values, which must be above 0, to the maximum.
    pub(super) fn between(values: impl Iterator<Item = f64>, first: f64, last: f64) -> Self {
        let (least, greatest) =
            values.fold((f64::MAX, 0.0_f64), |(a, b), value| (a.min(value), b.max(value)));
        let (from, to) = if greatest > 0.0 { (least.log10(), greatest.log10()) } else { (0.0, 0.0) };
        Self { from, to: if to > from { to } else { from + 1.0 }, first, last }
    }

    /// Returns a scale from a power of ten to a power of ten.
    pub(super) fn decades(values: impl Iterator<Item = f64>, first: f64, last: f64) -> Self {
        let exact = Self::between(values, first, last);
        Self { from: exact.from.floor(), to: exact.to.ceil(), ..exact }
    }

    /// Returns a value's pixel.
    pub(super) fn at(&self, value: f64) -> f64 {
        self.first + (value.log10() - self.from) / (self.to - self.from) * (self.last - self.first)
    }

    /// Returns the powers of ten from end to end.
    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        (self.from.ceil() as i32..=self.to.floor() as i32).map(|power| 10_f64.powi(power))
    }
}

/// Returns the heights at which to write names, given their ideal heights, in the same order: at least `line` apart,
/// between `top` and `bottom` if there is enough space, and moved no farther than necessary.
pub(super) fn apart(wanted: &[f64], line: f64, top: f64, bottom: f64) -> Vec<f64> {
    // Each run of touching names is centred on the middle of their ideal heights.
    let mut runs: Vec<(f64, Vec<f64>)> = Vec::new();
    for &want in wanted {
        let mut run = (0.0, vec![want]);
        run.0 = start(&run.1, line, top, bottom);
        while let Some(before) = runs.pop_if(|before| before.0 + before.1.len() as f64 * line > run.0) {
            let joined: Vec<f64> = before.1.into_iter().chain(run.1).collect();
            run = (start(&joined, line, top, bottom), joined);
        }
        runs.push(run);
    }
    let places =
        |(start, run): &(f64, Vec<f64>)| (0..run.len()).map(move |at| start + at as f64 * line).collect();
    runs.iter().flat_map(|run| -> Vec<f64> { places(&(run.0, run.1.clone())) }).collect()
}

/// Returns the height of the first name in a run of touching names.
fn start(run: &[f64], line: f64, top: f64, bottom: f64) -> f64 {
    let tall = (run.len() as f64 - 1.0) * line;
    let middle = run.iter().sum::<f64>() / run.len() as f64;
    (middle - tall / 2.0).min(bottom - tall).max(top)
}
