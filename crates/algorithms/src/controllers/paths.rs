//! The paths of a connection as coupled controllers see them.

use pathweave_proto::congestion::Context;
use pathweave_units::Duration;

/// A path as the equations of coupled controllers have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoupledPath {
    /// It is the subflow whose controller asks.
    pub own: bool,
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Smoothed round-trip time, seconds; above zero.
    pub rtt: f64,
    /// Smallest round-trip time, seconds; above zero.
    pub min_rtt: f64,
    /// Data bytes of a full segment.
    pub mss: f64,
    /// The larger of the bytes acknowledged since the last loss and between the last two (OLIA's l).
    pub loss_interval: f64,
}

/// The paths with a round-trip time sample, the subflow's own with its window of now.
pub fn coupled_paths<'a>(cx: &'a Context<'_>) -> impl Iterator<Item = CoupledPath> + Clone + 'a {
    let (own, own_cwnd) = (cx.own, cx.window.cwnd);
    cx.paths.iter().enumerate().filter_map(move |(i, p)| {
        let rtt = p.srtt.filter(|r| !r.is_zero())?.as_secs_f64();
        let min_rtt = p.min_rtt.filter(|r| !r.is_zero()).map_or(rtt, Duration::as_secs_f64);
        Some(CoupledPath {
            own: i == own,
            cwnd: f64::from(if i == own { own_cwnd } else { p.cwnd }.max(1)),
            rtt,
            min_rtt,
            mss: f64::from(p.mss.max(1)),
            loss_interval: p.bytes_since_loss.max(p.bytes_between_losses) as f64,
        })
    })
}
