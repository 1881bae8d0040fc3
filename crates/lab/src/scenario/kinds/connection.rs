//! Parsers of the settings of a connection.

use crate::scenario::data::{Algorithm, Gaps, Workload};
use crate::value_parser::compound::{Compound, compound};
use crate::value_parser::compound::{Kind, Part, needs, one_of, takes};
use crate::value_parser::{PositiveRate, Size, ValueParser, Whole, Wrong, narrowed};
use pathweave_proto::config::{Pacing, PathManager, ReceiveBuffer};
use pathweave_units::Duration;
use schemars::{Schema, json_schema};

/// Default size of a request: a GET with a browser's usual headers, bytes.
const REQUEST: u64 = 500;
/// Number of connections that a browser opens to one server.
const BROWSER_CONNECTIONS: u8 = 6;

/// Reads the workloads `cbr` and `poisson`.
fn messages(c: &mut Compound, gaps: Gaps) -> Result<Workload, Wrong> {
    Ok(Workload::Messages {
        rate: c.required::<PositiveRate>("rate")?,
        message: c.required::<Size>("message")?,
        gaps,
        size: c.optional::<Size>("size")?,
    })
}

compound!(
    /// The data to send.
    WorkloadParser: Workload,
    "bulk, transfer:size=64MiB, cbr:rate=1Mbps:message=5KiB, poisson:rate=1Mbps:message=1000B or web:objects=15:size=72KiB",
    |c| Ok(Some(match c.name.as_str() {
        "bulk" => Workload::Bulk,
        "transfer" => Workload::Transfer { size: c.required::<Size>("size")? },
        "cbr" => messages(c, Gaps::Even)?,
        "poisson" => messages(c, Gaps::Exponential)?,
        "web" => {
            let objects = c.required::<Whole<1, 100_000>>("objects")?;
            let size = c.required::<Size>("size")?;
            if size < u64::from(objects) {
                let allowed = format!("at least a byte for each of {objects} objects");
                return Err(Wrong::in_part("size", Size::write(&size), allowed));
            }
            let request = c.optional::<RequestSize>("request")?.unwrap_or(REQUEST);
            let connections = c.optional::<Whole<1, 32, u8>>("connections")?.unwrap_or(BROWSER_CONNECTIONS);
            Workload::Web { objects, size, request, connections }
        }
        _ => return Ok(None),
    })),
    |workload| match workload {
        Workload::Bulk => "bulk".into(),
        Workload::Transfer { size } => format!("transfer:size={}", Size::write(size)),
        Workload::Messages { rate, message, gaps, size } => {
            let name = match gaps {
                Gaps::Even => "cbr",
                Gaps::Exponential => "poisson",
            };
            let size = size.map_or(String::new(), |size| format!(":size={}", Size::write(&size)));
            format!("{name}:rate={rate}:message={}{size}", Size::write(message))
        }
        Workload::Web { objects, size, request, connections } => {
            let (size, request) = (Size::write(size), RequestSize::write(request));
            format!("web:objects={objects}:size={size}:request={request}:connections={connections}")
        }
    },
    [
        "bulk",
        "transfer:size=64MiB",
        "cbr:rate=1Mbps:message=5KiB",
        "cbr:rate=1Mbps:message=5KiB:size=10MiB",
        "poisson:rate=1Mbps:message=1000B",
        "web:objects=15:size=72KiB",
        "web:objects=1:size=300KB:connections=1",
    ],
    [
        Kind { name: "bulk", about: "Writes all the time", parts: &[] },
        Kind {
            name: "transfer",
            about: "Writes this much and closes; the completion time is measured",
            parts: &[needs("size", "how much", Size::schema)],
        },
        Kind {
            name: "cbr",
            about: "Writes messages of one size at a constant rate; each message's delay is measured",
            parts: &MESSAGES,
        },
        Kind {
            name: "poisson",
            about: "Writes messages of one size at exponentially distributed intervals; each message's delay is measured",
            parts: &MESSAGES,
        },
        Kind {
            name: "web",
            about: "Loads a web page: the client asks for one object after the other over several connections, and the server \
                    answers; each object's delay and the page's completion time are measured",
            parts: &[
                needs("objects", "how many objects the page has", Whole::<1, 100_000>::schema),
                needs("size", "their total size; all objects have the same size", Size::schema),
                takes("request", "the size of a request (500B)", RequestSize::schema),
                takes("connections", "how many connections load the page together (6)", Whole::<1, 32>::schema),
            ],
        },
    ]
);

const MESSAGES: [Part; 3] = [
    needs("rate", "the rate of the application's data", PositiveRate::schema),
    needs("message", "the size of a message", Size::schema),
    takes("size", "how much is written before the connection closes (no limit)", Size::schema),
];

narrowed!(
    /// The size of a request, small enough to fit into every send buffer.
    RequestSize: Size, "from 1B to 64KiB", |size| *size <= 64 << 10, ["500B"]
);

compound!(
    /// Whether data is paced. A simulated device gets each segment at the time when it is to leave, so there is no
    /// horizon.
    PacingParser: Pacing,
    "off, on or on:limit=10Mbps",
    |c| Ok(Some(match c.name.as_str() {
        "off" => Pacing::Off,
        "on" => Pacing::On { limit: c.optional::<PositiveRate>("limit")?, horizon: Duration::ZERO },
        _ => return Ok(None),
    })),
    |pacing| match pacing {
        Pacing::Off => "off".into(),
        Pacing::On { limit: None, .. } => "on".into(),
        Pacing::On { limit: Some(limit), .. } => format!("on:limit={limit}"),
    },
    ["off", "on", "on:limit=10Mbps"],
    [
        Kind { name: "off", about: "Data leaves as soon as the windows let it", parts: &[] },
        Kind {
            name: "on",
            about: "Data leaves at the rate of the congestion controller or of the host",
            parts: &[takes("limit", "the highest rate of each subflow's data (no limit)", PositiveRate::schema)],
        },
    ]
);

compound!(
    /// The subflows that a client opens.
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

/// A scheduler (or else a congestion controller) with its parameters. Whether the registry has it is checked later.
pub(crate) struct AlgorithmParser<const SCHEDULER: bool>;

/// A scheduler with its parameters.
pub(crate) type SchedulerParser = AlgorithmParser<true>;

/// A congestion controller with its parameters.
pub(crate) type ControllerParser = AlgorithmParser<false>;

impl<const SCHEDULER: bool> ValueParser for AlgorithmParser<SCHEDULER> {
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
        if SCHEDULER { &["minrtt", "blest:lambda=1.2"] } else { &["cubic", "vegas:alpha=4"] }
    }
}
