//! The command `pathweave`: it reads arguments and files, spreads runs over threads and writes the results.
//!
//! With your own registry it compares schedulers from outside this repository. This is a whole program:
//!
//! ```no_run
//! use pathweave::Registry;
//!
//! fn main() -> std::process::ExitCode {
//!     let registry = Registry::builtin(); // .with_scheduler(my_entry)
//!     pathweave::main_with(registry)
//! }

mod ablate;
mod arena_point;
mod args;
mod compare;
mod experiment;
mod explain;
mod failure;
mod key_value;
mod list;
mod manual;
mod new_scheduler;
mod output;
#[cfg(feature = "parquet")]
mod parquet_file;
mod pcap;
#[cfg(all(feature = "tun", target_os = "linux"))]
mod real;
mod reproduce;
mod shard;
mod sweep;
mod terminal;
mod validate;

pub use pathweave_algorithms::Registry;

use args::{Arguments, Command};
use clap::Parser;
use pathweave_runner::{remember_places, simulate};
use std::process::ExitCode;

/// Runs the command with the process's arguments and these schedulers and controllers.
///
/// Exit codes: 0 on success; 1 if a run failed, a scheduler's run stalled, a check failed or an output could not be
/// written; 2 if the input is wrong; 130 if Ctrl-C stopped the runs.
pub fn main_with(registry: Registry) -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    remember_places();
    let outcome = match arguments.command {
        Command::Compare(options) => compare::compare(&options, &registry, &simulate),
        Command::Explain(options) => explain::explain(&options, &registry),
        Command::Sweep(options) => sweep::sweep(&options, &registry, &simulate),
        Command::Arena(options) => match &options.point {
            Some(wanted) => arena_point::point(&options, wanted, &registry, &simulate),
            None => sweep::arena(&options, &registry, &simulate),
        },
        Command::Reproduce(options) => reproduce::reproduce(&options, &registry, &simulate),
        Command::Validate(options) => validate::validate(&options, &registry),
        Command::NewScheduler(options) => new_scheduler::write(&options, &registry),
        #[cfg(all(feature = "tun", target_os = "linux"))]
        Command::Perf(options) => real::perf::perf(&options, &registry),
        #[cfg(all(feature = "tun", target_os = "linux"))]
        Command::Emulate(options) => real::emulate::emulate(&options, &registry),
        Command::List(options) => list::list(&options, &registry),
        Command::Completions { shell } => manual::completions(shell, &registry),
        Command::Man { folder } => manual::man(&folder),
    };
    outcome.unwrap_or_else(|failure| failure::report(&failure))
}
