//! Announcements by DNS-SD over multicast DNS (RFC 6762, RFC 6763; RFC 8995, Appendix B).
//!
//! What must always hold: of all that is announced, at most [`MAX_KNOWN`] places are found at a time, and as many announcements
//! wait; each has the port that was announced with it, and an address; no announcement is kept out for ever by others.

use alloc::collections::VecDeque;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;

use mdns_sd::{Receiver, ResolvedService, ScopedIp, ServiceDaemon, ServiceEvent, ServiceInfo};
use terse_brski::certificate::is_unprintable;
use tokio::time::Instant;

use super::{Change, Discovery, Place, Service};

pub(crate) mod known;

use known::Known;
pub use known::{MAX_KNOWN, MAX_OF_HOST};

/// Why multicast DNS cannot be used.
#[derive(Debug)]
pub struct MdnsError(mdns_sd::Error);

impl fmt::Display for MdnsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "multicast DNS cannot be used: {}", self.0)
    }
}

impl core::error::Error for MdnsError {}

/// An announcement of this host. It is withdrawn when this is dropped.
pub struct Announcement {
    daemon: ServiceDaemon,
    name: String,
}

impl Announcement {
    /// Announces that this host offers a service at this port, on all its links and with all its addresses there. `instance`
    /// is a name for people, of up to 63 bytes; a longer one is cut off.
    pub fn new(service: Service, instance: &str, port: u16) -> Result<Self, MdnsError> {
        Self::at(service, instance, SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port))
    }

    /// The same for a service that listens at this address: with that alone, unless it is every address.
    pub fn at(service: Service, instance: &str, address: SocketAddr) -> Result<Self, MdnsError> {
        let daemon = ServiceDaemon::new().map_err(MdnsError)?;
        let info = info(service, instance, address)?;
        let name = info.get_fullname().to_owned();
        daemon.register(info).map_err(MdnsError)?;
        Ok(Self { daemon, name })
    }

    /// Returns the full name of the announcement.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Withdraws the announcement, and waits until that was said to the links: a process that ends at once may not say it.
    pub async fn withdraw(self) {
        // A daemon that is gone announces nothing any more.
        if let Ok(ended) = self.daemon.shutdown() {
            let _ = tokio::time::timeout(WITHDRAWAL, ended.recv_async()).await;
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // A daemon that is gone announces nothing any more.
        let _ = self.daemon.unregister(&self.name);
        let _ = self.daemon.shutdown();
    }
}

fn info(service: Service, instance: &str, address: SocketAddr) -> Result<ServiceInfo, MdnsError> {
    let port = address.port();
    // RFC 6763, 4.1.1: an instance name has at most 63 bytes of UTF-8.
    let instance: String = instance
        .chars()
        .scan(0, |len, c| {
            *len += c.len_utf8();
            (*len <= 63 && !is_unprintable(c)).then_some(c)
        })
        .collect();
    let host = format!("terse-{port}-{}.local.", std::process::id());
    let new = |addresses: &str| ServiceInfo::new(service.name(), &instance, &host, addresses, port, None);
    match address.ip() {
        ip if ip.is_unspecified() => Ok(new("").map_err(MdnsError)?.enable_addr_auto()),
        ip => new(&ip.to_string()).map_err(MdnsError),
    }
}

/// A search for announcements, which goes on until it is dropped.
pub struct Browser {
    daemon: ServiceDaemon,
    service: Service,
    /// The subscriptions, the earliest first, which is read until it ends: a later one ends those before it, and the daemon ends
    /// one that is full.
    subscriptions: VecDeque<Receiver<ServiceEvent>>,
    /// When to subscribe again, which tells all announcements again.
    again: Option<Instant>,
    known: Known,
}

impl Browser {
    /// Begins to search.
    pub fn new(service: Service) -> Result<Self, MdnsError> {
        let daemon = ServiceDaemon::new().map_err(MdnsError)?;
        let events = daemon.browse(service.name()).map_err(MdnsError)?;
        Ok(Self { daemon, service, subscriptions: [events].into(), again: None, known: Known::default() })
    }

    fn subscribe_again(&mut self) {
        if self.subscriptions.len() >= MAX_SUBSCRIPTIONS {
            self.again = Some(Instant::now() + PAUSE); // the last one is not read yet
            return;
        }
        self.again = None;
        match self.daemon.browse(self.service.name()) {
            Ok(events) => self.subscriptions.push_back(events),
            Err(mdns_sd::Error::Again) => self.again = Some(Instant::now() + PAUSE),
            Err(error) => tracing::warn!(%error, "multicast DNS finds nothing any more"),
        }
    }
}

impl Discovery for Browser {
    async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.known.changes.pop_front() {
                return change;
            }
            if self.known.take_missing() {
                self.again.get_or_insert(Instant::now() + PAUSE);
            }
            let event = tokio::select! {
                event = next_event(&self.subscriptions) => event,
                () = at(self.again) => {
                    self.subscribe_again();
                    continue;
                }
            };
            match event {
                Ok(ServiceEvent::ServiceResolved(service)) => self.known.resolved(&service.fullname, place(&service)),
                Ok(ServiceEvent::ServiceRemoved(_, name)) => self.known.removed(&name),
                Ok(_) => {}
                Err(_) => {
                    self.subscriptions.pop_front();
                    if self.subscriptions.is_empty() {
                        self.again.get_or_insert(Instant::now() + PAUSE);
                    }
                }
            }
        }
    }

    fn failed(&mut self, place: &Place) {
        self.known.failed(place);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.daemon.shutdown(); // one that is gone needs no end
    }
}

/// Waits for what the earliest subscription tells, or for ever if there is none.
async fn next_event(subscriptions: &VecDeque<Receiver<ServiceEvent>>) -> Result<ServiceEvent, mdns_sd::RecvError> {
    match subscriptions.front() {
        Some(events) => events.recv_async().await,
        None => core::future::pending().await,
    }
}

/// Waits for a time, or for ever.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => core::future::pending().await,
    }
}

/// Returns where a service is: at a link-local IPv6 address if it has one, because that is how a pledge communicates with its
/// proxy (RFC 8995, 4.1), and else at another address.
fn place(service: &ResolvedService) -> Option<Place> {
    let best = service.addresses.iter().min_by_key(|address| (rank(address), address.to_string()))?;
    (service.port != 0).then(|| Place::new(best.to_string(), service.port))
}

fn rank(address: &ScopedIp) -> u8 {
    match address.to_ip_addr() {
        IpAddr::V6(address) if address.is_unicast_link_local() => 0,
        IpAddr::V6(_) => 1,
        IpAddr::V4(_) => 2,
    }
}

/// How long a search waits before it is made again.
const PAUSE: Duration = Duration::from_secs(1);

/// The most subscriptions at a time: the one that is read, and the one that has taken its place.
const MAX_SUBSCRIPTIONS: usize = 2;

/// How long a withdrawal may take.
const WITHDRAWAL: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
