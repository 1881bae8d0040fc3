//! Parsers of a link's effects on packets.

use crate::scenario::link::{Rate, TraceSource};
use crate::value_parser::compound::{Compound, compound};
use crate::value_parser::compound::{Kind, needs, one_of, takes};
use crate::value_parser::{
    BitsPerSecond, Bool, Number, PositiveRate, PositiveTime, Share, Size, Time, ValueParser, Whole, Wrong, narrowed,
};
use pathweave_netsim::trace::Cellular;
use pathweave_netsim::{Codel, GilbertElliott, Jitter, Loss, Queue, QueueLimit, Reorder};
use pathweave_units::{Duration, Probability};
use schemars::Schema;

compound!(
    /// A rate limit.
    RateParser: Rate,
    "a rate such as 8Mbps, unlimited, token-bucket:rate=8Mbps:burst=3028B, \
     or in its place trace = a file or cellular:mean_rate=12Mbps",
    |c| Ok(Some(match c.name.as_str() {
        "unlimited" => Rate::Unlimited,
        "token-bucket" => {
            Rate::TokenBucket { rate: c.required::<PositiveRate>("rate")?, burst_bytes: c.required::<Size>("burst")? }
        }
        name => match BitsPerSecond::parse(name) {
            Some(rate) => Rate::Constant(rate),
            None => return Ok(None),
        },
    })),
    |rate| match rate {
        Rate::Unlimited => "unlimited".into(),
        Rate::Constant(rate) => BitsPerSecond::write(rate),
        Rate::TokenBucket { rate, burst_bytes } => format!("token-bucket:rate={rate}:burst={}", Size::write(burst_bytes)),
        Rate::Trace(_) => TraceParser::write(rate),
    },
    ["8Mbps", "unlimited", "token-bucket:rate=8Mbps:burst=3028B"],
    [Kind {
        name: "token-bucket",
        about: "A token bucket, like tbf in Linux",
        parts: &[
            needs("rate", "the rate at which the bucket fills", PositiveRate::schema),
            needs("burst", "the bucket's depth; a longer packet is dropped", Size::schema),
        ],
    }]
);

/// A trace in place of a rate: the name of a file, or a generator.
pub(crate) struct TraceParser;

impl ValueParser for TraceParser {
    type Value = Rate;
    fn allowed() -> String {
        "the name of a file, or cellular:mean_rate=12Mbps".into()
    }
    fn parse(text: &str) -> Option<Rate> {
        Self::read(text).ok()
    }
    fn read(text: &str) -> Result<Rate, Wrong> {
        if text.trim().is_empty() {
            return Err(Wrong::new(Self::allowed()));
        }
        if text.split(':').next() != Some("cellular") {
            return Ok(Rate::Trace(TraceSource::File(text.to_owned())));
        }
        let mut c = Compound::parse(text)?;
        let model = Cellular {
            mean_rate: c.required::<PositiveRate>("mean_rate")?,
            variability: c.optional::<Variability>("variability")?.unwrap_or(0.5),
            correlation_time: c.optional::<PositiveTime>("correlation_time")?.unwrap_or(Duration::from_secs(2)),
            outage_interval: c.optional::<Time>("outage_interval")?.unwrap_or(Duration::from_secs(30)),
            outage_duration: c.optional::<Time>("outage_duration")?.unwrap_or(Duration::from_millis(500)),
            length: c.optional::<TraceLength>("length")?.unwrap_or(Duration::from_secs(600)),
        };
        let seed = c.optional::<Whole<0, { u32::MAX }>>("seed")?;
        let packets = model.mean_rate.as_bps() as f64 / 12_000.0 * model.length.as_secs_f64();
        if !(1.0..=1e8).contains(&packets) {
            let allowed = format!("a rate that sends from 1 to 100 million packets of 1500 bytes in {}", model.length);
            return Err(Wrong::in_part("mean_rate", model.mean_rate.to_string(), allowed));
        }
        c.finish()?;
        Ok(Rate::Trace(TraceSource::Cellular { model, seed }))
    }
    fn write(rate: &Rate) -> String {
        match rate {
            Rate::Trace(TraceSource::File(name)) => name.clone(),
            Rate::Trace(TraceSource::Cellular { model: c, seed }) => {
                let seed = seed.map_or(String::new(), |seed| format!(":seed={seed}"));
                format!(
                    "cellular:mean_rate={}:variability={}:correlation_time={}\
                     :outage_interval={}:outage_duration={}:length={}{seed}",
                    c.mean_rate, c.variability, c.correlation_time, c.outage_interval, c.outage_duration, c.length
                )
            }
            other => RateParser::write(other),
        }
    }
    fn schema() -> Schema {
        one_of(&[], Self::examples(), Self::kinds())
    }
    fn examples() -> &'static [&'static str] {
        &["lte.down", "cellular:mean_rate=12Mbps"]
    }
    fn kinds() -> &'static [Kind] {
        const {
            &[Kind {
                name: "cellular",
                about: "A generated trace of a cellular link, different for each seed of the run",
                parts: &[
                    needs("mean_rate", "the mean over the whole trace, including outages", PositiveRate::schema),
                    takes(
                        "variability",
                        "standard deviation of the rate's logarithm, 0 to 5 (0.5)",
                        Variability::schema,
                    ),
                    takes(
                        "correlation_time",
                        "the time after which the rate no longer depends on its past (2s)",
                        PositiveTime::schema,
                    ),
                    takes("outage_interval", "mean time between outages; 0s: none (30s)", Time::schema),
                    takes("outage_duration", "mean length of an outage (500ms)", Time::schema),
                    takes("length", "after this time the trace repeats (600s)", TraceLength::schema),
                    takes(
                        "seed",
                        "a seed for the trace, so that every run has the same one (the seed of the run)",
                        Whole::<0, { u32::MAX }>::schema,
                    ),
                ],
            }]
        }
    }
}

