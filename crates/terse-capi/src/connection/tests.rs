//! Two connections in memory, driven by the functions of C.
#![allow(clippy::disallowed_methods)] // tests take pointers as C does

use core::ffi::c_void;
use core::ptr::{null, null_mut};
use std::collections::HashMap;

use super::*;
use crate::*;

mod freed;
mod holds;

const VALIDITY: terse_pki::Validity = terse_pki::Validity { not_before: 1_763_700_000, not_after: 1_863_700_000 };
const NOW: TerseTime = TerseTime { monotonic_ms: 5, unix_seconds: 1_763_800_000 };
const NAME: &CStr = c"broker.example";

use core::ffi::CStr;

/// A CA, and a server's and a client's chain and key, in PEM.
struct Pki {
    ca: String,
    server: [String; 2],
    client: [String; 2],
}

impl Pki {
    fn new() -> Self {
        Self::named("Plant CA")
    }

    fn named(name: &str) -> Self {
        let mut options = terse_pki::AuthorityOptions::new("p256x2".parse().unwrap(), VALIDITY);
        options.name = name.to_owned();
        let authority = terse_pki::Authority::new(&options).unwrap();
        let issue = |name: &str| {
            let issued = authority.issue(&terse_pki::LeafOptions::new(name, VALIDITY)).unwrap();
            [issued.chain_pem(), issued.key_pem().to_string()]
        };
        Self { ca: authority.root_pem(), server: issue("broker.example"), client: issue("sensor.example") }
    }
}

#[track_caller]
fn ok(result: TerseResult) {
    assert_eq!(result, TERSE_OK, "see src/error/numbers.txt");
}

fn builder() -> Box<TerseConfigBuilder> {
    terse_config_builder_new().unwrap()
}

fn trust(builder: &mut TerseConfigBuilder, pem: &str) -> TerseResult {
    // SAFETY: the text has this length.
    unsafe { terse_config_builder_trust(Some(builder), pem.as_ptr(), pem.len()) }
}

fn credential(builder: &mut TerseConfigBuilder, [chain, key]: &[String; 2]) -> TerseResult {
    // SAFETY: the texts have these lengths.
    unsafe { terse_config_builder_credential(Some(builder), chain.as_ptr(), chain.len(), key.as_ptr(), key.len()) }
}

fn client(builder: &mut TerseConfigBuilder) -> Box<TerseClientConfig> {
    let mut config = null_mut();
    // SAFETY: the place may be written, and what was made comes from a box.
    unsafe {
        ok(terse_config_builder_build_client(Some(builder), &mut config));
        Box::from_raw(config)
    }
}

fn server(builder: &mut TerseConfigBuilder) -> Box<TerseServerConfig> {
    let mut config = null_mut();
    // SAFETY: the place may be written, and what was made comes from a box.
    unsafe {
        ok(terse_config_builder_build_server(Some(builder), &mut config));
        Box::from_raw(config)
    }
}

/// A client and a server, which are freed at the end.
struct Pair([*mut TerseConnection; 2]);

impl Pair {
    fn new(client: &TerseClientConfig, server: &TerseServerConfig) -> Self {
        Self::at_port(8883, client, server)
    }

    fn at_port(port: u16, client: &TerseClientConfig, server: &TerseServerConfig) -> Self {
        let mut pair = [null_mut(); 2];
        // SAFETY: the places may be written.
        unsafe {
            ok(terse_connection_new_client(Some(client), NAME.as_ptr(), port, Some(&NOW), &mut pair[0]));
            ok(terse_connection_new_server(Some(server), Some(&NOW), &mut pair[1]));
        }
        Self(pair)
    }

    fn side(&self, side: usize) -> Option<&TerseConnection> {
        // SAFETY: it is freed at the end only.
        unsafe { self.0[side].as_ref() }
    }

    /// Carries what one side sends to the other. Returns what came of it, and whether something was sent.
    fn carry(&self, from: usize) -> (TerseResult, bool) {
        let (mut bytes, mut len, mut taken) = ([0; 2048], 0, 0);
        let mut has_sent = false;
        loop {
            // SAFETY: the buffer has this length.
            unsafe {
                ok(terse_poll_transmit(self.side(from), Some(&NOW), bytes.as_mut_ptr(), bytes.len(), &mut len));
                if len == 0 {
                    return (TERSE_OK, has_sent);
                }
                has_sent = true;
                let result = terse_handle_input(self.side(1 - from), Some(&NOW), bytes.as_mut_ptr(), len, &mut taken);
                if result != TERSE_OK {
                    return (result, true);
                }
                assert_eq!(taken, len);
            }
        }
    }

