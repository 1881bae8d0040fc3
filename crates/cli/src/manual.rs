//! Shell completions and manual pages.

use crate::args::Arguments;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::BUILTIN;
use pathweave_runner::Failure;
use std::io::{self, Write};
use std::path::Path;

/// The command with the values that its arguments may have. Shells offer these; they do not restrict what can be typed.
fn with_names(registry: &Registry) -> Command {
    let schedulers: Vec<String> = registry.schedulers().iter().map(|factory| factory.name().to_owned()).collect();
    let all = || PossibleValuesParser::new(["all".to_owned()].into_iter().chain(schedulers.clone()));
    let one = || PossibleValuesParser::new(schedulers.clone());
    let scenarios = || PossibleValuesParser::new(BUILTIN.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let controllers = || {
        let settings = registry.controllers().iter().map(|factory| format!("connection.congestion={}", factory.name()));
        PossibleValuesParser::new(settings.collect::<Vec<_>>())
    };
    Arguments::command()
        .mut_subcommand("compare", |c| {
            c.mut_arg("scenarios", |a| a.value_parser(scenarios()))
                .mut_arg("schedulers", |a| a.value_parser(all()))
                .mut_arg("against", |a| a.value_parser(one()))
                .mut_arg("why", |a| a.value_parser(one()))
                .mut_arg("settings", |a| a.value_parser(controllers()))
        })
        .mut_subcommand("explain", |c| {
            c.mut_arg("scenario", |a| a.value_parser(scenarios()))
                .mut_arg("scheduler", |a| a.value_parser(one()))
                .mut_arg("settings", |a| a.value_parser(controllers()))
        })
        .mut_subcommand("validate", |c| c.mut_arg("schedulers", |a| a.value_parser(one())))
}

/// Writes a shell's completions to standard output.
pub(crate) fn completions(shell: clap_complete::Shell, registry: &Registry) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_names(registry), "pathweave", &mut script);
    io::stdout().lock().write_all(&script).map_err(Failure::writing("standard output"))?;
    Ok(0)
}

/// Writes a manual page for the command and for each subcommand.
pub(crate) fn man(folder: &Path) -> Result<u8, Failure> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
        .map_err(Failure::writing(folder.display()))?;
    Ok(0)
}
