//! The parser of patterns of UDP traffic.

use crate::scenario::data::TrafficPattern;
use crate::value_parser::compound::{Compound, compound};
use crate::value_parser::compound::{Kind, Part, needs, takes};
use crate::value_parser::{Number, PositiveRate, PositiveTime, Size, ValueParser, Wrong, narrowed};
use pathweave_units::Bitrate;
use schemars::Schema;

/// Default Pareto shape, for which the sum of many sources is self-similar with a Hurst parameter of 0.75 (Willinger et
/// al. 1997).
const SHAPE: f64 = 1.5;

/// Reads the parts that every pattern has: `rate` and `packet`, the rate and the size of the payload.
fn packets(c: &mut Compound) -> Result<(Bitrate, u16), Wrong> {
    Ok((c.required::<PositiveRate>("rate")?, c.required::<PacketSize>("packet")?))
}

const PACKETS: [Part; 2] = [
    needs("rate", "mean rate of the packets' payload", PositiveRate::schema),
    needs("packet", "the size of a packet's payload; headers of 28 bytes are added", PacketSize::schema),
];

compound!(
    /// The times at which UDP packets are sent.
    TrafficPatternParser: TrafficPattern,
    "constant:rate=1Mbps:packet=1000B, poisson:rate=1Mbps:packet=1000B or onoff:rate=100kbps:packet=1000B:on=1s:off=1s",
    |c| Ok(Some(match c.name.as_str() {
        "constant" => {
            let (rate, packet) = packets(c)?;
            TrafficPattern::Constant { rate, packet }
        }
        "poisson" => {
            let (rate, packet) = packets(c)?;
            TrafficPattern::Poisson { rate, packet }
        }
        "onoff" => {
            let (rate, packet) = packets(c)?;
            let (on, off) = (c.required::<PositiveTime>("on")?, c.required::<PositiveTime>("off")?);
            let shape = c.optional::<ParetoShape>("shape")?.unwrap_or(SHAPE);
            TrafficPattern::OnOff { rate, packet, on, off, shape }
        }
        _ => return Ok(None),
    })),
    |pattern| match pattern {
        TrafficPattern::Constant { rate, packet } => format!("constant:rate={rate}:packet={packet}B"),
        TrafficPattern::Poisson { rate, packet } => format!("poisson:rate={rate}:packet={packet}B"),
        TrafficPattern::OnOff { rate, packet, on, off, shape } => {
            format!("onoff:rate={rate}:packet={packet}B:on={on}:off={off}:shape={shape}")
        }
    },
    [
        "constant:rate=9Mbps:packet=1000B",
        "poisson:rate=1Mbps:packet=1000B",
        "onoff:rate=100kbps:packet=1000B:on=1s:off=1s",
    ],
    [
        Kind { name: "constant", about: "Packets at even intervals", parts: &PACKETS },
        Kind { name: "poisson", about: "Packets at exponentially distributed intervals", parts: &PACKETS },
        Kind {
            name: "onoff",
            about: "Packets at even intervals while it is on (Pareto distributed times), none while it is off (exponentially \
                    distributed times)",
            parts: &[
                needs("rate", "mean rate of the packets' payload, pauses included", PositiveRate::schema),
                needs("packet", "the size of a packet's payload; headers of 28 bytes are added", PacketSize::schema),
                needs("on", "mean length of a time in which it sends", PositiveTime::schema),
                needs("off", "mean length of a pause", PositiveTime::schema),
                takes("shape", "the Pareto distribution's shape, more than 1 (1.5)", Number::schema),
            ],
        },
    ]
);

/// The size of the payload of a UDP packet that fits an IPv4 packet.
pub(crate) struct PacketSize;

impl ValueParser for PacketSize {
    type Value = u16;
    fn allowed() -> String {
        "from 1B to 65507B".into()
    }
    fn parse(text: &str) -> Option<u16> {
        Size::parse(text).filter(|size| *size <= 65_507).and_then(|size| u16::try_from(size).ok())
    }
    fn write(value: &u16) -> String {
        format!("{value}B")
    }
    fn schema() -> Schema {
        Size::schema()
    }
    fn examples() -> &'static [&'static str] {
        &["1000B"]
    }
}

narrowed!(
    /// The shape of a Pareto distribution that has a mean.
    ParetoShape: Number, "a number above 1", |shape| *shape > 1.0, ["1.5"]
);
