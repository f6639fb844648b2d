//! Where a server listens.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, sockopt, AddressFamily, SocketAddrUnix};

use crate::error::LoadError;
use crate::os;
use crate::spec::Target;

/// A socket address that can be connected to without further look-ups.
#[derive(Clone, Debug)]
pub enum Address {
    /// A socket in the file system.
    Unix(SocketAddrUnix),
    /// An address of the network.
    Tcp(SocketAddr),
}

impl Address {
    /// All addresses that the target's host stands for. A resolver that does not answer is given up after `patience`.
    pub fn resolve(target: &Target, patience: Duration) -> Result<Vec<Self>, LoadError> {
        let unknown = |problem: String| LoadError::Address {
            host: target.host.clone(),
            problem,
        };
        if target.host.starts_with('/') {
            let path = format!("{}/.s.PGSQL.{}", target.host.trim_end_matches('/'), target.port);
            let address = SocketAddrUnix::new(path.as_str()).map_err(|error| unknown(format!("{path}: {error}")))?;
            return Ok(vec![Self::Unix(address)]);
        }
        if let Ok(address) = target.host.parse::<IpAddr>() {
            return Ok(vec![Self::Tcp(SocketAddr::new(address, target.port))]);
        }
        let (sender, receiver) = mpsc::channel();
        let place = (target.host.clone(), target.port);
        let resolver = std::thread::Builder::new().name("load-resolve".to_owned());
        resolver
            .spawn(move || {
                // Nobody listens any more if the answer comes too late.
                let _ = sender.send(place.to_socket_addrs().map(Iterator::collect::<Vec<_>>));
            })
            .map_err(LoadError::system("starting the resolver"))?;
        let answer = receiver.recv_timeout(patience);
        let addresses = answer
            .map_err(|_| {
                unknown(format!(
                    "the resolver did not answer within {} s",
                    patience.as_secs_f64()
                ))
            })?
            .map_err(|error| unknown(error.to_string()))?;
        if addresses.is_empty() {
            return Err(unknown("the resolver knows none".to_owned()));
        }
        Ok(addresses.into_iter().map(Self::Tcp).collect())
    }

    /// A socket that is connected, or (true) on its way.
    pub(super) fn open(&self) -> Result<(OwnedFd, bool), Errno> {
        let family = match self {
            Self::Unix(_) => AddressFamily::UNIX,
            Self::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Self::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
        };
        let socket = os::stream_socket(family)?;
        let outcome = match self {
            Self::Unix(address) => net::connect(&socket, address),
            Self::Tcp(address) => {
                sockopt::set_tcp_nodelay(&socket, true)?;
                net::connect(&socket, address)
            }
        };
        match outcome {
            Ok(()) => Ok((socket, false)),
            Err(Errno::INPROGRESS) => Ok((socket, true)),
            Err(error) => Err(error),
        }
    }
}