    /// Carries until nobody sends, or one side fails. Returns the errors of the client and of the server.
    fn run(&self) -> [TerseResult; 2] {
        let mut results = [TERSE_OK; 2];
        loop {
            let mut has_sent = false;
            for from in [0, 1] {
                let (result, sent) = self.carry(from);
                has_sent |= sent;
                if result != TERSE_OK && results[1 - from] == TERSE_OK {
                    results[1 - from] = result;
                }
            }
            if !has_sent {
                return results;
            }
        }
    }

    fn send(&self, from: usize, data: &[u8]) {
        let (mut taken, mut out, mut len) = (0, [0; 100], 0);
        // SAFETY: the buffers have these lengths.
        unsafe {
            ok(terse_send(self.side(from), data.as_ptr(), data.len(), &mut taken));
            assert_eq!((taken, self.carry(from).0), (data.len(), TERSE_OK));
            ok(terse_recv(self.side(1 - from), out.as_mut_ptr(), out.len(), &mut len));
        }
        assert_eq!(&out[..len], data);
    }

    fn summary(&self, side: usize) -> TerseSummary {
        let mut summary = TerseSummary::default();
        // SAFETY: the place has this size.
        ok(unsafe { terse_connection_summary(self.side(side), &mut summary, size_of::<TerseSummary>()) });
        summary
    }

    fn message(&self, side: usize) -> String {
        let mut text = [0_u8; 300];
        let mut len = 0;
        // SAFETY: the buffer has this length.
        ok(unsafe { terse_connection_message(self.side(side), text.as_mut_ptr().cast(), text.len(), &mut len) });
        assert_eq!(text[len], 0);
        String::from_utf8(text[..len].to_vec()).unwrap()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // SAFETY: they were made by the constructors and are freed once.
        self.0.iter().for_each(|side| unsafe { terse_connection_free(*side) });
    }
}

#[test]
fn data_goes_both_ways_over_streams_and_datagrams() {
    let pki = Pki::new();
    for is_datagram in [false, true] {
        for version in [TERSE_VERSION_1_2, TERSE_VERSION_1_3] {
            let mut both = [builder(), builder()];
            for builder in &mut both {
                ok(terse_config_builder_versions(Some(builder), version, version));
                // SAFETY: the text has this length.
                ok(unsafe { terse_config_builder_alpn(Some(builder), c"coap".as_ptr().cast(), 4) });
                ok(trust(builder, &pki.ca));
                if is_datagram {
                    ok(terse_config_builder_datagrams(Some(builder), 512, 0));
                }
            }
            let [for_client, for_server] = &mut both;
            ok(credential(for_client, &pki.client));
            ok(credential(for_server, &pki.server));
            ok(terse_config_builder_client_authentication(
                Some(for_server),
                TerseClientAuthentication::Required as i32,
            ));
            let pair = Pair::new(&client(for_client), &server(for_server));
            assert!(terse_is_handshaking(pair.side(0)) && !terse_is_connected(pair.side(0)));
            assert_eq!(pair.run(), [TERSE_OK; 2]);
            for side in [0, 1] {
                assert_eq!(terse_poll_event(pair.side(side)), TerseEvent::Connected);
                assert_eq!(terse_poll_event(pair.side(side)), TerseEvent::None);
                let summary = pair.summary(side);
                assert_eq!((summary.version, summary.is_datagram), (version, is_datagram));
                assert_eq!(
                    (summary.mode, summary.authenticated_by),
                    (TerseMode::Full, TerseAuthentication::Certificate)
                );
                let (mut alpn, mut len) = ([0; 4], 0);
                // SAFETY: the buffer has this length.
                ok(unsafe { terse_connection_alpn(pair.side(side), alpn.as_mut_ptr(), 4, &mut len) });
                assert_eq!(&alpn, b"coap");
            }
            pair.send(0, b"22.5 C");
            pair.send(1, b"thanks");
            ok(terse_close(pair.side(0)));
            pair.run();
            assert_eq!(terse_poll_event(pair.side(1)), TerseEvent::PeerClosed);
            ok(terse_handle_end_of_input(pair.side(1), Some(&NOW)));
            assert_eq!(terse_connection_alert(pair.side(1)), -1);
        }
    }
}

