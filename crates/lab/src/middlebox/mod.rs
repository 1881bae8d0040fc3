//! Middleboxes, which change segments on their way.
//!
//! All middleboxes of a path are at its client's end, in the scenario's order, beginning next to the client. The
//! client's segments pass them before the path's first link. The server's segments pass them after the path's last
//! link, in reverse order. Middleboxes change typed segments, and make or hold back segments of their own. A path
//! without middleboxes has no cost.
//!
//! A middlebox is a file and a name in `middleboxes!`. The file says how a scenario writes it (`KIND`, `EXAMPLE`,
//! `read`), and has a type for its settings (`Settings`) and one that does the work (`Element`).

mod chain;
mod coalesce;
mod edit;
mod isn;
mod mtu;
mod nat;
mod proactive_ack;
mod split;
mod strip;

use crate::value_parser::compound::Kind;
use crate::value_parser::compound::{Compound, compound};
use crate::value_parser::{Size, Time, Wrong, narrowed, words};
use chain::Flows;
pub(crate) use chain::{Direction, Element, Middleboxes, Passing};
use core::fmt;
use pathweave_units::Duration;
use pathweave_units::random::Random;
use std::sync::Arc;

macro_rules! middleboxes {
    ($($file:ident),+ $(,)?) => {
        const KINDS: &[Kind] = &[$($file::KIND),+];
        const EXAMPLES: &[&str] = &[$($file::EXAMPLE),+];

        /// Reads a middlebox; `None` if no middlebox has this name.
        fn read(c: &mut Compound) -> Result<Option<Middlebox>, Wrong> {
            $(if c.name == $file::KIND.name {
                return $file::read(c).map(|settings| Some(Middlebox(Arc::new(settings))));
            })+
            Ok(None)
        }
    };
}

middleboxes!(strip, isn, nat, split, coalesce, edit, proactive_ack, mtu);

/// The settings of a middlebox in a scenario.
pub(crate) trait Settings: fmt::Debug + Send + Sync {
    /// The settings as text, with every part.
    fn text(&self) -> String;

    /// Makes the middlebox with these settings.
    fn element(&self, random: Random) -> Box<dyn Element>;
}

/// A middlebox of a path, as a scenario describes it. Its text is the scenario's form.
#[derive(Clone, Debug)]
pub struct Middlebox(Arc<dyn Settings>);

impl Middlebox {
    fn element(&self, random: Random) -> Box<dyn Element> {
        self.0.element(random)
    }
}

impl fmt::Display for Middlebox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text())
    }
}

impl PartialEq for Middlebox {
    fn eq(&self, other: &Self) -> bool {
        self.0.text() == other.0.text()
    }
}

compound!(
    /// A middlebox in a scenario.
    MiddleboxParser: Middlebox,
    EXAMPLES.split_last().map_or_else(String::new, |(last, first)| format!("{} or {last}", first.join(", "))),
    read,
    Middlebox::to_string,
    *EXAMPLES,
    *KINDS
);

/// One direction of a path, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Both directions.
    Both,
    /// From the client.
    Up,
    /// To the client.
    Down,
}

words!(/// One direction of a path, or both.
WayParser: Way { "both" => Way::Both, "up" => Way::Up, "down" => Way::Down });

/// Reads the part `direction`; the default is both.
fn direction(c: &mut Compound) -> Result<Way, Wrong> {
    Ok(c.optional::<WayParser>("direction")?.unwrap_or(Way::Both))
}

/// Reads the part `after`, a time of the run; the default is the start.
fn after(c: &mut Compound) -> Result<Duration, Wrong> {
    Ok(c.optional::<Time>("after")?.unwrap_or(Duration::ZERO))
}

narrowed!(
    /// A number of bytes that an IP packet can carry.
    DataSize: Size, "a size from 1B to 60KB", |size| *size <= 60_000, ["500B", "4KB"]
);
