//! `fpdps`: forward prediction based dynamic packet scheduling.
//!
//! # What it does
//!
//! A slower subflow takes data as far ahead in the stream as the faster ones will most likely deliver until its own
//! data arrives. The rule computes the rounds of each faster subflow from its window and loss rate: a round passes
//! without loss, or with x losses, which halve the window x times and cost one more round. A sequence of such rounds is
//! a course; the most likely course gives the distance. So the rule foresees that a lossy fast path delivers less.
//!
//! # Formula
//!
//! ```text
//! T     = RTT_j/2 − Δt,  Δt = RTT_i − t_i while i's round is t_i < RTT_i old, else 0            (eq. 1)
//! GETNP(T, w, ss) = segments that i delivers within T, and the probability of that
//!   T < RTT_i/2     nothing arrives
//!   T < 3/2·RTT_i   w − x arrive,  probability b(w, x)                                          (eq. 5)
//!   else            w arrive, and the round after it:
//!                   x = 0   GETNP(T − RTT_i, w < ss ? 2w : w + 1, ss),  b(w, 0)            (eqs. 6, 7)
//!                   x > 0   GETNP(T − 2·RTT_i, h, h),  h = max(⌊w/2^x⌋, 2),  b(w, x)       (eqs. 8, 9)
//! b(w, x) = C(w, x) · p^x · (1 − p)^(w − x)
//! N_j   = Σ_i segments of i's course with the largest product of probabilities                  (eq. 4)
//! j sends its free window from the (N_j + 1)-th unassigned segment on
//! ```
//!
//! * RTT: smoothed round-trip time, ms; T: time in which i can send, ms; t_i: time since the first segment of i's
//!   present round, ms.
//! * w, ss: congestion window and slow start threshold of i, segments; p: fraction of its segments that are lost; x:
//!   number of losses in a round.
//!
//! # Source
//!
//! DPSAF III.A, Alg. 1 and eqs. 1 to 9, with Figs. 2 and 3 as examples.
//!
//! # Deviations
//!
//! * The paper obtains t_i "from the timeout retransmission timer" (eq. 1). That timer starts again with each
//!   acknowledgement, so it does not tell when a round began. Here t_i counts from the round's first segment.
//! * Alg. 1 as printed returns entry 1. Here it returns the entry with the index l that maximises P.
//! * Windows grow as in the paper, whatever the controller does.
//! * Timeouts, and losses of segments that are sent again, are ignored, as in the paper.
//! * Taking the maximum within each round and then over the rounds gives the most likely of all courses. So the search
//!   drops a branch once it is no more likely than the best course so far, which does not change the result.
//! * The search stops after `outcomes` outcomes, including those of the first course, and takes the best course so far.
//!   The default is enough for five rounds with windows up to 50 and loss up to 5 %. It keeps a decision on two
//!   subflows whose round-trip times are 1:100 at 6,200 instructions (at 7 % loss; fewer with more or less loss).
//! * p is rounded to three binary digits after the leading one, and is zero below 10⁻⁶. p decays with each
//!   acknowledgement. With fewer digits it changes less often, so that the last result for a subflow can be used again
//!   while the subflow's window and number of rounds stay the same.
//! * The deviations of forward prediction ([`super::forward`]) apply too.

use super::forward::{Forward, MAX_WINDOW, Predict, rounds};
use super::fps::grown;
use pathweave_scheduler::parameter::{Kind, Parameter, Values};
use pathweave_scheduler::{SchedulerEntry, SubflowId, SubflowView};
use pathweave_units::{Duration, Instant};

/// A loss rate below this counts as zero: a loss is then never the more likely outcome.
const LEAST_LOSS: f64 = 1e-6;
/// A loss rate above this counts as this.
const MOST_LOSS: f64 = 0.5;
/// A round with a loss is likelier than two rounds without if w·p exceeds this: the solution of (1 − p)^(w + 1) =
/// w·p/(1 − p) for small p, which is e^(−x) = x with x = w·p.
const LOSS_IS_LIKELIER: f64 = 0.567;

pub(crate) const OUTCOMES: Parameter = Parameter {
    name: "outcomes",
    kind: Kind::Integer { min: 1, max: 1_000_000 },
    unit: "outcomes of a round",
    default: "20",
    description: "how many are examined, including those of the first course, before the most likely course so far is taken",
    source: "ours: limits the cost of a decision",
};