#[test]
fn the_cryptography_of_small_devices_is_enough_for_peers_with_it() {
    let pki = Pki::new();
    let mut for_client = terse_config_builder_new_p256().unwrap();
    let mut for_server = builder();
    ok(trust(&mut for_client, &pki.ca));
    ok(credential(&mut for_client, &pki.client));
    ok(trust(&mut for_server, &pki.ca));
    ok(credential(&mut for_server, &pki.server));
    ok(terse_config_builder_client_authentication(Some(&mut for_server), 2));
    let pair = Pair::new(&client(&mut for_client), &server(&mut for_server));
    assert_eq!(pair.run(), [TERSE_OK; 2]);
    let summary = pair.summary(0);
    assert_eq!((summary.version, summary.cipher_suite, summary.group), (TERSE_VERSION_1_3, 0x1301, 29));
    ok(terse_config_builder_versions(Some(&mut for_client), TERSE_VERSION_1_2, TERSE_VERSION_1_2));
    let mut config = null_mut();
    // SAFETY: the place may be written.
    let result = unsafe { terse_config_builder_build_client(Some(&mut for_client), &mut config) };
    assert_eq!(result, TerseError::ApiMisuseEmptyConfiguration as i32, "it has no suite of 1.2");
}

#[test]
fn a_pre_shared_key_or_a_raw_public_key_is_enough() {
    let pki = Pki::new();
    let (mut for_client, mut for_server) = (builder(), builder());
    for builder in [&mut for_client, &mut for_server] {
        // SAFETY: the texts have these lengths.
        ok(unsafe {
            let key = c"0123456789abcdef".as_ptr().cast();
            terse_config_builder_psk(Some(builder), c"sensor17".as_ptr().cast(), 8, key, 16)
        });
    }
    let pair = Pair::new(&client(&mut for_client), &server(&mut for_server));
    assert_eq!(pair.run(), [TERSE_OK; 2]);
    assert_eq!((pair.summary(1).mode, pair.summary(1).authenticated_by), (TerseMode::Psk, TerseAuthentication::Psk));

    let (mut for_client, mut for_server) = (builder(), builder());
    let chain = certificates::certificates(pki.server[0].as_bytes()).unwrap();
    let public_key = certificates::public_key_of(&chain).unwrap();
    let private_key = &pki.server[1];
    // SAFETY: the buffers have these lengths.
    unsafe {
        ok(terse_config_builder_trust_public_key(Some(&mut for_client), public_key.as_ptr(), public_key.len()));
        let builder = Some(&mut *for_server);
        ok(terse_config_builder_raw_public_key(builder, private_key.as_ptr(), private_key.len()));
    }
    let pair = Pair::new(&client(&mut for_client), &server(&mut for_server));
    assert_eq!(pair.run(), [TERSE_OK; 2]);
    assert_eq!(pair.summary(0).authenticated_by, TerseAuthentication::Certificate);
}

