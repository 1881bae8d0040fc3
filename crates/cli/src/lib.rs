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
mod arena;
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
#[cfg(not(all(feature = "tun", target_os = "linux")))]
use pathweave_runner::Failure;
use pathweave_runner::{remember_places, simulate};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the command with the process's arguments and these schedulers and controllers.
///
/// Exit codes: 0 on success; 1 if a run failed, a scheduler's run stalled, a check failed or an output could not be
/// written; 2 if the input is wrong; 130 if Ctrl-C stopped the runs.
pub fn main_with(registry: Registry) -> ExitCode {
    ExitCode::from(main_of(std::env::args_os(), None, registry))
}

/// Runs the command inside of another program. Returns the exit code, which is that of [`main_with`].
///
/// The first of the `arguments` is the command's name. `program` is the file that has the command's code, if that is
/// not the process's own file. A sweep keeps the file's hash, and continues only runs of the same program.
pub fn main_of(arguments: impl IntoIterator<Item = OsString>, program: Option<PathBuf>, registry: Registry) -> u8 {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    if let Some(program) = program {
        shard::set_program(program);
    }
    remember_places();
    let outcome = match arguments.command {
        Command::Compare(options) => compare::compare(&options, &registry, &simulate),
        Command::Explain(options) => explain::explain(&options, &registry),
        Command::Sweep(options) => sweep::sweep(&options, &registry, &simulate),
        Command::Arena(options) => match &options.point {
            Some(wanted) => arena_point::point(&options, wanted, &registry, &simulate),
            None => arena::arena(&options, &registry, &simulate),
        },
        Command::Reproduce(options) => reproduce::reproduce(&options, &registry, &simulate),
        Command::Validate(options) => validate::validate(&options, &registry),
        Command::NewScheduler(options) => new_scheduler::write(&options, &registry),
        #[cfg(all(feature = "tun", target_os = "linux"))]
        Command::Perf(options) => real::perf::perf(&options, &registry),
        #[cfg(all(feature = "tun", target_os = "linux"))]
        Command::Emulate(options) => real::emulate::emulate(&options, &registry),
        #[cfg(not(all(feature = "tun", target_os = "linux")))]
        Command::Perf(_) | Command::Emulate(_) => Err(Failure::Input(NO_REAL_PACKETS.into())),
        Command::List(options) => list::list(&options, &registry),
        Command::Completions { shell } => manual::completions(shell, &registry),
        Command::Man { folder } => manual::man(&folder),
    };
    outcome.unwrap_or_else(|failure| failure::report(&failure))
}

/// The answer of `perf` and `emulate` in a build without them.
#[cfg(not(all(feature = "tun", target_os = "linux")))]
const NO_REAL_PACKETS: &str = "this build has no commands for real packets. perf and emulate are in the archive and the Debian \
    package of a release, for Linux; in a clone of the repository, this installs them: \
    cargo install --path crates/cli --features tun";
