//! A hostile side has closures that alter its messages and editors that keep them well-formed; a trace collects alerts.

use alloc::sync::Arc;
use std::sync::{Mutex, PoisonError};

use terse_tls::{AlertDescription, CipherSuite, ExtensionType, Fault, HandshakeType, Trace, TraceEvent};

/// Calls `alter` with the number of each message that a side sends, its type, and its bytes with their header.
pub fn fault<F>(alter: F) -> Arc<dyn Fault>
where
    F: FnMut(usize, HandshakeType, &mut Vec<u8>) + Send + 'static,
{
    Arc::new(Alter(Mutex::new((0, alter))))
}

/// Alters the first message of type `kind`.
pub fn first<F>(kind: HandshakeType, alter: F) -> Arc<dyn Fault>
where
    F: Fn(&mut Vec<u8>) + Send + 'static,
{
    nth(kind, 0, alter)
}

/// Alters message `number`, from 0, among those of type `kind`.
pub fn nth<F>(kind: HandshakeType, number: usize, alter: F) -> Arc<dyn Fault>
where
    F: Fn(&mut Vec<u8>) + Send + 'static,
{
    let mut seen = 0;
    fault(move |_, sent, message| {
        if sent == kind {
            if seen == number {
                alter(message);
            }
            seen += 1;
        }
    })
}

struct Alter<F>(Mutex<(usize, F)>);

impl<F: FnMut(usize, HandshakeType, &mut Vec<u8>) + Send> Fault for Alter<F> {
    fn message(&self, kind: HandshakeType, message: &mut Vec<u8>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, alter) = &mut *state;
        alter(*number, kind, message);
        *number += 1;
    }
}

/// Returns a message with its header.
pub fn message(kind: HandshakeType, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind.0, 0, 0, 0];
    message.extend_from_slice(body);
    fix_length(&mut message);
    message
}

/// Writes the length of the body to the header of `message`, if it has one.
pub fn fix_length(message: &mut [u8]) {
    if let Some(len) = message.len().checked_sub(4) {
        message[1..4].copy_from_slice(&(len as u32).to_be_bytes()[1..]);
    }
}

/// Changes the body of `message`.
pub fn edit_body(message: &mut Vec<u8>, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut body = message.split_off(4);
    edit(&mut body);
    message.extend_from_slice(&body);
    fix_length(message);
}

/// An extension that is being edited.
pub type Extension = (ExtensionType, Vec<u8>);

/// Changes the extensions of a hello, EncryptedExtensions or CertificateRequest.
pub fn edit_extensions(message: &mut Vec<u8>, edit: impl FnOnce(&mut Vec<Extension>)) {
    let start = extensions_at(message);
    let mut block = &message[start + 2..];
    let mut extensions = Vec::new();
    while let [a, b, c, d, rest @ ..] = block {
        let len = usize::from(u16::from_be_bytes([*c, *d]));
        extensions.push((ExtensionType(u16::from_be_bytes([*a, *b])), rest[..len].to_vec()));
        block = &rest[len..];
    }
    edit(&mut extensions);
    let block: Vec<u8> = extensions
        .iter()
        .flat_map(|(kind, body)| [&kind.0.to_be_bytes(), &(body.len() as u16).to_be_bytes(), &body[..]].concat())
        .collect();
    message.truncate(start);
    message.extend_from_slice(&(block.len() as u16).to_be_bytes());
    message.extend_from_slice(&block);
    fix_length(message);
}

/// Replaces the body of one extension, which must be there.
pub fn set_extension(message: &mut Vec<u8>, kind: ExtensionType, body: &[u8]) {
    edit_extensions(message, |extensions| {
        let place = extensions.iter_mut().find(|(found, _)| *found == kind).expect("the extension is there");
        place.1 = body.to_vec();
    });
}

/// Adds an extension in front.
pub fn add_extension(message: &mut Vec<u8>, kind: ExtensionType, body: &[u8]) {
    edit_extensions(message, |extensions| extensions.insert(0, (kind, body.to_vec())));
}

/// Removes an extension.
pub fn remove_extension(message: &mut Vec<u8>, kind: ExtensionType) {
    edit_extensions(message, |extensions| extensions.retain(|(found, _)| *found != kind));
}

/// Changes the cipher suites of a ClientHello.
pub fn edit_suites(message: &mut Vec<u8>, edit: impl FnOnce(&mut Vec<CipherSuite>)) {
    let start = 4 + 34 + 1 + usize::from(message[4 + 34]);
    let len = usize::from(u16::from_be_bytes([message[start], message[start + 1]]));
    let field = start..start + 2 + len;
    let mut suites: Vec<_> = message[field.clone()][2..]
        .chunks(2)
        .map(|suite| CipherSuite(u16::from_be_bytes([suite[0], suite[1]])))
        .collect();
    edit(&mut suites);
    let len = (2 * suites.len() as u16).to_be_bytes();
    message.splice(field, len.into_iter().chain(suites.iter().flat_map(|suite| suite.0.to_be_bytes())));
    fix_length(message);
}

/// Returns where the extensions begin in a well-formed message of this implementation.
fn extensions_at(message: &[u8]) -> usize {
    let skip = |at: usize, width: usize| {
        at + width + message[at..at + width].iter().fold(0, |len, byte| len << 8 | usize::from(*byte))
    };
    let is_dtls = message[4] == 0xfe; // in DTLS there is a cookie
    match HandshakeType(message[0]) {
        HandshakeType::CLIENT_HELLO if is_dtls => skip(skip(skip(skip(4 + 34, 1), 1), 2), 1),
        HandshakeType::CLIENT_HELLO => skip(skip(skip(4 + 34, 1), 2), 1),
        HandshakeType::SERVER_HELLO => skip(4 + 34, 1) + 3,
        HandshakeType::CERTIFICATE_REQUEST => skip(4, 1),
        HandshakeType::ENCRYPTED_EXTENSIONS => 4,
        other => panic!("{other} has no extensions"),
    }
}

/// A trace that collects the alerts of one side.
#[derive(Debug, Default)]
pub struct Alerts {
    sent: Mutex<Vec<AlertDescription>>,
    received: Mutex<Vec<AlertDescription>>,
}

impl Alerts {
    /// Returns the alerts that the side sent.
    pub fn sent(&self) -> Vec<AlertDescription> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the alerts that the side received.
    pub fn received(&self) -> Vec<AlertDescription> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Trace for Alerts {
    fn event(&self, event: TraceEvent<'_>) {
        match event {
            TraceEvent::AlertSent(alert) => self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(alert),
            TraceEvent::AlertReceived(alert) => {
                self.received.lock().unwrap_or_else(PoisonError::into_inner).push(alert);
            }
            _ => {}
        }
    }
}
