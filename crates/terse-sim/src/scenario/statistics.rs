//! Statistics of the runs of a row: the mean with its interval, and the box of a box plot.

/// The distribution of a quantity over the runs that were connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Statistics {
    /// The number of values.
    pub count: usize,
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a sample (n - 1).
    pub sd: f64,
    /// The least value.
    pub least: f64,
    /// The lower quartile.
    pub lower_quartile: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub upper_quartile: f64,
    /// The value that 95 % do not exceed.
    pub p95: f64,
    /// The greatest value.
    pub greatest: f64,
}

impl Statistics {
    /// Returns the statistics of some values; all are 0 if there is none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (Some(least), Some(greatest)) = (values.first(), values.last()) else { return Self::default() };
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self {
            count,
            mean,
            sd: if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 },
            least: *least,
            lower_quartile: quantile(&values, 0.25),
            median: quantile(&values, 0.5),
            upper_quartile: quantile(&values, 0.75),
            p95: quantile(&values, 0.95),
            greatest: *greatest,
        }
    }

    /// Returns the value that this share of some values do not exceed; `None` if there are none.
    pub fn quantile(values: impl IntoIterator<Item = f64>, share: f64) -> Option<f64> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then(|| quantile(&values, share))
    }

    /// Returns half of the width of the 95 % interval of the mean (Student's t); `None` of a single value.
    pub fn half_interval(&self) -> Option<f64> {
        let freedom = self.count.checked_sub(1).filter(|freedom| *freedom > 0)?;
        Some(students_t(freedom) * self.sd / (self.count as f64).sqrt())
    }

    /// Returns the ends of the whiskers: the outermost values within one and a half times the box's height from the box
    /// (Tukey).
    pub fn whiskers(&self, values: &[f64]) -> (f64, f64) {
        let reach = 1.5 * (self.upper_quartile - self.lower_quartile);
        let (from, to) = (self.lower_quartile - reach, self.upper_quartile + reach);
        let inside = values.iter().copied().filter(|value| (from..=to).contains(value));
        inside.fold((self.lower_quartile, self.upper_quartile), |(least, most), value| {
            (least.min(value), most.max(value))
        })
    }
}

/// Returns a quantile of sorted values, interpolated between the two that are nearest (Hyndman and Fan's type 7).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() as f64 - 1.0);
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    match (sorted.get(below), sorted.get(above)) {
        (Some(below), Some(above)) => below + (above - below) * place.fract(),
        _ => 0.0,
    }
}

/// Returns the 97.5 % quantile of Student's t with so many degrees of freedom.
fn students_t(freedom: usize) -> f64 {
    if let Some(exact) = freedom.checked_sub(1).and_then(|place| FEW.get(place)) {
        return *exact;
    }
    // Cornish and Fisher's expansion around the normal quantile; its error is below 0.001 from ten degrees on.
    let (n, z) = (freedom as f64, 1.959_963_985_f64);
    z + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * n.powi(3))
}

/// The quantile for one to nine degrees of freedom, from tables.
const FEW: [f64; 9] =
    [12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_five_values_by_hand() {
        let statistics = Statistics::of([4.0, 1.0, 2.0, 3.0, 10.0]);
        assert_eq!((statistics.count, statistics.mean, statistics.median), (5, 4.0, 3.0));
        assert_eq!(statistics.sd, (50.0_f64 / 4.0).sqrt());
        assert_eq!((statistics.least, statistics.greatest), (1.0, 10.0));
        assert_eq!((statistics.lower_quartile, statistics.upper_quartile), (2.0, 4.0));
        assert!((statistics.p95 - 8.8).abs() < 1e-9);
        assert_eq!(Statistics::quantile([4.0, 1.0, 2.0, 3.0, 10.0], 0.99), Some(4.0 + 6.0 * 0.96));
        assert_eq!(Statistics::quantile([], 0.99), None);
        assert_eq!(statistics.whiskers(&[1.0, 2.0, 3.0, 4.0, 10.0]), (1.0, 4.0), "10 is an outlier: above 7");
        let half = statistics.half_interval().expect("five values");
        assert!((half - 2.776_445 * statistics.sd / 5.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn few_values_have_no_interval() {
        assert_eq!(Statistics::of([]), Statistics::default());
        let one = Statistics::of([7.0]);
        assert_eq!((one.mean, one.sd, one.median, one.p95), (7.0, 0.0, 7.0, 7.0));
        assert_eq!(one.half_interval(), None);
    }

    #[test]
    fn students_t_is_that_of_tables() {
        for (freedom, t) in [(1, 12.706), (4, 2.776), (5, 2.571), (9, 2.262), (10, 2.228), (19, 2.093), (199, 1.972)] {
            assert!((students_t(freedom) - t).abs() < 0.001, "{freedom}: {}", students_t(freedom));
        }
    }
}