pub(crate) const ENTRY: SchedulerEntry = SchedulerEntry {
    name: "fpdps",
    source: "DPSAF III.A, Alg. 1",
    summary: "a slow subflow takes data as far ahead as faster ones will most likely deliver meanwhile, given their losses",
    parameters: &[OUTCOMES],
    queues: false,
    duplicates: false,
    build: |v| Ok(Box::new(Forward::new(MostLikely::from_values(v), None))),
};

/// One possible sequence of rounds: the segments that it delivers, and its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Course {
    segments: u64,
    likelihood: f64,
}

impl Course {
    const START: Course = Course { segments: 0, likelihood: 1.0 };

    fn and(self, segments: u32, likelihood: f64) -> Course {
        Course { segments: self.segments + u64::from(segments), likelihood: self.likelihood * likelihood }
    }
}

/// x to the power of n.
fn power(mut x: f64, mut n: u32) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        if n % 2 == 1 {
            product *= x;
        }
        x *= x;
        n /= 2;
    }
    product
}

/// The smallest window after losses (eq. 8).
const LEAST_WINDOW: u32 = 2;

/// The window after x losses (eq. 8).
fn halved(w: u32, x: u32) -> u32 {
    w.checked_shr(x).unwrap_or(0).max(LEAST_WINDOW)
}

/// The search for the most likely course. Losses are independent, with the probability p.
#[derive(Clone, Copy, Debug)]
struct Search {
    p: f64,
    best: Course,
    outcomes_left: u32,
}

impl Search {
    /// GETNP of Alg. 1, with T as a number of rounds. `(w, ss)` are the window and the threshold at the start.
    fn getnp(rounds: u32, (w, ss): (u32, u32), p: f64, outcomes: u32) -> Course {
        let mut search = Search { p, best: Course::START, outcomes_left: outcomes };
        search.best = search.first_course(rounds, (w, ss));
        search.branch(rounds, (w, ss), Course::START);
        search.best
    }

    /// The most likely number of losses in a window of `w`: ⌈(w + 1)·p⌉ − 1. If two numbers are equally likely, this is
    /// the smaller one.
    fn mode(&self, w: u32) -> u32 {
        let mean = f64::from(w + 1) * self.p;
        let whole = mean as u32;
        if f64::from(whole) == mean { whole.saturating_sub(1) } else { whole }
    }

    /// b(w, x): the probability that x of w segments are lost (eqs. 5, 9).
    fn binomial(&self, w: u32, x: u32) -> f64 {
        match x {
            0 => power(1.0 - self.p, w),
            1 => f64::from(w) * self.p * power(1.0 - self.p, w - 1),
            _ => {
                let ln_factorial = |n: u32| libm::lgamma(f64::from(n) + 1.0);
                let ways = ln_factorial(w) - ln_factorial(x) - ln_factorial(w - x);
                libm::exp(ways + f64::from(x) * libm::log(self.p) + f64::from(w - x) * libm::log1p(-self.p))
            }
        }
    }

    /// Whether a round with a loss, which takes the time of two rounds, is more likely than two rounds without.
    fn prefers_loss(&self, w: u32) -> bool {
        f64::from(w) * self.p > LOSS_IS_LIKELIER
    }

    /// A likely course that is found without a search.
    fn first_course(&mut self, mut rounds: u32, (mut w, mut ss): (u32, u32)) -> Course {
        let mut course = Course::START;
        while rounds > 1 {
            self.outcomes_left = self.outcomes_left.saturating_sub(1);
            if self.prefers_loss(w) {
                let lost = self.mode(w).max(1);
                course = course.and(w, self.binomial(w, lost));
                w = halved(w, lost);
                ss = w;
                rounds -= 2;
            } else if w < ss {
                course = course.and(w, self.binomial(w, 0));
                w = grown(w, ss);
                rounds -= 1;
            } else {
                // Handles all rounds in which no loss is likelier at once.
                let last = (LOSS_IS_LIKELIER / self.p) as u32;
                let n = last.saturating_sub(w).saturating_add(1).min(rounds - 1);
                let sum = n * w + n * (n - 1) / 2;
                course = course.and(sum, power(1.0 - self.p, sum));
                w += n;
                rounds -= n;
            }
        }
        if rounds == 1 { self.last_round(w, course) } else { course }
    }

    /// Adds the last round to a course (eq. 5).
    fn last_round(&self, w: u32, course: Course) -> Course {
        let lost = self.mode(w);
        course.and(w - lost, self.binomial(w, lost))
    }

