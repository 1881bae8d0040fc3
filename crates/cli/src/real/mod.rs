//! Commands with real packets, on Linux, behind the feature `tun`.

pub(crate) mod args;
pub(crate) mod emulate;
pub(crate) mod perf;
mod perf_json;
mod settings;
