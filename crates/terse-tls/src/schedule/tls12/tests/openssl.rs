//! Tests with recorded connections of OpenSSL with itself: every secret is derived, and every record decrypted, and
//! encrypted again if the nonce allows it. (OpenSSL begins the explicit nonces of GCM with a random number.)

use alloc::vec::Vec;

use super::*;
use crate::record::stream::{HEADER_LEN, Header, MAX_FRAGMENT, RecordKey};
use crate::schedule::trace::Trace;
use crate::schedule::{EpochKeys, Pending, Transcript};
use crate::wire::{ContentType, HandshakeType};

#[test]
fn aes_128_gcm() {
    Replay::check(&AES_128_GCM, include_str!("../openssl/aes_128_gcm.hex"), false);
}

#[test]
fn aes_256_gcm() {
    Replay::check(&AES_256_GCM, include_str!("../openssl/aes_256_gcm.hex"), false);
}

#[test]
fn aes_128_ccm_8() {
    Replay::check(&AES_128_CCM_8, include_str!("../openssl/aes_128_ccm_8.hex"), true);
}

#[test]
fn chacha20_poly1305() {
    Replay::check(&CHACHA20_POLY1305, include_str!("../openssl/chacha20_poly1305.hex"), true);
}

#[test]
fn without_extended_master_secret() {
    Replay::check(&AES_128_GCM, include_str!("../openssl/without_extended_master_secret.hex"), false);
}

/// The state of the replay of a trace.
struct Replay {
    suite: &'static Tls12Suite,
    psk: Vec<u8>,
    extended: bool,
    makes_again: bool,
    client_hello: Vec<u8>,
    client_random: Random,
    randoms: Option<Randoms>,
    transcript: Option<Transcript>,
    master: Option<MasterSecret>,
    /// The keys to decrypt and to encrypt again, the client's first.
    keys: Option<[[RecordKey; 2]; 2]>,
    is_protected: [bool; 2],
    /// The decrypted contents, the client's first.
    contents: [Vec<(ContentType, Vec<u8>)>; 2],
}

impl Replay {
    fn check(suite: &'static Tls12Suite, text: &'static str, makes_again: bool) {
        let trace = Trace::read(text);
        let mut replay = Self {
            suite,
            psk: trace.last("psk").into(),
            extended: text.contains(", extended master secret"),
            makes_again,
            client_hello: Vec::new(),
            client_random: [0; 32],
            randoms: None,
            transcript: None,
            master: None,
            keys: None,
            is_protected: [false; 2],
            contents: [Vec::new(), Vec::new()],
        };
        for (name, record) in &trace.0 {
            match *name {
                "client record" => replay.record(0, record),
                "server record" => replay.record(1, record),
                _ => {}
            }
        }
        let master = replay.master.unwrap();
        assert_eq!(master.expose()[..], *trace.last("master_secret"));
        let mut exported = [0; 40];
        master.export(&replay.randoms.unwrap(), b"EXPORTER-test", None, &mut exported).unwrap();
        assert_eq!(exported[..], *trace.last("exported"));
        for (contents, data) in replay.contents.into_iter().zip([&b"hello\n"[..], b"welcome\n"]) {
            let [finished, application_data, alert] = &contents[..] else { panic!("{contents:?}") };
            assert_eq!(finished.0, ContentType::HANDSHAKE);
            assert_eq!(*application_data, (ContentType::APPLICATION_DATA, data.to_vec()));
            assert_eq!(*alert, (ContentType::ALERT, vec![1, 0]));
        }
    }

    fn record(&mut self, side: usize, record: &[u8]) {
        let (header, fragment) = record.split_first_chunk::<HEADER_LEN>().unwrap();
        let content_type = Header::parse(*header).content_type;
        if content_type == ContentType::CHANGE_CIPHER_SPEC {
            assert_eq!(fragment, [1]);
            self.is_protected[side] = true;
        } else if self.is_protected[side] {
            self.protected(side, content_type, record);
        } else {
            self.message(HandshakeType(fragment[0]), fragment);
        }
    }

    fn message(&mut self, kind: HandshakeType, message: &[u8]) {
        let random = |message: &[u8]| message[6..38].try_into().unwrap(); // after header and version
        match kind {
            HandshakeType::CLIENT_HELLO => {
                self.client_random = random(message);
                self.client_hello = message.into();
                return;
            }
            HandshakeType::SERVER_HELLO => {
                self.randoms = Some(Randoms { client: self.client_random, server: random(message) });
                self.transcript = Some(Pending::new(&self.client_hello).start(self.suite.hash));
            }
            _ => {}
        }
        let transcript = self.transcript.as_mut().unwrap();
        transcript.add(message);
        if kind == HandshakeType::CLIENT_KEY_EXCHANGE {
            let randoms = self.randoms.unwrap();
            let premaster = psk_premaster(&self.psk, None).unwrap();
            let master = match self.extended {
                true => MasterSecret::extended(self.suite, premaster.as_ref(), &transcript.current()),
                false => MasterSecret::new(self.suite, premaster.as_ref(), &randoms),
            };
            let KeyBlock { client, server } = master.key_block(&randoms);
            let keys = [client, server].map(EpochKeys::Tls12);
            self.keys = Some(keys.map(|keys| [(); 2].map(|()| RecordKey::new(&keys).unwrap())));
            self.master = Some(master);
        }
    }

    fn protected(&mut self, side: usize, content_type: ContentType, record: &[u8]) {
        let [open, seal] = &mut self.keys.as_mut().unwrap()[side];
        let mut opened = record.to_vec();
        let (opened_type, content) = open.deprotect(&mut opened, MAX_FRAGMENT).unwrap();
        assert_eq!(opened_type, content_type);
        if self.makes_again {
            let mut again = Vec::new();
            seal.append(content_type, content, &mut again).unwrap();
            assert_eq!(again, record);
        }
        if content_type == ContentType::HANDSHAKE {
            let (master, transcript) = (self.master.as_ref().unwrap(), self.transcript.as_mut().unwrap());
            let (messages, verify_data) = (transcript.current(), &content[4..]);
            match side {
                0 => master.verify_client_finished(verify_data, &messages).map(|_| ()).unwrap(),
                _ => master.verify_server_finished(verify_data, &messages).map(|_| ()).unwrap(),
            }
            transcript.add(content);
        }
        self.contents[side].push((content_type, content.to_vec()));
    }
}
