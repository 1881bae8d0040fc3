//! Behaviour of the engine, one module a behaviour, named as packetdrill's folders where it has one.

mod pair;

mod close;
mod handshake;
mod loss_recovery;
mod mp_capable;
mod mp_join;
mod reinjection;
