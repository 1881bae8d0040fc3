//! Statistics and directions of metrics, for charts.

use pathweave_lab::metric::{self, Better};
use pathweave_report::Estimate;
use pyo3::prelude::*;

/// The mean and its 95 % interval, which has no width for a single value; `None` if there are no values.
#[pyfunction]
pub(crate) fn estimate(values: Vec<f64>) -> Option<(f64, f64, f64)> {
    let Estimate { mean, interval, .. } = Estimate::of(&values)?;
    let (low, high) = interval.unwrap_or((mean, mean));
    Some((mean, low, high))
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
