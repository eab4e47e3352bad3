//! BRSKI (RFC 8995) without sockets: how a device that is new in a network gets its first credential there.
//!
//! | module | content |
//! |---|---|
//! | [`voucher`] | vouchers and voucher requests (RFC 8366; RFC 8995, 3), as JSON and as CBOR |
//! | [`cms`] | the signatures of JSON (RFC 5652) |
//! | [`cose`] | the signatures of CBOR (RFC 9052; draft-ietf-anima-constrained-voucher-31) |
//! | [`certificate`] | the fields of certificates that onboarding reads: serial number, issuer, MASA URL, domainID |
//! | [`telemetry`], [`audit_log`] | status messages (RFC 8995, 5.7 and 5.9.4), and what a MASA says about earlier owners (5.8) |
//! | [`date`] | dates and times as texts (RFC 6991, 3; RFC 3339) |
//! | [`est`] | bodies of EST (RFC 7030): certificates, attributes, certification requests |
//! | [`pledge`] | the device: from the discovery of proxies to its credential of the domain, over HTTPS or over CoAPS |
//! | [`coap`] | CoAP (RFC 7252) as constrained BRSKI uses it: a client, discovery, CA certificates in one payload |
//!
//! With the feature `services`:
//!
//! | module | content |
//! |---|---|
//! | `artefact` | the two forms of vouchers and voucher requests, CMS/JSON and COSE/CBOR, by their media types |
//! | `registrar` | the decisions of a registrar: who may join, what the MASA is asked, who may enrol (RFC 8995, 5.3 to 5.9) |
//! | `masa` | the decisions of a MASA: vouchers and audit logs (RFC 8995, 5.5 to 5.8) |
//! | `coap::Server` | the requests of one peer over CoAP, and the answers to them |
//! | `join_proxy` | the decisions of a join proxy for datagrams (draft-ietf-anima-constrained-join-proxy-20) |
//! | `http`, `address`, `digest` | what both need: media types, addresses that may be connected to, digests |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod asn1;
pub mod audit_log;
mod base64;
mod cbor;
pub mod certificate;
pub mod cms;
pub mod coap;
pub mod cose;
pub mod date;
mod error;
pub mod est;
mod json;
pub mod pledge;
pub mod telemetry;
pub mod voucher;
mod voucher_signer;

#[cfg(feature = "services")]
pub mod address;
#[cfg(feature = "services")]
pub mod artefact;
#[cfg(feature = "services")]
mod devices;
#[cfg(feature = "services")]
pub mod digest;
#[cfg(feature = "services")]
pub mod http;
#[cfg(feature = "services")]
pub mod join_proxy;
#[cfg(feature = "services")]
pub mod masa;
#[cfg(feature = "services")]
mod reasons;
#[cfg(feature = "services")]
pub mod registrar;
#[cfg(feature = "services")]
mod stored;

pub use error::{Malformed, SignatureRefused};