narrowed!(
    /// Variability of a generated cellular rate.
    Variability: Number, "a number from 0 to 5", |x| *x <= 5.0, ["0.5"]
);

narrowed!(
    /// Length of a generated trace.
    TraceLength: Time, "a time from 20ms to 4000000s such as 600s",
    |time| (Duration::from_millis(20)..=Duration::from_secs(4_000_000)).contains(time), ["600s"]
);

/// The limit of a queue without active management.
struct LimitParser;

impl ValueParser for LimitParser {
    type Value = QueueLimit;
    fn examples() -> &'static [&'static str] {
        &["100packets", "150KB", "50ms"]
    }
    fn allowed() -> String {
        "a limit above zero such as 100packets, 150KB or 50ms".into()
    }
    fn parse(text: &str) -> Option<QueueLimit> {
        if let Some(count) = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet")) {
            return Whole::<1, { u32::MAX }>::parse(count.trim_end()).map(QueueLimit::Packets);
        }
        let bytes = Size::parse(text).map(QueueLimit::Bytes);
        bytes.or_else(|| PositiveTime::parse(text).map(QueueLimit::Time))
    }
    fn write(value: &QueueLimit) -> String {
        match value {
            QueueLimit::Packets(n) => format!("{n}packets"),
            QueueLimit::Bytes(n) => Size::write(n),
            QueueLimit::Time(time) => time.to_string(),
        }
    }
}

compound!(
    /// A queue.
    QueueParser: Queue,
    "a limit above zero such as 100packets, 150KB or 50ms, \
     or codel:target=5ms:interval=100ms:limit=1000packets:ecn=true",
    |c| {
        if c.name != "codel" {
            return Ok(LimitParser::parse(&c.name).map(Queue::from));
        }
        let codel = Codel {
            target: c.optional::<PositiveTime>("target")?.unwrap_or(Duration::from_millis(5)),
            interval: c.optional::<PositiveTime>("interval")?.unwrap_or(Duration::from_millis(100)),
            ecn: c.optional::<Bool>("ecn")?.unwrap_or(true),
        };
        let limit = c.optional::<LimitParser>("limit")?.unwrap_or(QueueLimit::Packets(1000));
        Ok(Some(Queue { limit, codel: Some(codel) }))
    },
    |queue| {
        let limit = LimitParser::write(&queue.limit);
        match queue.codel {
            None => limit,
            Some(Codel { target, interval, ecn }) => {
                format!("codel:target={target}:interval={interval}:limit={limit}:ecn={ecn}")
            }
        }
    },
    ["100packets", "150KB", "50ms", "codel:target=5ms:interval=100ms:limit=1000packets:ecn=true"],
    [Kind {
        name: "codel",
        about: "CoDel (RFC 8289) on top of a limit",
        parts: &[
            takes("target", "the delay that is acceptable (5ms)", PositiveTime::schema),
            takes("interval", "how long the delay must stay above the target (100ms)", PositiveTime::schema),
            takes("limit", "the queue's limit (1000packets)", LimitParser::schema),
            takes("ecn", "whether packets with ECN are marked instead of dropped (true)", Bool::schema),
        ],
    }]
);

