//! The ratios of figures 4 and 8 that the paper gives, and ours.

use serde::Serialize;
use terse_sim::compare::itls::{Figure, Point, Ratio, SecurityLevel, Series};

use super::Evaluation;

/// The least and the greatest value of a ratio, where the paper gives both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Range {
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
}

/// A ratio that the paper gives, of one identity mode, at one security level.
pub(super) struct Compared<'a> {
    /// What the paper says.
    pub(super) said: &'a Ratio,
    pub(super) level: SecurityLevel,
    pub(super) of: Series,
    pub(super) to: Series,
    /// The range over all values of the abscissa.
    pub(super) ours: Range,
}

impl Compared<'_> {
    /// Returns the paper's range.
    pub(super) const fn paper(&self) -> Range {
        Range { least: self.said.least, most: self.said.most }
    }
}

impl Evaluation {
    /// Returns a ratio of the paper for each identity mode, and at each level that the paper's sentence is about.
    pub(super) fn ratios<'a>(&'a self, said: &'a Ratio) -> impl Iterator<Item = Compared<'a>> {
        let figure = Figure::ALL.into_iter().find(|figure| figure.number() == said.figure);
        let levels = SecurityLevel::ALL.into_iter().filter(move |level| said.level.is_none_or(|said| said == *level));
        levels.flat_map(move |level| {
            let identities = figure.map(Figure::identities).into_iter().flatten();
            identities.filter_map(move |of| self.ratio(said, figure?, level, of))
        })
    }

    fn ratio<'a>(&self, said: &'a Ratio, figure: Figure, level: SecurityLevel, of: Series) -> Option<Compared<'a>> {
        let is_meant = |series: &&Series| series.name_in_paper() == Some(&*said.to);
        let to = *figure.series().iter().find(is_meant)?;
        let values = figure.xs().iter().filter_map(|x| {
            let value = |series| Some(self.value(&Point { figure, level, mtu: said.mtu, x: *x, series })?.value.mean);
            Some(value(of)? / value(to)?)
        });
        let (mut least, mut most) = (None, None);
        for value in values {
            least = Some(least.map_or(value, |least: f64| least.min(value)));
            most = Some(most.map_or(value, |most: f64| most.max(value)));
        }
        Some(Compared { said, level, of, to, ours: Range { least, most } })
    }
}
