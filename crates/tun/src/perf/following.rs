//! Connections of a machine whose addresses change.

use crate::uplinks::{Change, Flags, Follower, Path, Purpose, UplinkOptions};
use crate::{Interface, Io};
use pathweave_driver::{Applications, Driver};
use pathweave_proto::config::{ConnectionConfig, PathManager};
use pathweave_proto::connection::PathMeta;
use pathweave_proto::{ConnectionHandle, LocalAddress};
use pathweave_units::{Duration, Instant};
use std::io;

const HOST: usize = 0;
/// Time between two looks at the machine's addresses.
const LOOK: Duration = Duration::from_millis(10);

/// Adds and removes addresses of connections as the machine's addresses change.
pub(super) struct Following {
    follower: Follower,
    looked: Instant,
}

impl Following {
    /// The machine's present paths, in the order in which a connection should use them.
    ///
    /// # Errors
    /// As for [`Follower::start`].
    pub(super) fn start(
        options: &UplinkOptions,
        purpose: Purpose,
    ) -> io::Result<(Self, Vec<Interface>, Vec<LocalAddress>)> {
        let mut follower = Follower::open(options.clone(), purpose)?;
        let interfaces = follower.start()?.iter().map(|path| path.interface.clone()).collect();
        let following = Following { follower, looked: Instant::ZERO };
        let addresses = following.addresses();
        Ok((following, interfaces, addresses))
    }

    /// The machine's present addresses.
    pub(super) fn addresses(&self) -> Vec<LocalAddress> {
        let address = |path: &Path| LocalAddress { address: path.interface.address(), meta: meta(path.flags) };
        self.follower.paths().iter().map(address).collect()
    }

    /// Applies the changes since the last call, and returns whether there were any. Connections join from new addresses
    /// or announce them (ADD_ADDR), and tell their peers about addresses that are gone (REMOVE_ADDR).
    ///
    /// # Errors
    /// If the machine or a device fails.
    pub(super) fn go_on<A: Applications>(
        &mut self,
        now: Instant,
        driver: &mut Driver<Io, A>,
        connections: impl Fn(&A) -> Vec<ConnectionHandle>,
    ) -> io::Result<bool> {
        if now.since(self.looked) < LOOK {
            return Ok(false);
        }
        self.looked = now;
        let changes = self.follower.changes()?;
        for change in &changes {
            match change {
                Change::Up(path) => {
                    driver.io.device.add(&path.interface)?;
                    driver.io.observer.as_mut().map_or(Ok(()), |capture| capture.add_interface(&path.interface))?;
                }
                Change::Down(path) => {
                    driver.io.device.remove(path.interface.address());
                }
            }
            for connection in connections(&driver.applications) {
                // A connection that is over has no use for addresses.
                let _ = driver.endpoints[HOST].with(connection, |c| match change {
                    Change::Up(path) => c.add_address(now, path.interface.address(), meta(path.flags)),
                    Change::Down(path) => c.remove_address(now, path.interface.address()),
                });
            }
            driver.drain(now, HOST)?;
        }
        Ok(!changes.is_empty())
    }
}

/// The settings of a connection whose subflows form a full mesh if an address has the flag `fullmesh`.
pub(super) fn config(options: &UplinkOptions, config: &ConnectionConfig) -> ConnectionConfig {
    let is_mesh = options.endpoints.iter().any(|endpoint| endpoint.flags.fullmesh);
    let path_manager = if is_mesh { PathManager::FullMesh } else { config.path_manager };
    ConnectionConfig { path_manager, ..config.clone() }
}

fn meta(flags: Flags) -> PathMeta {
    PathMeta { backup: flags.backup, ..PathMeta::default() }
}