#[test]
fn certificates_and_keys_are_pem_or_der() {
    let pki = Pki::new();
    let chain = certificates::certificates(pki.server[0].as_bytes()).unwrap();
    let two = [chain[0].as_ref(), chain[0].as_ref()].concat();
    assert_eq!(certificates::certificates(&two).unwrap(), [chain[0].clone(), chain[0].clone()]);
    for len in 0..two.len() {
        let read = certificates::certificates(&two[..len]);
        assert_eq!(read.is_ok(), len == chain[0].len(), "cut at {len}");
    }
    let key = certificates::private_key(pki.server[1].as_bytes()).unwrap();
    let same = certificates::private_key(key.secret_der()).unwrap();
    assert_eq!(same.secret_der(), key.secret_der());
    let edits: [fn(&str) -> String; 3] =
        [|pem| format!("\u{feff}{pem}"), |pem| pem.replace('\n', " \r\n"), |pem| format!("01 notes\n{pem}\n\nnotes\n")];
    for edit in edits {
        assert_eq!(certificates::certificates(edit(&pki.server[0]).as_bytes()).unwrap(), chain);
        assert_eq!(certificates::private_key(edit(&pki.server[1]).as_bytes()).unwrap().secret_der(), key.secret_der());
    }
    for wrong in [&b""[..], b"0", b"\x30\x00", b"-----BEGIN PRIVATE KEY-----"] {
        assert!(certificates::private_key(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_stranger_is_refused_with_an_alert_and_a_reason() {
    let (pki, other) = (Pki::new(), Pki::named("Another CA"));
    let (mut for_client, mut for_server) = (builder(), builder());
    ok(trust(&mut for_client, &other.ca));
    ok(credential(&mut for_server, &pki.server));
    let pair = Pair::new(&client(&mut for_client), &server(&mut for_server));
    let results = pair.run();
    assert_eq!(results, [TerseError::CertificateUnknownIssuer as i32, TerseError::AlertReceived as i32]);
    assert_eq!([0, 1].map(|side| terse_connection_alert(pair.side(side))), [48, 48], "unknown_ca");
    assert!(pair.message(0).contains("no CA that is trusted"), "{}", pair.message(0));
    let (mut byte, mut taken) = (0, 0);
    // SAFETY: there is one byte.
    let again = unsafe { terse_handle_input(pair.side(0), Some(&NOW), &mut byte, 1, &mut taken) };
    assert_eq!(again, TerseError::CertificateUnknownIssuer as i32, "it stays so");
    assert!(!terse_is_handshaking(pair.side(0)) && !terse_is_connected(pair.side(0)));
}

#[test]
fn nothing_that_may_not_be_null_is_used() {
    let null_pointer = TerseError::NullPointer as i32;
    let pki = Pki::new();
    let (mut for_client, mut for_server) = (builder(), builder());
    ok(trust(&mut for_client, &pki.ca));
    ok(credential(&mut for_server, &pki.server));
    let config = client(&mut for_client);
    let pair = Pair::new(&config, &server(&mut for_server));
    let (side, now) = (pair.side(0), Some(&NOW));
    let (mut len, mut byte, mut made) = (0, 0_u8, null_mut());
    let builder = &mut *for_client;
    // SAFETY: what is not NULL has the lengths that are given.
    unsafe {
        assert_eq!(terse_config_builder_trust(None, &byte, 1), null_pointer);
        assert_eq!(terse_config_builder_trust(Some(builder), null(), 1), null_pointer);
        assert_eq!(terse_config_builder_trust(Some(builder), &byte, usize::MAX), TerseError::InvalidArgument as i32);
        assert_eq!(terse_config_builder_build_client(Some(builder), null_mut()), null_pointer);
        assert_eq!(terse_config_builder_build_client(None, &mut null_mut()), null_pointer);
        assert_eq!(terse_config_builder_credential_signer(Some(builder), &byte, 1, None), null_pointer);
        assert_eq!(terse_config_builder_psk(Some(builder), null(), 3, &byte, 1), null_pointer);
        assert_eq!(terse_connection_new_client(None, NAME.as_ptr(), 1, now, &mut made), null_pointer);
        assert_eq!(terse_connection_new_client(Some(&config), null(), 1, now, &mut made), null_pointer);
        assert_eq!(terse_connection_new_client(Some(&config), NAME.as_ptr(), 1, now, null_mut()), null_pointer);
        assert_eq!(terse_connection_new_server(None, now, &mut made), null_pointer);
        assert!(made.is_null());
        assert_eq!(terse_handle_input(None, now, &mut byte, 1, &mut len), null_pointer);
        assert_eq!(terse_handle_input(side, now, null_mut(), 1, &mut len), null_pointer);
        assert_eq!(terse_handle_input(side, now, &mut byte, 1, null_mut()), null_pointer);
        assert_eq!(terse_poll_transmit(side, now, null_mut(), 1, &mut len), null_pointer);
        assert_eq!(terse_poll_transmit(side, now, null_mut(), 0, &mut len), TerseError::BufferTooSmall as i32);
        assert_eq!(terse_send(side, null(), 1, &mut len), null_pointer);
        assert_eq!(terse_recv(side, null_mut(), 1, &mut len), null_pointer);
        assert_eq!(terse_pending_signature(side, null_mut()), null_pointer);
        assert_eq!(terse_connection_summary(side, null_mut(), 8), null_pointer);
        assert_eq!(terse_connection_message(side, null_mut(), 8, null_mut()), null_pointer);
        assert!(!terse_poll_timeout(side, null_mut()) && !terse_poll_timeout(None, &mut 0));
        assert_eq!(terse_client_store_new(8, None, null_mut()), null_pointer);
        assert_eq!(terse_server_store_new(0, &mut null_mut()), TerseError::InvalidArgument as i32);
        terse_connection_free(null_mut());
    }
    assert_eq!(terse_poll_event(None), TerseEvent::None);
    assert_eq!((terse_is_connected(None), terse_max_message(None), terse_connection_alert(None)), (false, 0, -1));
    for result in [terse_close(None), terse_give_up(None, now), terse_handle_timeout(None, now)] {
        assert_eq!(result, null_pointer);
    }
    terse_config_builder_free(None);
    terse_client_config_free(None);
    terse_server_config_free(None);
    terse_client_store_free(None);
    terse_server_store_free(None);
    assert_eq!(pair.run(), [TERSE_OK; 2], "the connection is as before");
}

#[test]
fn mistakes_of_a_configuration_have_a_reason() {
    let pki = Pki::new();
    let message = |builder: &TerseConfigBuilder| {
        let (mut text, mut len) = ([0_u8; 200], 0);
        // SAFETY: the buffer has this length.
        ok(unsafe { terse_config_builder_message(Some(builder), text.as_mut_ptr().cast(), text.len(), &mut len) });
        String::from_utf8(text[..len].to_vec()).unwrap()
    };
    let mut wrong = builder();
    assert_eq!(message(&wrong), "");
    let mut config = null_mut();
    // SAFETY: the place may be written.
    let result = unsafe { terse_config_builder_build_client(Some(&mut wrong), &mut config) };
    assert_eq!(result, TerseError::ApiMisuseEmptyConfiguration as i32);
    assert!(config.is_null() && message(&wrong).contains("trust anchor"), "{}", message(&wrong));
    let mixed = [pki.server[0].clone(), pki.client[1].clone()];
    assert_eq!(credential(&mut wrong, &mixed), TerseError::ApiMisuseKeyDoesNotMatchCertificate as i32);
    assert_eq!(trust(&mut wrong, "no PEM"), TerseError::MalformedPem as i32);
    assert_eq!(trust(&mut wrong, "\x30\x05ab"), TerseError::ApiMisuseMalformedCertificate as i32);
    for (least, greatest) in [(0, 0), (0x0304, 0x0303), (0x0303, 0x0305)] {
        assert_eq!(
            terse_config_builder_versions(Some(&mut wrong), least, greatest),
            TerseError::InvalidArgument as i32
        );
    }
    assert_eq!(terse_config_builder_datagrams(Some(&mut wrong), 49, 0), TerseError::ApiMisuseDatagramOutOfRange as i32);
    ok(terse_config_builder_client_authentication(Some(&mut wrong), 1));
    // SAFETY: the place may be written.
    let result = unsafe { terse_config_builder_build_client(Some(&mut wrong), &mut config) };
    assert_eq!(result, TerseError::WrongSide as i32);
    ok(trust(&mut wrong, &pki.ca));
    assert_eq!(message(&wrong), "", "the last call has not failed");
}

#[test]
fn connection_ids_are_for_datagrams() {
    let (mut builder, mut config) = (builder(), null_mut());
    ok(trust(&mut builder, &Pki::new().ca));
    ok(terse_config_builder_connection_id(Some(&mut builder), 4));
    // SAFETY: the place may be written.
    let result = unsafe { terse_config_builder_build_client(Some(&mut builder), &mut config) };
    assert_eq!(result, TerseError::ApiMisuseNoDatagrams as i32);
    assert!(config.is_null());
    ok(terse_config_builder_datagrams(Some(&mut builder), 0, 0));
    client(&mut builder);
}

/// What the callbacks of a signer get.
struct Signer {
    key: alloc::sync::Arc<dyn terse_tls::crypto::SigningKey>,
    answer: TerseCallback,
    connection: *mut TerseConnection,
    calls: usize,
}

unsafe extern "C" fn sign(
    context: *mut c_void,
    scheme: u16,
    message: *const u8,
    message_len: usize,
    signature: *mut u8,
    capacity: usize,
    len: *mut usize,
) -> i32 {
    // SAFETY: the test gives the signer, and the library buffers of these lengths.
    let (signer, message, signature) = unsafe {
        let message = core::slice::from_raw_parts(message, message_len);
        (&mut *context.cast::<Signer>(), message, core::slice::from_raw_parts_mut(signature, capacity))
    };
    signer.calls += 1;
    // SAFETY: the connection is NULL, or lives.
    let connection = unsafe { signer.connection.as_ref() };
    assert!(connection.is_none() || terse_close(connection) == TerseError::Busy as i32);
    let made = signed(signer, scheme, message);
    signature[..made.len()].copy_from_slice(&made);
    // SAFETY: the library gives a place.
    unsafe { len.write(made.len()) };
    signer.answer as i32
}

fn signed(signer: &Signer, scheme: u16, message: &[u8]) -> Vec<u8> {
    let mut rng = Platform::default();
    let signing = signer.key.sign(terse_tls::SignatureScheme(scheme), message, &mut rng).unwrap();
    signing.done().unwrap()
}

fn with_signer(pki: &Pki, answer: TerseCallback) -> (Pair, Box<Signer>) {
    let key = crate::certificates::private_key(pki.server[1].as_bytes()).unwrap();
    let key = terse_rustcrypto::PROVIDER.load_key(&key).unwrap();
    let mut signer = Box::new(Signer { key, answer, connection: null_mut(), calls: 0 });
    let schemes = [0x0403];
    let context = core::ptr::from_mut(&mut *signer).cast();
    let callbacks = TerseSigner { context, sign: Some(sign), schemes: schemes.as_ptr(), schemes_len: 1 };
    let (mut for_client, mut for_server) = (builder(), builder());
    ok(trust(&mut for_client, &pki.ca));
    let chain = &pki.server[0];
    // SAFETY: the text has this length.
    ok(unsafe {
        let builder = Some(&mut *for_server);
        terse_config_builder_credential_signer(builder, chain.as_ptr(), chain.len(), Some(&callbacks))
    });
    let pair = Pair::new(&client(&mut for_client), &server(&mut for_server));
    (pair, signer)
}

#[test]
fn a_signer_answers_at_once_and_may_not_call_back() {
    let (pair, mut signer) = with_signer(&Pki::new(), TerseCallback::Done);
    signer.connection = pair.0[1];
    assert_eq!(pair.run(), [TERSE_OK; 2]);
    assert_eq!(signer.calls, 1);
    assert!(terse_is_connected(pair.side(0)) && terse_is_connected(pair.side(1)));
}

#[test]
fn a_signer_answers_later() {
    let (pair, signer) = with_signer(&Pki::new(), TerseCallback::Pending);
    pair.carry(0);
    assert_eq!(terse_poll_event(pair.side(1)), TerseEvent::NeedSignature);
    let mut request = TerseSignatureRequest { scheme: 0, message: null(), message_len: 0 };
    // SAFETY: the place may be written, the message belongs to the connection.
    let message = unsafe {
        ok(terse_pending_signature(pair.side(1), &mut request));
        core::slice::from_raw_parts(request.message, request.message_len).to_vec()
    };
    let signature = signed(&signer, request.scheme, &message);
    // SAFETY: the signature has this length.
    unsafe {
        ok(terse_provide_signature(pair.side(1), Some(&NOW), signature.as_ptr(), signature.len()));
        let twice = terse_provide_signature(pair.side(1), Some(&NOW), signature.as_ptr(), signature.len());
        assert_eq!(twice, TerseError::ApiMisuseNoSignatureDue as i32);
    }
    assert_eq!(pair.run(), [TERSE_OK; 2]);
    assert!(terse_is_connected(pair.side(0)) && signer.calls == 1);
}

#[test]
fn a_signer_that_fails_ends_the_handshake() {
    let failed = TerseError::CryptoSigningFailed as i32;
    let (pair, _signer) = with_signer(&Pki::new(), TerseCallback::Failed);
    assert_eq!(pair.run(), [TerseError::AlertReceived as i32, failed]);
    let (pair, _signer) = with_signer(&Pki::new(), TerseCallback::Pending);
    pair.carry(0);
    // SAFETY: NULL says that the signer has failed.
    assert_eq!(unsafe { terse_provide_signature(pair.side(1), Some(&NOW), null(), 0) }, failed);
    assert_eq!(pair.run(), [TerseError::AlertReceived as i32, TERSE_OK]);
}

#[test]
fn without_randomness_nothing_goes_on() {
    unsafe extern "C" fn fail(_: *mut c_void, _: *mut u8, _: usize) -> i32 {
        TerseCallback::Failed as i32
    }
    let mut builder = builder();
    ok(trust(&mut builder, &Pki::new().ca));
    ok(terse_config_builder_random(Some(&mut builder), Some(fail), null_mut()));
    let (config, mut made) = (client(&mut builder), null_mut());
    // SAFETY: the place may be written.
    let result = unsafe { terse_connection_new_client(Some(&config), NAME.as_ptr(), 1, Some(&NOW), &mut made) };
    assert_eq!(result, TerseError::CryptoRandomFailed as i32);
    assert!(made.is_null());
}

#[test]
fn the_clock_is_asked_where_no_time_is_given() {
    unsafe extern "C" fn clock(context: *mut c_void, time: *mut TerseTime) {
        // SAFETY: the test gives a counter, and the library a place.
        unsafe {
            *context.cast::<usize>() += 1;
            *time = TerseTime { unix_seconds: VALIDITY.not_after + 1, ..NOW };
        }
    }
    let pki = Pki::new();
    let mut calls = 0_usize;
    let (mut for_client, mut for_server) = (builder(), builder());
    ok(trust(&mut for_client, &pki.ca));
    ok(credential(&mut for_server, &pki.server));
    ok(terse_config_builder_clock(Some(&mut for_client), Some(clock), core::ptr::from_mut(&mut calls).cast()));
    let pair = Pair::new(&client(&mut for_client), &server(&mut for_server));
    pair.carry(0);
    let (mut bytes, mut len, mut taken) = ([0; 4096], 0, 0);
    // SAFETY: the buffer has this length.
    let result = unsafe {
        ok(terse_poll_transmit(pair.side(1), Some(&NOW), bytes.as_mut_ptr(), bytes.len(), &mut len));
        let mut now = TerseTime::default();
        ok(terse_now(pair.side(0), &mut now));
        assert_eq!((now.monotonic_ms, now.unix_seconds), (NOW.monotonic_ms, VALIDITY.not_after + 1));
        terse_handle_input(pair.side(0), None, bytes.as_mut_ptr(), len, &mut taken)
    };
    assert_eq!((result, calls), (TerseError::CertificateExpired as i32, 2));
}

/// A store of the program: what it keeps, and whether it does.
#[derive(Default)]
struct Store {
    values: HashMap<Vec<u8>, Vec<u8>>,
    is_broken: bool,
}

unsafe extern "C" fn load(
    context: *mut c_void,
    key: *const u8,
    key_len: usize,
    value: *mut u8,
    capacity: usize,
    len: *mut usize,
) -> i32 {
    // SAFETY: the test gives the store, and the library buffers of these lengths.
    unsafe {
        let store = &*context.cast::<Store>();
        let Some(found) = store.values.get(core::slice::from_raw_parts(key, key_len)) else {
            return TerseCallback::NotFound as i32;
        };
        assert!(found.len() <= capacity);
        value.copy_from_nonoverlapping(found.as_ptr(), found.len());
        len.write(found.len());
    }
    TerseCallback::Done as i32
}

unsafe extern "C" fn save(
    context: *mut c_void,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
) -> i32 {
    // SAFETY: the test gives the store, and the library buffers of these lengths.
    unsafe {
        let store = &mut *context.cast::<Store>();
        if store.is_broken {
            return TerseCallback::Failed as i32;
        }
        let key = core::slice::from_raw_parts(key, key_len).to_vec();
        store.values.insert(key, core::slice::from_raw_parts(value, value_len).to_vec());
    }
    TerseCallback::Done as i32
}

unsafe extern "C" fn remove(context: *mut c_void, key: *const u8, key_len: usize) -> i32 {
    // SAFETY: the test gives the store, and the library a key of this length.
    let store = unsafe { &mut *context.cast::<Store>() };
    if store.is_broken {
        return TerseCallback::Failed as i32;
    }
    // SAFETY: as above.
    match store.values.remove(unsafe { core::slice::from_raw_parts(key, key_len) }) {
        Some(_) => TerseCallback::Done as i32,
        None => TerseCallback::NotFound as i32,
    }
}

fn callbacks(store: &mut Store, max_value: usize) -> TerseStoreCallbacks {
    let context = core::ptr::from_mut(store).cast();
    TerseStoreCallbacks { context, load: Some(load), save: Some(save), remove: Some(remove), max_value }
}

/// Returns the configuration of a device that was just switched on, and has kept what is in `store`.
fn device(pki: &Pki, store: &mut Store, uses: u32, max_value: usize) -> Box<TerseClientConfig> {
    device_for(4, pki, Some(&callbacks(store, max_value)), uses)
}

/// Returns the configuration of a device that keeps at most `capacity` servers in memory.
fn device_for(
    capacity: usize,
    pki: &Pki,
    callbacks: Option<&TerseStoreCallbacks>,
    uses: u32,
) -> Box<TerseClientConfig> {
    let (mut builder, mut made) = (builder(), null_mut());
    // SAFETY: the place may be written, and what was made comes from a box.
    let store = unsafe {
        ok(terse_client_store_new(capacity, callbacks, &mut made));
        Box::from_raw(made)
    };
    ok(trust(&mut builder, &pki.ca));
    ok(credential(&mut builder, &pki.client));
    ok(terse_config_builder_client_store(Some(&mut builder), Some(&store), uses));
    terse_client_store_free(Some(store));
    client(&mut builder)
}

fn broker(pki: &Pki, uses: u32) -> Box<TerseServerConfig> {
    let (mut builder, mut made) = (builder(), null_mut());
    // SAFETY: the place may be written, and what was made comes from a box.
    let store = unsafe {
        ok(terse_server_store_new(4, &mut made));
        Box::from_raw(made)
    };
    ok(trust(&mut builder, &pki.ca));
    ok(credential(&mut builder, &pki.server));
    ok(terse_config_builder_client_authentication(Some(&mut builder), 2));
    ok(terse_config_builder_server_store(Some(&mut builder), Some(&store), uses, 0));
    terse_server_store_free(Some(store));
    server(&mut builder)
}

fn connect(client: &TerseClientConfig, server: &TerseServerConfig) -> TerseSummary {
    let pair = Pair::new(client, server);
    assert_eq!(pair.run(), [TERSE_OK; 2]);
    pair.send(1, b"hello");
    ok(terse_close(pair.side(0)));
    pair.run();
    pair.summary(0)
}

#[test]
fn what_a_store_of_the_program_keeps_outlives_a_reset() {
    let pki = Pki::new();
    for (uses, mode) in [(TERSE_USE_CACHE, TerseMode::Compact), (TERSE_USE_RESUMPTION, TerseMode::Resumed)] {
        let (mut store, broker) = (Store::default(), broker(&pki, uses));
        assert_eq!(connect(&device(&pki, &mut store, uses, 1_024), &broker).mode, TerseMode::Full);
        assert!(!store.values.is_empty());
        assert!(store.values.keys().all(|key| key.len() == 16));
        let second = connect(&device(&pki, &mut store, uses, 1_024), &broker);
        assert_eq!((second.mode, second.signatures_verified), (mode, 0));
        if uses == TERSE_USE_CACHE {
            let all =
                TERSE_CACHED_SERVER_CERTIFICATE | TERSE_CACHED_CERTIFICATE_REQUEST | TERSE_CACHED_CLIENT_CERTIFICATE;
            assert_eq!(second.cached, all);
        }
    }
}

#[test]
fn a_store_that_fails_or_lies_costs_a_full_handshake_only() {
    let pki = Pki::new();
    let uses = TERSE_USE_CACHE | TERSE_USE_RESUMPTION;
    let broker = broker(&pki, uses);
    let mut store = Store { is_broken: true, ..Store::default() };
    for _ in 0..2 {
        assert_eq!(connect(&device(&pki, &mut store, uses, 0), &broker).mode, TerseMode::Full);
    }
    store.is_broken = false;
    assert_eq!(connect(&device(&pki, &mut store, uses, 64), &broker).mode, TerseMode::Full);
    assert!(store.values.is_empty(), "no value is longer than the program says");
    connect(&device(&pki, &mut store, uses, 0), &broker);
    assert_eq!(store.values.len(), 2);
    for value in store.values.values_mut() {
        value.iter_mut().for_each(|byte| *byte ^= 0xff);
    }
    assert_eq!(connect(&device(&pki, &mut store, uses, 0), &broker).mode, TerseMode::Full, "damaged");
}

#[test]
fn a_session_that_cannot_be_removed_is_not_used() {
    let pki = Pki::new();
    let (mut store, broker) = (Store::default(), broker(&pki, TERSE_USE_RESUMPTION));
    connect(&device(&pki, &mut store, TERSE_USE_RESUMPTION, 0), &broker);
    store.is_broken = true;
    let second = connect(&device(&pki, &mut store, TERSE_USE_RESUMPTION, 0), &broker);
    assert_eq!(second.mode, TerseMode::Full, "the next connection would show the same ticket");
}

#[test]
fn a_summary_is_as_long_as_the_program_knows_it() {
    let pki = Pki::new();
    let (mut store, broker) = (Store::default(), broker(&pki, TERSE_USE_CACHE));
    let pair = Pair::new(&device(&pki, &mut store, TERSE_USE_CACHE, 0), &broker);
    assert_eq!(pair.run(), [TERSE_OK; 2]);
    let whole = pair.summary(0);
    let mut longer = [0xff_u8; size_of::<TerseSummary>() + 8];
    // SAFETY: the buffer has these lengths.
    unsafe {
        ok(terse_connection_summary(pair.side(0), longer.as_mut_ptr().cast(), longer.len()));
        assert_eq!(longer[..2], whole.version.to_ne_bytes());
        assert_eq!(longer[size_of::<TerseSummary>()..], [0; 8]);
        longer.fill(0xff);
        ok(terse_connection_summary(pair.side(0), longer.as_mut_ptr().cast(), 2));
        assert_eq!((&longer[..2], longer[2]), (&whole.version.to_ne_bytes()[..], 0xff));
    }
}

#[test]
fn a_lost_datagram_is_sent_again_at_its_time() {
    let pki = Pki::new();
    let (mut for_client, mut for_server) = (builder(), builder());
    ok(trust(&mut for_client, &pki.ca));
    ok(credential(&mut for_server, &pki.server));
    ok(terse_config_builder_datagrams(Some(&mut for_client), 600, 250));
    ok(terse_config_builder_datagrams(Some(&mut for_server), 600, 250));
    let pair = Pair::new(&client(&mut for_client), &server(&mut for_server));
    let (mut bytes, mut len, mut at) = ([0; 600], 0, 0);
    // SAFETY: the buffer has this length.
    unsafe {
        let small = terse_poll_transmit(pair.side(0), Some(&NOW), bytes.as_mut_ptr(), 599, &mut len);
        assert_eq!((small, len), (TerseError::BufferTooSmall as i32, 0));
        ok(terse_poll_transmit(pair.side(0), Some(&NOW), bytes.as_mut_ptr(), 600, &mut len)); // and lost
        assert!(len > 0 && terse_poll_timeout(pair.side(0), &mut at));
        assert_eq!(at, NOW.monotonic_ms + 250);
        let late = TerseTime { monotonic_ms: at, ..NOW };
        ok(terse_handle_timeout(pair.side(0), Some(&late)));
    }
    assert_eq!(pair.run(), [TERSE_OK; 2]);
    assert_eq!(pair.summary(0).retransmissions, 1);
}
