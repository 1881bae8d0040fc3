//! Messages for errors that end the command.

use crate::terminal;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode, SourceSpan};
use pathweave_lab::scenario::{Problem, ScenarioError};
use pathweave_runner::Failure;
use std::fmt;
use std::io::{self, IsTerminal, Write};

/// Prints the message to standard error and returns the exit code.
pub(crate) fn report(failure: &Failure) -> u8 {
    let mut err = io::stderr().lock();
    let _ = match failure {
        Failure::Scenario(error) if err.is_terminal() => err.write_all(drawn(error).as_bytes()),
        Failure::Closed => Ok(()),
        _ => writeln!(err, "{}: {failure}", terminal::error()),
    };
    match failure {
        Failure::Scenario(_) | Failure::Input(_) => 2,
        Failure::Output(_) => 1,
        Failure::Closed => 0,
    }
}

/// The lines around the mistake with the mistake marked, for a terminal.
fn drawn(error: &ScenarioError) -> String {
    let place = Place { error, source: NamedSource::new(&error.file, error.source.to_string()) };
    let theme = match terminal::error_has_colours() {
        true => GraphicalTheme::unicode(),
        false => GraphicalTheme::unicode_nocolor(),
    };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(terminal::error_columns());
    let mut text = String::new();
    match handler.render_report(&mut text, &place) {
        Ok(()) => text,
        Err(_) => format!("error: {error}\n"),
    }
}

#[derive(Debug)]
struct Place<'a> {
    error: &'a ScenarioError,
    source: NamedSource<String>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScenarioError { key, value, .. } = self.error;
        match self.error.problem {
            Problem::Syntax => f.write_str("this is not valid TOML"),
            Problem::UnknownKey => write!(f, "there is no setting called {key}"),
            Problem::Missing => write!(f, "{key} is missing"),
            Problem::Value | Problem::Conflict => write!(f, "{key} cannot be {value}"),
        }
    }
}

impl std::error::Error for Place<'_> {}

impl Diagnostic for Place<'_> {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = SourceSpan::from(self.error.span.clone());
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some("here".into()), span))))
    }

    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        let allowed = &self.error.allowed;
        Some(match (self.error.problem, self.error.suggestion()) {
            (Problem::Syntax, _) => Box::new(allowed),
            (_, Some(names)) => Box::new(format!("{names} Allowed: {allowed}")),
            (_, None) => Box::new(format!("allowed: {allowed}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_algorithms::Registry;
    use pathweave_lab::scenario::{Document, Variant};

    #[test]
    fn a_terminal_shows_the_place() {
        let text =
            "format = 1\nname = \"x\"\nduration = \"5 parsecs\"\n\n[[path]]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n";
        let document = Document::parse("x.toml", text).expect("it is TOML");
        let error = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect_err("the duration is wrong");
        let drawn = drawn(&error);
        for part in ["x.toml:3", "5 parsecs", "here", "allowed: "] {
            assert!(drawn.contains(part), "{part} is missing:\n{drawn}");
        }
    }
}
