//! The table at the end of `terse demo`.

use core::fmt::Write;

use terse_pki::Chain;
use terse_tls::HandshakeType;
use terse_tls::summary::{Traffic, Transport};

use super::Step;

/// Returns the table of the connections; each is compared with the first one over the same transport.
pub(super) fn table(chain: Chain, onboarding_ms: f64, steps: &[Step]) -> String {
    let mut text = format!(
        "A sensor came from its factory into a plant, and earned a certificate there in {:.0} ms: its maker\n\
         vouched for the plant, and the plant's CA certified the sensor's new key (BRSKI, RFC 8995).\n\
         Each was a process of its own: terse masa, terse registrar, terse join-proxy and terse pledge.\n\n\
         With it, the sensor met a broker {} times on loopback, over TCP and over UDP.\n\
         Certificates: {}, {} from leaf to root, the root not sent.\n\n",
        onboarding_ms,
        steps.len(),
        chain.algorithm(),
        chain.certificates()
    );
    let full = |step: &Step| steps.iter().find(|full| full.client.transport == step.client.transport);
    let versions = steps.iter().map(|step| match full(step) {
        Some(first) if core::ptr::eq(first, step) => step.client.version_name().unwrap_or_default(),
        _ => String::new(),
    });
    row(&mut text, "", versions);
    row(&mut text, "", steps.iter().map(|step| step.client.mode.to_string()));
    let sizes: [(&str, Size); 5] = [
        ("server Certificate", |step| size(&step.client.received, HandshakeType::CERTIFICATE)),
        ("CertificateRequest", |step| size(&step.client.received, HandshakeType::CERTIFICATE_REQUEST)),
        ("client Certificate", |step| size(&step.client.sent, HandshakeType::CERTIFICATE)),
        ("handshake messages", |step| step.client.sent.handshake_bytes + step.client.received.handshake_bytes),
        ("in their records", records),
    ];
    for (name, size) in sizes {
        row(&mut text, name, steps.iter().map(|step| format!("{} B", size(step))));
    }
    row(&mut text, "  saved", steps.iter().map(|step| percent(full(step).map_or(0, records), records(step))));
    row(&mut text, "datagrams", steps.iter().map(datagrams));
    row(&mut text, "round trips", steps.iter().map(|step| step.client.round_trips.to_string()));
    text.push_str("certificate signatures, both sides\n");
    row(
        &mut text,
        "  verified",
        steps.iter().map(|s| count(s.client.signatures_verified, s.server.signatures_verified)),
    );
    row(&mut text, "  saved", steps.iter().map(|s| count(s.client.signatures_saved, s.server.signatures_saved)));
    text.push_str(STORY);
    text
}

const STORY: &str = "
full     Both sent their certificates, and each verified the chain of the other.
rfc7924  The broker sent the SHA-256 of its Certificate and CertificateRequest instead of
         the messages: the sensor had them, and had verified the chain (RFC 7924).
compact  None of these was sent, nor the sensor's chain: one 8-byte ticket, which both had
         derived in the full handshake, told the broker what the sensor had seen and shown.
resumed  Nobody signed: both proved that they have the secret of an earlier session, which
         lasts a week at most. The sensor had asked for a ticket.
identity Nobody has a certificate or signs: a key generator had made a key for the name of
         each, and the key exchange proves both. Over UDP they had met before, over TCP.
Every time there was a fresh key exchange; in full and cached handshakes both sides signed.
DTLS cuts messages to packets of 1280 bytes, with a header of 12 bytes for each part; a round
trip and a second ClientHello go to a cookie, which shows that the sensor is where it says,
unless its ticket of compact shows that; and the broker acknowledges the last flight, since
packets get lost.";

/// A function that returns a number of bytes of a step.
type Size = fn(&Step) -> u64;

/// The widths of names and values: with nine connections a line has 100 characters.
const NAME: usize = 19;
const COLUMN: usize = 9;

fn row(text: &mut String, name: &str, values: impl Iterator<Item = String>) {
    let _ = write!(text, "{name:<NAME$}"); // writing to a String cannot fail
    for value in values {
        let _ = write!(text, "{value:>COLUMN$}");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
}

fn size(traffic: &Traffic, wanted: HandshakeType) -> u64 {
    traffic.messages.iter().filter(|(message, _)| *message == wanted).map(|(_, len)| u64::from(*len)).sum()
}

fn records(step: &Step) -> u64 {
    step.client.sent.record_bytes + step.client.received.record_bytes
}

fn datagrams(step: &Step) -> String {
    match step.client.transport {
        Transport::Datagram => (step.client.sent.datagrams + step.client.received.datagrams).to_string(),
        _ => "-".into(),
    }
}

fn percent(full: u64, now: u64) -> String {
    match full.checked_sub(now) {
        Some(0) | None => "-".into(),
        Some(saved) => format!("{:.1} %", saved as f64 * 100.0 / full as f64),
    }
}

fn count(client: u32, server: u32) -> String {
    (client + server).to_string()
}
