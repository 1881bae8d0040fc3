//! The native module of the Python package. It only translates between Python and the other crates. The package's
//! Python files document what users see.

mod answer;
mod arena;
mod command;
mod error;
mod explain;
mod results;
mod run;
mod scenario;
mod scheduler;
mod single;
mod statistics;
mod sweep;
mod table;
mod view;

use pyo3::prelude::*;

/// The native part of pathweave.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::answer::{Assign, Wait};
    #[pymodule_export]
    use crate::arena::{Arena, arena};
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::explain::{Explanation, explain_run, validate};
    #[pymodule_export]
    use crate::results::{RunSet, run_metrics};
    #[pymodule_export]
    use crate::run::{compare, counted, default_schedulers, listing};
    #[pymodule_export]
    use crate::scenario::Document;
    #[pymodule_export]
    use crate::single::Single;
    #[pymodule_export]
    use crate::statistics::{better, difference, estimate, looks, meant};
    #[pymodule_export]
    use crate::sweep::{Plan, program_of};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::view::{Event, SubflowView, View};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        pathweave_runner::remember_places();
        module.add("version", env!("CARGO_PKG_VERSION"))
    }
}
