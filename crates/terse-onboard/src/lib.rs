//! The services of BRSKI (RFC 8995) on tokio: what `terse masa`, `terse registrar`, `terse join-proxy` and `terse pledge` run.
//!
//! | module | content |
//! |---|---|
//! | [`config`] | TOML files, with every mistake by its line |
//! | [`serve`] | HTTPS servers that know who is at the other end |
//! | [`store`] | the database of a service |
//! | [`client`] | HTTPS and CoAPS connections for one request after the other |
//! | [`discovery`] | where join proxies and registrars are: configured, announced by multicast DNS, or asked for by CoAP |
//! | [`pledge`] | a device, from its IDevID to the credential of its domain |
//! | [`join_proxy`] | a proxy for pledges that have no way to the registrar yet |
//! | [`registrar`] | the registrar of a domain |
//! | [`masa`] | the MASA of a manufacturer, and the factory that makes its devices |
//! | [`pages`] | the status pages of registrar and MASA, for operators |
//! | [`rate`] | how many requests an address may make |
//!
//! What is decided is in [`terse_brski`]: this crate has sockets, files and a database, and no protocol logic.

extern crate alloc;

pub mod client;
pub mod config;
#[cfg(test)]
#[path = "../tests/waits/deadline.rs"]
mod deadline;
mod dependencies;
pub mod discovery;
mod health;
pub mod join_proxy;
mod live;
mod looks;
pub mod masa;
mod metrics;
mod network;
pub mod pages;
mod places;
pub mod pledge;
pub mod rate;
pub mod registrar;
mod seen;
pub mod serve;
mod stop;
pub mod store;
mod times;
#[cfg(test)]
#[path = "../tests/waits/vacant.rs"]
mod vacant;
