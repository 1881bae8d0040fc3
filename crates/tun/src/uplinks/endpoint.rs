//! What the machine's addresses are used for, in the words of `ip mptcp endpoint`.

use super::Uplink;
use std::net::IpAddr;
use std::str::FromStr;

/// What an address is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// A subflow is opened from it.
    pub subflow: bool,
    /// That is a backup (RFC 8684 §3.3.8).
    pub backup: bool,
    /// Subflows go from each address to each of the server's. That holds for the whole connection.
    pub fullmesh: bool,
}

/// Flags of some addresses: `192.0.2.5 subflow`, `dev wlan0 subflow backup`, or without flags, `dev usb0`: not to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    place: Place,
    /// What they are used for.
    pub flags: Flags,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Address(IpAddr),
    Device(String),
}

impl Endpoint {
    /// The flags of the first endpoint that means this uplink. Without one it is used for a subflow.
    pub(super) fn flags_of(endpoints: &[Endpoint], uplink: &Uplink) -> Flags {
        let fits = |endpoint: &&Endpoint| match &endpoint.place {
            Place::Address(address) => *address == uplink.address,
            Place::Device(name) => *name == uplink.device,
        };
        endpoints.iter().find(fits).map_or(Flags { subflow: true, ..Flags::default() }, |endpoint| endpoint.flags)
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
                "signal" => {
                    return Err("signal: the engine is behind the machine, where the server cannot reach it".into());
                }
                other => return Err(format!("{other} is no flag; there are subflow, backup and fullmesh")),
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
        assert_eq!(flags("eth0", "192.0.2.8"), Flags { subflow: true, ..none });
    }

    #[test]
    fn mistakes_are_told() {
        for (text, told) in [
            ("", "begin with"),
            ("dev", "begin with"),
            ("wlan0 subflow", "begin with"),
            ("dev a signal", "behind"),
            ("dev a fast", "fast is no flag"),
        ] {
            let error = text.parse::<Endpoint>().expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
