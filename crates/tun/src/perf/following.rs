//! A client's connection on a machine whose addresses change.

use crate::uplinks::{Change, Flags, Follower, Options};
use crate::{Interface, Io};
use pathweave_driver::{Applications, Driver};
use pathweave_proto::config::{ConnectionConfig, PathManager};
use pathweave_proto::connection::PathMeta;
use pathweave_proto::{ConnectionHandle, LocalAddress};
use pathweave_units::{Duration, Instant};
use std::io;
use std::net::IpAddr;

const HOST: usize = 0;
/// How often the machine is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Keeps a connection's addresses as the machine's are.
pub(super) struct Following {
    follower: Follower,
    looked: Instant,
    has_lost_paths: bool,
}

impl Following {
    /// The paths of now, in the order in which the connection is to use them.
    ///
    /// # Errors
    /// As [`Follower::start`].
    pub(super) fn start(options: &Options, remote: IpAddr) -> io::Result<(Self, Vec<Interface>, Vec<LocalAddress>)> {
        let mut follower = Follower::open(options.clone(), remote)?;
        let paths = follower.start()?;
        let addresses =
            paths.iter().map(|path| LocalAddress { address: path.interface.ours, meta: meta(path.flags) }).collect();
        let interfaces = paths.into_iter().map(|path| path.interface).collect();
        let following = Following { follower, looked: Instant::ZERO, has_lost_paths: false };
        Ok((following, interfaces, addresses))
    }

    /// Whether there are subflows whose ends nobody can acknowledge, because their path is gone.
    pub(super) fn has_lost_paths(&self) -> bool {
        self.has_lost_paths
    }

    /// Does what has changed since the last call: new addresses join, and the peer is told of those that are gone (REMOVE_ADDR).
    ///
    /// # Errors
    /// Where the machine or a device fails.
    pub(super) fn go_on<A: Applications>(
        &mut self,
        now: Instant,
        driver: &mut Driver<Io, A>,
        connection: ConnectionHandle,
    ) -> io::Result<()> {
        if now.since(self.looked) < LOOK {
            return Ok(());
        }
        self.looked = now;
        for change in self.follower.changes()? {
            // A connection that is over has no use for addresses.
            let _ = match change {
                Change::Up(path) => {
                    driver.io.device.add(&path.interface)?;
                    driver.io.observer.as_mut().map_or(Ok(()), |capture| capture.add_interface(&path.interface))?;
                    driver.endpoints[HOST]
                        .with(connection, |c| c.add_address(now, path.interface.ours, meta(path.flags)))
                }
                Change::Down(path) => {
                    self.has_lost_paths = true;
                    driver.io.device.remove(path.interface.ours);
                    driver.endpoints[HOST].with(connection, |c| c.remove_address(now, path.interface.ours))
                }
            };
            driver.drain(now, HOST)?;
        }
        Ok(())
    }
}

/// The settings of a connection whose endpoints are these.
pub(super) fn config(options: &Options, config: &ConnectionConfig) -> ConnectionConfig {
    let is_mesh = options.endpoints.iter().any(|endpoint| endpoint.flags.fullmesh);
    let path_manager = if is_mesh { PathManager::FullMesh } else { config.path_manager };
    ConnectionConfig { path_manager, ..config.clone() }
}

fn meta(flags: Flags) -> PathMeta {
    PathMeta { backup: flags.backup, ..PathMeta::default() }
}
