//! Schedulers by name.

use crate::handle::Handle;
use crate::status::{Fault, Status};
use core::ffi::CStr;
use pathweave_algorithms::{Registry, did_you_mean};
use std::ffi::CString;
use std::sync::OnceLock;

/// Makes the scheduler called `name`. `given` has the parameters that differ from their defaults.
pub(crate) fn make(name: &str, given: &[(String, String)]) -> Result<Handle, Fault> {
    let registry = Registry::builtin();
    let factory = registry.scheduler(name).map_err(|error| {
        let names = registry.schedulers().iter().map(|factory| factory.name());
        let hint = did_you_mean(name, names, &format!("allowed: {}", error.allowed));
        Fault::new(Status::UnknownScheduler, format!("unknown scheduler `{name}`; {hint}"))
    })?;
    let parameters = factory.parameters();
    let chosen = registry.choose_scheduler(name, given);
    let made = chosen.and_then(|chosen| Ok(Handle::new(chosen.build()?, chosen.duplicates())));
    made.map_err(|error| {
        let names = || parameters.iter().map(|parameter| parameter.name);
        let text = if names().any(|name| name == error.name) {
            format!("{name}: {error}")
        } else {
            let hint = did_you_mean(&error.name, names(), &format!("allowed: {}", error.allowed));
            format!("{name}: unknown parameter `{}`; {hint}", error.name)
        };
        Fault::new(Status::Parameter, text)
    })
}

/// The name of the scheduler with this index, in the order of the registry.
pub(crate) fn name(index: usize) -> Option<&'static CStr> {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let registry = Registry::builtin();
        registry.schedulers().iter().filter_map(|factory| CString::new(factory.name()).ok()).collect()
    });
    names.get(index).map(CString::as_c_str)
}