    /// Tries all outcomes of the next round after `course`.
    fn branch(&mut self, rounds: u32, (w, ss): (u32, u32), course: Course) {
        match rounds {
            0 => return self.end(course),
            1 => return self.end(self.last_round(w, course)),
            _ => {}
        }
        let no_loss = self.binomial(w, 0);
        // The likelier outcome first: the sooner the best course is found, the fewer others are followed.
        let losses_first = self.prefers_loss(w);
        if losses_first {
            self.branch_on_losses(rounds, w, no_loss, course);
        }
        self.follow(rounds - 1, (grown(w, ss), ss), course.and(w, no_loss));
        if !losses_first {
            self.branch_on_losses(rounds, w, no_loss, course);
        }
    }

    fn branch_on_losses(&mut self, rounds: u32, w: u32, no_loss: f64, course: Course) {
        let (mode, odds) = (self.mode(w), self.p / (1.0 - self.p));
        let mut likelihood = no_loss;
        for x in 1..=w {
            if self.outcomes_left == 0 {
                return;
            }
            let next = halved(w, x);
            if next == LEAST_WINDOW && mode > x {
                // From here on all outcomes lead to the same window, so only the likeliest of them matters.
                likelihood = self.binomial(w, mode);
            } else {
                likelihood *= f64::from(w - x + 1) / f64::from(x) * odds;
            }
            let followed = self.follow(rounds - 2, (next, next), course.and(w, likelihood));
            if next == LEAST_WINDOW || (x >= mode && !followed) {
                return;
            }
        }
    }

    /// Follows a course if it can still become the most likely one. Returns whether it can.
    fn follow(&mut self, rounds: u32, window: (u32, u32), course: Course) -> bool {
        let may_win = self.outcomes_left > 0 && course.likelihood > self.best.likelihood;
        self.outcomes_left = self.outcomes_left.saturating_sub(1);
        if may_win {
            self.branch(rounds, window, course);
        }
        may_win
    }

    fn end(&mut self, course: Course) {
        if course.likelihood > self.best.likelihood {
            self.best = course;
        }
    }
}

/// The last result for a subflow, and the inputs that it was computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Memo {
    rounds: u32,
    cwnd: u32,
    ssthresh: u32,
    p: f64,
    segments: u64,
}

/// The prediction of `fpdps`: the most likely sequence of rounds, given the losses.
#[derive(Debug)]
pub struct MostLikely {
    outcomes: u32,
    memo: [Memo; SubflowId::MAX_SUBFLOWS],
}

impl MostLikely {
    /// `outcomes` limits the outcomes that the search examines.
    pub fn new(outcomes: u32) -> Self {
        MostLikely { outcomes, memo: [Memo::default(); SubflowId::MAX_SUBFLOWS] }
    }

    pub(crate) fn from_values(values: &Values) -> Self {
        MostLikely::new(values.integer(OUTCOMES.name) as u32)
    }
}

/// Δt of eq. 1: the rest of the round of `i` that is under way. If `i` is idle and has unsent data, a round begins now.
fn rest_of_round(i: &SubflowView, rtt: Duration, now: Instant) -> Duration {
    let start = i.delivery.round_start.or((i.queue.unsent > 0).then_some(now));
    start.map_or(Duration::ZERO, |start| rtt.saturating_sub(now.since(start)))
}

/// Rounds p to three binary digits after the leading one.
fn coarse(p: f64) -> f64 {
    const CUT: u32 = f64::MANTISSA_DIGITS - 4;
    if p < LEAST_LOSS { 0.0 } else { f64::from_bits((p.to_bits() + (1 << (CUT - 1))) >> CUT << CUT).min(MOST_LOSS) }
}

impl Predict for MostLikely {
    fn delivered(&mut self, i: &SubflowView, transfer: Duration, now: Instant) -> u64 {
        let Some(rtt) = i.rtt.smoothed else { return 0 };
        // If the transfer is shorter than the rest of the round, no round fits.
        let Some(memo) = self.memo.get_mut(i.id.index()) else { return 0 };
        let rest = rest_of_round(i, rtt, now);
        let rounds = if transfer < rest { 0 } else { rounds(transfer.saturating_sub(rest), rtt) };
        let key =
            Memo { rounds, cwnd: i.window.cwnd, ssthresh: i.window.ssthresh, p: coarse(i.delivery.loss), segments: 0 };
        if (Memo { segments: 0, ..*memo }) != key {
            let window = (i.window.cwnd.min(MAX_WINDOW), i.window.ssthresh);
            let course = Search::getnp(rounds, window, key.p, self.outcomes);
            *memo = Memo { segments: course.segments, ..key };
        }
        memo.segments
    }
}

#[cfg(test)]
#[path = "fpdps_tests.rs"]
mod tests;
