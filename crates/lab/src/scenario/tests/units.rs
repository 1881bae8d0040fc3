//! Written forms of quantities.

use crate::scenario::kinds::{QueueParser, ReceiveBufferParser};
use crate::value_parser::{BitsPerSecond, Bool, Number, PositiveTime, Share, Size, Text, Time, ValueParser, Whole};
use pathweave_units::{Bitrate, Duration, Probability};

#[test]
fn rates() {
    let bps = |text| BitsPerSecond::parse(text).map(Bitrate::as_bps);
    assert_eq!(bps("8Mbps"), Some(8_000_000));
    assert_eq!(bps("8.25 Mbps"), Some(8_250_000));
    assert_eq!(bps("500kbps"), Some(500_000));
    assert_eq!(bps("1.1Gbps"), Some(1_100_000_000));
    assert_eq!(bps("0bps"), Some(0));
    for wrong in ["8", "8Mb", "8mbps", "Mbps", "-8Mbps", "8e3bps", "1.2.3Mbps", "infMbps", "", "8MBps", "99999999Gbps"]
    {
        assert_eq!(bps(wrong), None, "{wrong}");
    }
}

#[test]
fn sizes() {
    assert_eq!(Size::parse("200KB"), Some(200_000));
    assert_eq!(Size::parse("128KiB"), Some(131_072));
    assert_eq!(Size::parse("1.5MiB"), Some(1_572_864));
    assert_eq!(Size::parse("1500 B"), Some(1500));
    assert_eq!(Size::parse("1GB"), Some(1_000_000_000));
    for wrong in ["0B", "0.1B", "200", "KB", "1kb", "-1KB", "1TB"] {
        assert_eq!(Size::parse(wrong), None, "{wrong}");
    }
    for (bytes, text) in [(60_000, "60KB"), (131_072, "128KiB"), (6 << 20, "6MiB"), (1514, "1514B")] {
        assert_eq!(Size::write(&bytes), text);
    }
}

#[test]
fn times() {
    assert_eq!(Time::parse("1.5s"), Some(Duration::from_millis(1500)));
    assert_eq!(Time::parse("0s"), Some(Duration::ZERO));
    assert_eq!(Time::parse("2min"), Some(Duration::from_secs(120)));
    assert_eq!(PositiveTime::parse("0s"), None);
    for wrong in ["10", "10 seconds", "-1s", "nans", "1e3s", "1h", "101000000s", "ms"] {
        assert_eq!(Time::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn probabilities() {
    assert_eq!(Share::parse("1%"), Probability::new(0.01));
    assert_eq!(Share::parse("0.3%"), Probability::new(0.003));
    assert_eq!(Share::parse("0.01"), Probability::new(0.01));
    assert_eq!(Share::parse("100 %"), Probability::new(1.0));
    // Without a percent sign, 1 could mean 1 % or always.
    for wrong in ["1", "1.0", "101%", "1.1", "-1%", "1permille", "%"] {
        assert_eq!(Share::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn other_forms() {
    assert_eq!(Whole::<1, 8>::parse("9"), None);
    assert_eq!(Whole::<1, 8>::parse("8"), Some(8));
    assert_eq!(Number::parse("2.5"), Some(2.5));
    assert_eq!(Number::parse("-2.5"), None);
    assert_eq!(Bool::parse("True"), None);
    assert_eq!(Text::parse(" "), None);
}

#[test]
fn what_is_written_is_read_again() {
    for text in ["100packets", "150KB", "50ms", "codel:target=5ms:interval=100ms:limit=1000packets:ecn=true"] {
        assert_eq!(QueueParser::write(&QueueParser::parse(text).expect("it is right")), text);
    }
    for text in ["0", "0.01", "100%"] {
        assert_eq!(Share::write(&Share::parse(text).expect("it is right")), text);
    }
    for text in ["60KB", "auto 128KiB..6MiB"] {
        assert_eq!(ReceiveBufferParser::write(&ReceiveBufferParser::parse(text).expect("it is right")), text);
    }
}
