//! Parsers of what a connection is made of.

use crate::scenario::data::{Algorithm, Workload};
use crate::value_parser::choice::{Kind, needs, one_of, takes};
use crate::value_parser::compound::{Compound, compound};
use crate::value_parser::{PositiveRate, Size, ValueParser, Whole, Wrong};
use pathweave_proto::config::{PathManager, ReceiveBuffer};
use schemars::{Schema, json_schema};

compound!(
    /// What is sent.
    WorkloadParser: Workload,
    "bulk, transfer:size=64MiB or cbr:rate=1Mbps:message=5KiB",
    |c| Ok(Some(match c.name.as_str() {
        "bulk" => Workload::Bulk,
        "transfer" => Workload::Transfer { size: c.required::<Size>("size")? },
        "cbr" => Workload::Cbr {
            rate: c.required::<PositiveRate>("rate")?,
            message: c.required::<Size>("message")?,
            size: c.optional::<Size>("size")?,
        },
        _ => return Ok(None),
    })),
    |workload| match workload {
        Workload::Bulk => "bulk".into(),
        Workload::Transfer { size } => format!("transfer:size={}", Size::write(size)),
        Workload::Cbr { rate, message, size } => {
            let size = size.map_or(String::new(), |size| format!(":size={}", Size::write(&size)));
            format!("cbr:rate={rate}:message={}{size}", Size::write(message))
        }
    },
    ["bulk", "transfer:size=64MiB", "cbr:rate=1Mbps:message=5KiB", "cbr:rate=1Mbps:message=5KiB:size=10MiB"],
    [
        Kind { name: "bulk", about: "Writes all the time", parts: &[] },
        Kind {
            name: "transfer",
            about: "Writes this much and closes; the completion time is measured",
            parts: &[needs("size", "how much", Size::schema)],
        },
        Kind {
            name: "cbr",
            about: "Writes messages of one size at a constant rate",
            parts: &[
                needs("rate", "the rate of the application's data", PositiveRate::schema),
                needs("message", "the size of a message", Size::schema),
                takes("size", "how much is written before the connection closes (no limit)", Size::schema),
            ],
        },
    ]
);

compound!(
    /// Which subflows a client opens.
    PathManagerParser: PathManager,
    "default, fullmesh or ndiffports:n=2",
    |c| Ok(Some(match c.name.as_str() {
        "default" => PathManager::Default,
        "fullmesh" => PathManager::FullMesh,
        "ndiffports" => PathManager::NDiffPorts(c.required::<Whole<1, 32, u8>>("n")?),
        _ => return Ok(None),
    })),
    |manager| match manager {
        PathManager::Default => "default".into(),
        PathManager::FullMesh => "fullmesh".into(),
        PathManager::NDiffPorts(n) => format!("ndiffports:n={n}"),
    },
    ["default", "fullmesh", "ndiffports:n=2"],
    [
        Kind { name: "default", about: "A subflow from each further local address", parts: &[] },
        Kind { name: "fullmesh", about: "A subflow between each pair of addresses", parts: &[] },
        Kind {
            name: "ndiffports",
            about: "Several subflows over the first pair of addresses",
            parts: &[needs("n", "how many", Whole::<1, 32>::schema)],
        },
    ]
);

/// A receive buffer: a size, or `auto` and a range.
pub(crate) struct ReceiveBufferParser;

impl ValueParser for ReceiveBufferParser {
    type Value = ReceiveBuffer;
    fn examples() -> &'static [&'static str] {
        &["60KB", "auto 128KiB..6MiB"]
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "examples": Self::examples() })
    }
    fn allowed() -> String {
        "a fixed size such as 60KB, or auto with a range such as auto 128KiB..6MiB".into()
    }
    fn parse(text: &str) -> Option<ReceiveBuffer> {
        let Some(range) = text.strip_prefix("auto") else { return Size::parse(text).map(ReceiveBuffer::Fixed) };
        let (initial, max) = range.split_once("..")?;
        let (initial, max) = (Size::parse(initial.trim())?, Size::parse(max.trim())?);
        (initial <= max).then_some(ReceiveBuffer::Auto { initial, max })
    }
    fn write(value: &ReceiveBuffer) -> String {
        match value {
            ReceiveBuffer::Fixed(size) => Size::write(size),
            ReceiveBuffer::Auto { initial, max } => format!("auto {}..{}", Size::write(initial), Size::write(max)),
        }
    }
}

/// An algorithm with its parameters; whether the registry knows it is not looked at here.
pub(crate) struct AlgorithmParser;

impl ValueParser for AlgorithmParser {
    type Value = Algorithm;
    fn allowed() -> String {
        "a name, with parameters after colons: name:key=value:key=value".into()
    }
    fn parse(text: &str) -> Option<Algorithm> {
        Self::read(text).ok()
    }
    fn read(text: &str) -> Result<Algorithm, Wrong> {
        let compound = Compound::parse(text)?;
        if compound.name.is_empty() {
            return Err(Wrong::new(Self::allowed()));
        }
        let name = compound.name.clone();
        Ok(Algorithm { name, given: compound.into_given() })
    }
    fn write(value: &Algorithm) -> String {
        value.to_string()
    }
    fn schema() -> Schema {
        let table = json_schema!({
            "type": "object", "required": ["kind"],
            "properties": { "kind": { "type": "string", "description": "the name; its parameters are further keys" } },
        });
        one_of(&[table.to_value()], Self::examples(), &[])
    }
    fn examples() -> &'static [&'static str] {
        &["minrtt", "blest:lambda=1.2"]
    }
}
