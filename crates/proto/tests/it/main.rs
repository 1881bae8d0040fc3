//! Behaviour of the engine, one module a behaviour, named as packetdrill's folders where it has one.

mod pair;

mod acceptance;
mod add_addr;
mod api;
mod blind_attacks;
mod blocking;
mod checksums;
mod chunks;
mod close;
mod delayed_ack;
mod dss;
mod ecn;
mod fallback;
mod fastclose;
mod handshake;
mod hostile;
mod incoming;
mod keep_alive;
mod loss_recovery;
mod mappings;
mod mp_capable;
mod mp_join;
mod mp_prio;
mod path_mtu;
mod penalisation;
mod random;
mod reinjection;
mod remove_addr;
mod resources;
mod schedulers;
mod secrets;
mod sequence_numbers;
mod set_scheduler;
mod window_updates;
mod zero_window;
