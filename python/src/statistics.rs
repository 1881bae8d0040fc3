//! Statistics, directions of metrics and schedulers' looks, for tables and charts; and the names that were probably meant by wrong ones.

use pathweave_lab::metric::{self, Better};
use pathweave_report::{COLOURS, DASHES, Difference, Estimate, Look};
use pyo3::prelude::*;

/// The mean and its 95 % interval, which has no width for a single value; `None` if there are no values.
#[pyfunction]
pub(crate) fn estimate(values: Vec<f64>) -> Option<(f64, f64, f64)> {
    let Estimate { mean, interval, .. } = Estimate::of(&values)?;
    let (low, high) = interval.unwrap_or((mean, mean));
    Some((mean, low, high))
}

/// The mean of the differences of these pairs, its 95 % interval, whether it is significant, and whether all differences
/// are 0. With one pair there is no interval, and whether it is significant is `None`. `None` if there are no pairs.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "Python's side gives each of them a name")]
pub(crate) fn difference(pairs: Vec<(f64, f64)>) -> Option<(f64, Option<f64>, Option<f64>, Option<bool>, bool)> {
    let found = Difference::of(&pairs)?;
    let (low, high) = found.bounds().unzip();
    Some((found.mean(), low, high, found.is_significant(), found.is_equal))
}

/// The names that were probably meant, as in the engine's own errors.
#[pyfunction]
pub(crate) fn meant(wanted: &str, names: Vec<String>) -> Vec<String> {
    pathweave_algorithms::meant(wanted, names.iter().map(String::as_str)).into_iter().map(str::to_owned).collect()
}

/// Whether "more" or "less" of a metric of sweeps is better; `None` if it describes the run, or is no metric.
#[pyfunction]
pub(crate) fn better(name: &str) -> Option<&'static str> {
    match metric::better(name)? {
        Better::More => Some("more"),
        Better::Less => Some("less"),
        Better::Neither => None,
    }
}

/// The colours on light and on dark ground, and the dashes, of each scheduler, by their names, as on the pages.
#[pyfunction]
pub(crate) fn looks(names: Vec<String>) -> Vec<(&'static str, &'static str, Vec<u32>)> {
    let found = pathweave_report::looks(names.iter().map(String::as_str));
    let look = |look: Look| {
        let (light, dark) = COLOURS[look.colour];
        (light, dark, DASHES[look.dash].to_vec())
    };
    found.into_iter().map(look).collect()
}