compound!(
    /// Variation of the delay.
    JitterParser: Jitter,
    "none, uniform:amplitude=2ms or normal:deviation=2ms",
    |c| Ok(Some(match c.name.as_str() {
        "none" => Jitter::None,
        "uniform" => Jitter::Uniform { amplitude: c.required::<Time>("amplitude")? },
        "normal" => Jitter::Normal { deviation: c.required::<Time>("deviation")? },
        _ => return Ok(None),
    })),
    |jitter| match jitter {
        Jitter::None => "none".into(),
        Jitter::Uniform { amplitude } => format!("uniform:amplitude={amplitude}"),
        Jitter::Normal { deviation } => format!("normal:deviation={deviation}"),
    },
    ["none", "uniform:amplitude=2ms", "normal:deviation=2ms"],
    [
        Kind {
            name: "uniform",
            about: "Uniformly distributed between minus and plus the amplitude",
            parts: &[needs("amplitude", "the largest deviation", Time::schema)],
        },
        Kind {
            name: "normal",
            about: "Normally distributed",
            parts: &[needs("deviation", "the standard deviation", Time::schema)],
        },
    ]
);

compound!(
    /// Explicit reordering.
    ReorderParser: Reorder,
    "none, or a probability and a time such as 1%:extra=5ms",
    |c| Ok(match (c.name.as_str(), Share::parse(&c.name)) {
        ("none", _) => Some(Reorder { probability: Probability::ZERO, extra: Duration::ZERO }),
        (_, Some(probability)) => {
            let extra = c.required::<PositiveTime>("extra")?;
            Some(Reorder { probability, extra: if probability.get() > 0.0 { extra } else { Duration::ZERO } })
        }
        _ => None,
    }),
    |Reorder { probability, extra }| match probability.get() > 0.0 {
        true => format!("{}:extra={extra}", Share::write(probability)),
        false => "none".into(),
    },
    ["none", "1%:extra=5ms"],
    []
);

compound!(
    /// Random loss.
    LossParser: Loss,
    "a probability such as 1% or 0.01, from 0% to 100% (one of 1 or more needs its %), \
     or gilbert-elliott:to_bad=1%:to_good=25%:loss_bad=60%:loss_good=0%",
    |c| {
        if c.name == "gilbert-elliott" {
            return Ok(Some(Loss::GilbertElliott(GilbertElliott {
                to_bad: c.required::<Share>("to_bad")?,
                to_good: c.required::<Share>("to_good")?,
                loss_good: c.optional::<Share>("loss_good")?.unwrap_or(Probability::ZERO),
                loss_bad: c.required::<Share>("loss_bad")?,
            })));
        }
        Ok(Share::parse(&c.name).map(|p| if p.get() > 0.0 { Loss::Bernoulli(p) } else { Loss::None }))
    },
    |loss| match loss {
        Loss::None => "0".into(),
        Loss::Bernoulli(p) => Share::write(p),
        Loss::GilbertElliott(GilbertElliott { to_bad, to_good, loss_good, loss_bad }) => {
            let [to_bad, to_good, loss_good, loss_bad] = [to_bad, to_good, loss_good, loss_bad].map(Share::write);
            format!("gilbert-elliott:to_bad={to_bad}:to_good={to_good}:loss_good={loss_good}:loss_bad={loss_bad}")
        }
    },
    ["1%", "0.01", "0", "gilbert-elliott:to_bad=1%:to_good=25%:loss_bad=60%"],
    [Kind {
        name: "gilbert-elliott",
        about: "Loss in bursts: a chain of a good and a bad state, one step for each packet",
        parts: &[
            needs("to_bad", "probability for each packet to go from good to bad", Share::schema),
            needs("to_good", "probability for each packet to go from bad to good", Share::schema),
            needs("loss_bad", "loss in the bad state", Share::schema),
            takes("loss_good", "loss in the good state (0)", Share::schema),
        ],
    }],
    serde_json::json!({ "type": "number", "minimum": 0, "exclusiveMaximum": 1 })
);
