//! Edits messages, byte by byte.

use terse_testkit::fault::{edit_body, edit_extensions, message, set_extension};
use terse_tls::{ExtensionType as Ext, HandshakeType, ProtocolVersion};

use super::modes::TLS12;

/// Makes a full Certificate.
pub(crate) fn certificate_of(version: ProtocolVersion, credential: &terse_pki::Credential) -> Vec<u8> {
    let u24 = |len: usize| (len as u32).to_be_bytes()[1..].to_vec();
    let (context, extensions): (&[u8], &[u8]) = if version == TLS12 { (&[], &[]) } else { (&[0], &[0, 0]) };
    let entries: Vec<u8> =
        credential.chain().iter().flat_map(|der| [&u24(der.len()), der.as_ref(), extensions].concat()).collect();
    message(HandshakeType::CERTIFICATE, &[context, &u24(entries.len()), &entries].concat())
}

/// Gives the last entry of a Certificate empty extensions; it has none of its own.
pub(crate) fn entry_extensions(message: &mut Vec<u8>, kinds: &[Ext]) {
    edit_body(message, |body| {
        body.truncate(body.len() - 2);
        body.extend_from_slice(&(4 * kinds.len() as u16).to_be_bytes());
        kinds.iter().for_each(|kind| body.extend_from_slice(&[&kind.0.to_be_bytes()[..], &[0, 0]].concat()));
        let len = (body.len() - 4) as u32;
        body[1..4].copy_from_slice(&len.to_be_bytes()[1..]);
    });
}

/// Gives the last entry of a Certificate one empty extension.
pub(crate) fn entry_extension(message: &mut Vec<u8>, kind: Ext) {
    entry_extensions(message, &[kind]);
}

pub(crate) fn find(all: &mut [terse_testkit::fault::Extension], kind: Ext) -> &mut Vec<u8> {
    &mut all.iter_mut().find(|(found, _)| *found == kind).expect("the extension is there").1
}

pub(crate) fn session_id_of_33(message: &mut Vec<u8>) {
    edit_body(message, |body| drop(body.splice(34..35, core::iter::once(33).chain([0; 33]))));
}

/// Our own ClientHello has no session id here.
pub(crate) fn set_suites(message: &mut Vec<u8>, suites: &[u8]) {
    edit_body(message, |body| {
        let len = usize::from(u16::from_be_bytes([body[35], body[36]]));
        body.splice(35..37 + len, (suites.len() as u16).to_be_bytes().into_iter().chain(suites.iter().copied()));
    });
}

pub(crate) fn set_compression(message: &mut Vec<u8>, methods: &[u8]) {
    edit_body(message, |body| {
        let at = 37 + usize::from(u16::from_be_bytes([body[35], body[36]]));
        body.splice(at..at + 2, core::iter::once(methods.len() as u8).chain(methods.iter().copied()));
    });
}

pub(crate) fn two_server_names(message: &mut Vec<u8>) {
    set_extension(message, Ext::SERVER_NAME, &[0, 8, 0, 0, 1, b'a', 0, 0, 1, b'b']);
}

/// Changes the list of key shares, without its length.
pub(crate) fn edit_shares(message: &mut Vec<u8>, edit: impl FnOnce(&mut Vec<u8>)) {
    edit_extensions(message, |all| {
        let body = find(all, Ext::KEY_SHARE);
        let mut shares = body.split_off(2);
        edit(&mut shares);
        *body = [&(shares.len() as u16).to_be_bytes()[..], &shares].concat();
    });
}

pub(crate) fn set_share(shares: &mut Vec<u8>, group: u16, key_exchange: &[u8]) {
    *shares = [&group.to_be_bytes()[..], &(key_exchange.len() as u16).to_be_bytes(), key_exchange].concat();
}
