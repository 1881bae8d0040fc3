//! What a reset carries.

use crate::pair::*;
use pathweave_proto::config::TcpConfig;

/// "and SHOULD be sent in an <RST> segment" (RFC 7323 §3.2).
#[test]
fn they_have_timestamps_where_these_were_agreed() {
    for timestamps in [true, false] {
        for config in [tcp_config(), config()] {
            let tcp = TcpConfig { timestamps, ..TcpConfig::default() };
            let mut pair = Pair::new(&[10], pathweave_proto::config::ConnectionConfig { tcp, ..config });
            pair.connect();
            pair.write(Client, 1000);
            pair.run_for(secs(1));
            let newest = pair.sent(Server).next_back().expect("sent").segment.options.timestamps.map(|t| t.value);
            pair.command(Client, |c, now| c.abort(now));
            let reset = pair.sent(Client).find(|p| p.is_rst()).expect("a reset");
            assert_eq!(reset.segment.options.timestamps.map(|t| t.echo), newest);
            assert_eq!(reset.segment.options.timestamps.is_some(), timestamps);
        }
    }
}
