//! Middleboxes of a path: devices between client and server that change segments.
//!
//! A path lists them from the client on. All stand at the client's end of the path: what the client sends passes them before
//! the path's first link, what the server sends after its last.

use super::choice::{Kind, needs, takes};
use super::compound::Compound;
use super::kinds::compound;
use super::value_parser::{PositiveTime, Size, Time, ValueParser, Wrong, words};
use pathweave_units::Duration;

/// One middlebox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Middlebox {
    /// Takes all options of Multipath TCP out of segments.
    Strip {
        /// Which segments.
        on: StripOn,
        /// Those that come from this time of the run on.
        after: Duration,
        /// Those that go this way.
        direction: Way,
    },
    /// A firewall that gives every flow initial sequence numbers of its own (RFC 6528 done for hosts that do not).
    Isn,
    /// A network address translator: the server sees other ports than the client's.
    Nat {
        /// When it forgets all its bindings, from the start of the run: flows go on from another port.
        after: Option<Duration>,
    },
    /// Cuts data segments into smaller ones.
    Split {
        /// The most data of a segment behind it, bytes.
        size: u64,
        /// Where the options go.
        options: SplitOptions,
    },
    /// Joins data segments that follow each other in a flow.
    Coalesce {
        /// The most data of a joined segment, bytes.
        size: u64,
        /// How long a segment waits for the next one.
        wait: Duration,
        /// Which ones it joins.
        options: CoalesceOptions,
    },
    /// Changes one byte of every flow.
    Edit {
        /// Which: the first byte of a flow's data is number 1.
        at: u64,
        /// In the data that goes this way.
        direction: Way,
    },
    /// A performance-enhancing proxy that acknowledges the client's data in the server's place (RFC 3135 §3.1.2).
    ProactiveAck {
        /// How long its acknowledgement takes back to the sender.
        delay: Duration,
        /// From this time of the run on.
        after: Duration,
    },
}

/// Which segments lose their options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StripOn {
    /// Every one.
    All,
    /// A flow's SYN.
    Syn,
    /// Its SYN/ACK.
    SynAck,
    /// The first segment of the client that is no SYN, once.
    ThirdAck,
    /// The first segment with data of each direction, once.
    FirstData,
}

/// One direction of a path, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Both.
    Both,
    /// From the client.
    Up,
    /// To the client.
    Down,
}

/// Where the options of a segment go that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitOptions {
    /// Onto every piece, as segmentation offload does it.
    Copy,
    /// Onto the first piece; the others have none of Multipath TCP.
    First,
}

/// Which segments are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoalesceOptions {
    /// Any; the options of the first one stay.
    First,
    /// Those whose options are the same.
    Same,
}

words!(/// Which segments lose their options.
StripOnParser: StripOn {
    "all" => StripOn::All,
    "syn" => StripOn::Syn,
    "syn-ack" => StripOn::SynAck,
    "third-ack" => StripOn::ThirdAck,
    "first-data" => StripOn::FirstData,
});
words!(/// One direction of a path, or both.
WayParser: Way { "both" => Way::Both, "up" => Way::Up, "down" => Way::Down });
words!(/// Where the options of a segment go that is cut.
SplitOptionsParser: SplitOptions { "copy" => SplitOptions::Copy, "first" => SplitOptions::First });
words!(/// Which segments are joined.
CoalesceOptionsParser: CoalesceOptions { "first" => CoalesceOptions::First, "same" => CoalesceOptions::Same });

/// A number of bytes that an IP packet can carry.
struct DataSize;

impl ValueParser for DataSize {
    type Value = u64;
    fn examples() -> &'static [&'static str] {
        &["500B", "4KB"]
    }
    fn schema() -> schemars::Schema {
        Size::schema()
    }
    fn allowed() -> String {
        "a size from 1B to 60KB".into()
    }
    fn parse(text: &str) -> Option<u64> {
        Size::parse(text).filter(|size| *size <= 60_000)
    }
    fn write(value: &u64) -> String {
        Size::write(value)
    }
}

