//! The sender: reads the input, asks the scheduler, and gives the legs the data that the scheduler decides on.

use crate::connection::News;
use crate::leg::Leg;
use crate::stream::Stream;
use pathweave_scheduler::{ChosenScheduler, Duration, Event, Instant, LossKind, Phase, Scheduler};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::io;
use std::os::fd::AsFd;

/// Longest pause between two looks at the legs while data is in flight: the kernel does not say when TCP's
/// acknowledgement comes. Acknowledgements of the receiver wake the sender earlier.
const LOOK: Duration = Duration::from_millis(1);
/// Longest pause while no data is in flight: a leg may be due to connect.
const REST: Duration = Duration::from_millis(50);
/// Time without any leg after which the sender gives up.
const GIVE_UP: Duration = Duration::from_secs(60);
/// Bytes read from the input at once.
const READ: usize = 1 << 16;

/// The program's clock, from zero at its start.
pub(crate) struct Clock(std::time::Instant);

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "real connections need real time; the scheduler gets it as an argument"
    )]
    pub(crate) fn start() -> Self {
        Clock(std::time::Instant::now())
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(self.0.elapsed().as_nanos() as u64)
    }
}

pub(crate) struct Sender {
    pub(crate) legs: Vec<Leg>,
    pub(crate) scheduler: Box<dyn Scheduler>,
    /// Whether the scheduler sends bytes twice by design, so that it is asked even if all data is assigned.
    pub(crate) duplicates: bool,
    pub(crate) stream: Stream,
    /// The time at which a wait of the scheduler ends.
    pub(crate) until: Option<Instant>,
}

/// The sent stream in figures.
pub(crate) struct Sent {
    /// All bytes, and their SHA-256.
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// The bytes that had arrived in order at the end of the time, or of the stream, and that time.
    pub(crate) measured: (u64, Duration),
}

impl Sender {
    /// A sender that keeps at most `buffer` unacknowledged bytes.
    ///
    /// # Errors
    /// If the scheduler rejects its parameters.
    pub(crate) fn new(legs: Vec<Leg>, chosen: &ChosenScheduler, buffer: u64) -> Result<Self, String> {
        let scheduler = chosen.build().map_err(|e| e.to_string())?;
        Ok(Sender { legs, scheduler, duplicates: chosen.duplicates(), stream: Stream::new(buffer), until: None })
    }

    /// Sends `input` up to its end, or the part that can be read within `time`. Returns when all of that has arrived.
    ///
    /// # Errors
    /// If the input or a system call fails, or no leg is up for a minute. A leg that fails connects again.
    pub(crate) fn send(&mut self, input: impl AsFd, time: Option<Duration>) -> io::Result<Sent> {
        let (clock, mut hash, mut buffer, mut measured) = (Clock::start(), Sha256::new(), vec![0; READ], None);
        let mut was_up = clock.now();
        while !self.stream.is_complete {
            let is_readable = self.wait(&clock, input.as_fd())?;
            let now = clock.now();
            if time.is_some_and(|time| now >= Instant::ZERO + time) {
                self.stream.has_end = true;
                measured.get_or_insert((self.stream.map.first_unacked().0, now.since(Instant::ZERO)));
            } else if is_readable {
                let most = READ.min(self.stream.free() as usize);
                let read = rustix::io::read(input.as_fd(), &mut buffer[..most])?;
                self.stream.has_end = read == 0;
                hash.update(&buffer[..read]);
                let range = self.stream.write(&buffer[..read]);
                self.tell(now, &Event::DataWritten(range));
            }
            self.service(now);
            self.schedule(&clock);
            if !self.stream.legs.is_empty() {
                was_up = now;
            } else if now.since(was_up) > GIVE_UP {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        let bytes = self.stream.map.written_end().0;
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Sent { bytes, sha256, measured: measured.unwrap_or((bytes, clock.now().since(Instant::ZERO))) })
    }

    /// Tells the scheduler what has happened.
    pub(crate) fn tell(&mut self, now: Instant, event: &Event<'_>) {
        if self.scheduler.wants_events() {
            self.scheduler.on_event(event, &self.stream.view(now));
        }
    }

    /// Waits until a leg or the input is ready, or a time has come. Returns whether the input can be read and the
    /// buffer has room.
    fn wait(&self, clock: &Clock, input: impl AsFd) -> io::Result<bool> {
        let mut fds: Vec<_> = self.legs.iter().filter_map(Leg::waits_for).map(|(s, f)| PollFd::new(s, f)).collect();
        let wants_input = !self.stream.has_end && self.stream.free() > 0;
        if wants_input {
            fds.push(PollFd::new(&input, PollFlags::IN));
        }
        let longest = if self.stream.map.is_waiting() { LOOK } else { REST };
        let time = self.until.map_or(longest, |until| until.since(clock.now()).min(longest));
        let time = Timespec { tv_sec: 0, tv_nsec: time.as_nanos() as i64 };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(wants_input && fds.last().is_some_and(|input| !input.revents().is_empty()))
    }

    /// Takes the news of all legs, and tells the scheduler what has happened.
    fn service(&mut self, now: Instant) {
        let mut acked = Vec::new();
        for i in 0..self.legs.len() {
            let leg = &mut self.legs[i];
            let id = leg.id;
            if leg.come_up(now) {
                self.look();
                self.tell(now, &Event::SubflowUp(id));
                continue;
            }
            let Some(connection) = leg.connection_mut() else { continue };
            match connection.service(now) {
                Ok(news) => {
                    if let Some(acknowledgement) = news.acknowledgement {
                        self.stream.acknowledge(acknowledgement);
                    }
                    acked.push((id, news));
                }
                Err(_) => {
                    self.stream.take_all_back(id);
                    leg.die(now);
                    self.look();
                    self.tell(now, &Event::SubflowDown(id));
                }
            }
        }
        let phases: Vec<_> = self.stream.legs.iter().map(|leg| (leg.id, leg.window.phase)).collect();
        self.look();
        self.pass_stale_legs_by();
        for (subflow, news) in acked.iter().filter(|(_, news)| !news.acked.is_empty()) {
            let (subflow, data_ack) = (*subflow, self.stream.map.first_unacked());
            let News { acked: mappings, has_sack, round_trip, .. } = news;
            self.tell(now, &Event::Acked { subflow, mappings, data_ack, has_sack: *has_sack });
            if let Some(rtt) = *round_trip {
                self.tell(now, &Event::RttSample { subflow, rtt });
            }
        }
        for (subflow, before) in phases {
            let kind = match self.stream.view(now).subflow(subflow).map(|leg| leg.window.phase) {
                Some(phase) if phase == before => continue,
                Some(Phase::Recovery) => LossKind::FastRecovery,
                Some(Phase::Loss) => LossKind::Timeout,
                _ => continue,
            };
            self.tell(now, &Event::Lost { subflow, kind });
        }
    }

    /// Makes the scheduler's view of the legs again.
    fn look(&mut self) {
        let is_limited = self.stream.is_used_up();
        self.stream.legs.clear();
        self.stream.legs.extend(self.legs.iter().filter_map(|leg| Some(leg.connection()?.view(leg.id, is_limited))));
    }

    /// Takes back the data of legs that show no sign of life, so that others send it. Without this, a rule that never
    /// repeats data would wait until such a leg dies.
    fn pass_stale_legs_by(&mut self) {
        if self.stream.legs.iter().all(|leg| leg.stale) {
            return;
        }
        for leg in &self.legs {
            if let Some(connection) = leg.connection().filter(|connection| connection.is_stale()) {
                self.stream.take_back(leg.id, connection.unacknowledged());
            }
        }
    }
}
