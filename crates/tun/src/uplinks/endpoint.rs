//! The use of the machine's addresses, in the words of `ip mptcp endpoint`.

use super::{Purpose, Uplink};
use std::net::IpAddr;
use std::str::FromStr;

/// The uses of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// A client opens a subflow from this address.
    pub subflow: bool,
    /// A server announces this address.
    pub signal: bool,
    /// Subflows of this address are backups (RFC 8684 §3.3.8).
    pub backup: bool,
    /// A client opens subflows from each of its addresses to each of the server's. One address with this flag sets it
    /// for the whole connection.
    pub fullmesh: bool,
}

impl Flags {
    /// Whether an address with these flags serves this purpose.
    pub(super) fn fit(&self, purpose: Purpose) -> bool {
        match purpose {
            Purpose::Connect(_) => self.subflow,
            Purpose::Listen(_) => self.signal,
        }
    }
}

/// Flags of an address that no endpoint matches.
const USED: Flags = Flags { subflow: true, signal: true, backup: false, fullmesh: false };

/// Flags for an address or a device: `192.0.2.5 subflow`, `dev wlan0 signal backup`. An endpoint without flags (`dev
/// usb0`) excludes its addresses from use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    place: Place,
    /// Flags of the matching addresses.
    pub flags: Flags,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Address(IpAddr),
    Device(String),
}

impl Endpoint {
    /// Checks that a server, or a client, supports these flags.
    ///
    /// # Errors
    /// The unsupported flag, and the reason.
    pub fn check(&self, is_server: bool) -> Result<(), &'static str> {
        match self.flags {
            Flags { signal: true, .. } if !is_server => {
                Err("signal: a client's engine is behind the machine, where the server cannot reach it")
            }
            Flags { subflow: true, .. } if is_server => {
                Err("subflow: a server opens none; signal announces an address")
            }
            Flags { fullmesh: true, .. } if is_server => Err("fullmesh: a server opens no subflows"),
            _ => Ok(()),
        }
    }

    /// Flags of the first endpoint that matches this uplink, or [`USED`] if none does.
    pub(super) fn flags_of(endpoints: &[Endpoint], uplink: &Uplink) -> Flags {
        let fits = |endpoint: &&Endpoint| match &endpoint.place {
            Place::Address(address) => *address == uplink.address,
            Place::Device(name) => *name == uplink.device,
        };
        endpoints.iter().find(fits).map_or(USED, |endpoint| endpoint.flags)
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let place = match words.next() {
            Some("dev") => words.next().map(|name| Place::Device(name.into())),
            Some(address) => address.parse().ok().map(Place::Address),
            None => None,
        };
        let place = place.ok_or("begin with an address of this machine, or with dev and a link's name")?;
        let mut flags = Flags::default();
        for word in words {
            match word {
                "subflow" => flags.subflow = true,
                "backup" => flags.backup = true,
                "fullmesh" => flags.fullmesh = true,
                "signal" => flags.signal = true,
                other => return Err(format!("{other} is no flag; there are subflow, signal, backup and fullmesh")),
            }
        }
        Ok(Endpoint { place, flags })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_endpoint_that_fits_says_what_an_uplink_is_for() {
        let read = |text: &str| text.parse::<Endpoint>();
        let endpoints: Vec<Endpoint> = ["192.0.2.5 subflow fullmesh", "dev wlan0 subflow backup", "dev usb0"]
            .map(|text| read(text).expect("it is right"))
            .into();
        let flags = |device: &str, address: &str| {
            let address = address.parse().expect("an address");
            Endpoint::flags_of(&endpoints, &Uplink { device: device.into(), address, gateway: None, metric: 0 })
        };
        let none = Flags::default();
        assert_eq!(flags("wlan0", "192.0.2.5"), Flags { subflow: true, fullmesh: true, ..none });
        assert_eq!(flags("wlan0", "192.0.2.6"), Flags { subflow: true, backup: true, ..none });
        assert_eq!(flags("usb0", "192.0.2.7"), none);
        assert_eq!(flags("eth0", "192.0.2.8"), Flags { subflow: true, signal: true, ..none });
    }

    #[test]
    fn a_client_and_a_server_have_flags_of_their_own() {
        let refused = |text: &str, is_server| text.parse::<Endpoint>().expect("it is right").check(is_server).err();
        for (text, client, server) in [
            ("dev a", None, None),
            ("dev a backup", None, None),
            ("dev a subflow", None, Some("subflow:")),
            ("dev a subflow fullmesh", None, Some("subflow:")),
            ("dev a fullmesh", None, Some("fullmesh:")),
            ("dev a signal backup", Some("signal:"), None),
        ] {
            for (is_server, expected) in [(false, client), (true, server)] {
                let found = refused(text, is_server).map(|error| error.split_inclusive(':').next().unwrap_or_default());
                assert_eq!(found, expected, "{text}, {is_server}");
            }
        }
    }

    #[test]
    fn mistakes_are_told() {
        for (text, part) in [
            ("", "begin with"),
            ("dev", "begin with"),
            ("wlan0 subflow", "begin with"),
            ("dev a fast", "fast is no flag"),
        ] {
            let error = text.parse::<Endpoint>().expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