compound!(
    /// A middlebox.
    MiddleboxParser: Middlebox,
    "strip:on=syn, isn, nat:after=5s, split:size=500B, coalesce:size=4KB, edit:at=100KB or proactive-ack:delay=5ms",
    |c| Ok(Some(match c.name.as_str() {
        "strip" => Middlebox::Strip {
            on: c.required::<StripOnParser>("on")?,
            after: after(c)?,
            direction: direction(c)?,
        },
        "isn" => Middlebox::Isn,
        "nat" => Middlebox::Nat { after: c.optional::<Time>("after")? },
        "split" => Middlebox::Split {
            size: c.required::<DataSize>("size")?,
            options: c.optional::<SplitOptionsParser>("options")?.unwrap_or(SplitOptions::Copy),
        },
        "coalesce" => Middlebox::Coalesce {
            size: c.required::<DataSize>("size")?,
            wait: c.optional::<PositiveTime>("wait")?.unwrap_or(Duration::from_millis(1)),
            options: c.optional::<CoalesceOptionsParser>("options")?.unwrap_or(CoalesceOptions::First),
        },
        "edit" => Middlebox::Edit { at: c.required::<Size>("at")?, direction: direction(c)? },
        "proactive-ack" => Middlebox::ProactiveAck {
            delay: c.required::<PositiveTime>("delay")?,
            after: after(c)?,
        },
        _ => return Ok(None),
    })),
    |middlebox| match middlebox {
        Middlebox::Strip { on, after, direction } => {
            format!("strip:on={}:after={after}:direction={}", StripOnParser::write(on), WayParser::write(direction))
        }
        Middlebox::Isn => "isn".into(),
        Middlebox::Nat { after: None } => "nat".into(),
        Middlebox::Nat { after: Some(after) } => format!("nat:after={after}"),
        Middlebox::Split { size, options } => {
            format!("split:size={}:options={}", DataSize::write(size), SplitOptionsParser::write(options))
        }
        Middlebox::Coalesce { size, wait, options } => {
            let options = CoalesceOptionsParser::write(options);
            format!("coalesce:size={}:wait={wait}:options={options}", DataSize::write(size))
        }
        Middlebox::Edit { at, direction } => {
            format!("edit:at={}:direction={}", Size::write(at), WayParser::write(direction))
        }
        Middlebox::ProactiveAck { delay, after } => format!("proactive-ack:delay={delay}:after={after}"),
    },
    ["strip:on=syn", "isn", "nat:after=5s", "split:size=500B", "coalesce:size=4KB", "edit:at=100KB", "proactive-ack:delay=5ms"],
    [
        Kind {
            name: "strip",
            about: "Takes the options of Multipath TCP from segments",
            parts: &[
                needs("on", "from which segments", StripOnParser::schema),
                takes("after", "from this time on (0s)", Time::schema),
                takes("direction", "in which direction (both)", WayParser::schema),
            ],
        },
        Kind { name: "isn", about: "Gives each flow other sequence numbers", parts: &[] },
        Kind {
            name: "nat",
            about: "Changes the client's address and port",
            parts: &[takes("after", "and once more at this time (never)", Time::schema)],
        },
        Kind {
            name: "split",
            about: "Cuts segments into pieces",
            parts: &[
                needs("size", "the size of a piece", DataSize::schema),
                takes("options", "where the options go: onto every piece or the first (copy)", SplitOptionsParser::schema),
            ],
        },
        Kind {
            name: "coalesce",
            about: "Joins segments that follow each other",
            parts: &[
                needs("size", "the most data of a joined segment", DataSize::schema),
                takes("wait", "how long it waits for the next one (1ms)", PositiveTime::schema),
                takes("options", "any segments, or those whose options are the same (first)", CoalesceOptionsParser::schema),
            ],
        },
        Kind {
            name: "edit",
            about: "Changes a byte of the data",
            parts: &[
                needs("at", "which byte of the stream", Size::schema),
                takes("direction", "in which direction (both)", WayParser::schema),
            ],
        },
        Kind {
            name: "proactive-ack",
            about: "Acknowledges data before the receiver has it",
            parts: &[
                needs("delay", "how long after it has seen the data", PositiveTime::schema),
                takes("after", "from this time on (0s)", Time::schema),
            ],
        },
    ]
);

fn after(c: &mut Compound) -> Result<Duration, Wrong> {
    Ok(c.optional::<Time>("after")?.unwrap_or(Duration::ZERO))
}

fn direction(c: &mut Compound) -> Result<Way, Wrong> {
    Ok(c.optional::<WayParser>("direction")?.unwrap_or(Way::Both))
}
