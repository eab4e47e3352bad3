//! The client of libcoap, as Debian has it for two libraries of DTLS, and what it logs.

use super::programs::{Folder, is_here};
use super::world::{SERIAL, World};
use crate::deadline::Deadline;

/// The programs: one with OpenSSL, one with GnuTLS.
pub(crate) const OPENSSL: &str = "coap-client-openssl";
pub(crate) const GNUTLS: &str = "coap-client-gnutls";

/// Whether the clients of libcoap are here, and the OpenSSL that makes keys for them.
pub(crate) fn are_here() -> bool {
    let are_clients_here = [OPENSSL, GNUTLS].iter().all(|program| is_here(program, "-?", "libcoap3-bin"));
    are_clients_here && is_here("openssl", "version", "openssl")
}

/// A client with an identity. Each of its requests has a connection of its own.
#[derive(Clone, Copy)]
pub(crate) struct Client<'a> {
    pub(crate) world: &'a World,
    pub(crate) program: &'a str,
    /// Options for all requests.
    pub(crate) options: &'a str,
}

/// A response, and how it came.
#[derive(Debug)]
pub(crate) struct Response {
    /// The code: `2.04`. Without a response there is none.
    pub(crate) code: Option<String>,
    /// The options of the last message.
    pub(crate) options: String,
    pub(crate) payload: Vec<u8>,
    /// All that the client has logged.
    pub(crate) log: String,
}

impl<'a> Client<'a> {
    /// The device.
    pub(crate) fn device(world: &'a World, program: &'a str, options: &'a str) -> Self {
        Self { world, program, options }
    }

    /// Sends a request as the device, whose registrar is not verified.
    pub(crate) fn send(&self, arguments: &str, path: &str) -> Response {
        self.run(&format!("-n -c devices/{SERIAL}.pem -j devices/{SERIAL}.key {arguments}"), path)
    }

    /// Sends a request as a member of the domain, which verifies the registrar under the CA of the domain.
    pub(crate) fn send_as_member(&self, ldevid: &str, arguments: &str, path: &str) -> Response {
        self.run(&format!("-C domain/ca/ca.pem -c {ldevid}.pem -j {ldevid}.key {arguments}"), path)
    }

    /// Sends a request until it is decided.
    pub(crate) fn send_until_decided(&self, arguments: &str, path: &str) -> Response {
        let deadline = Deadline::new();
        loop {
            let response = self.send(arguments, path);
            if response.code.as_deref() != Some("5.03") {
                return response;
            }
            assert!(response.options.contains("Max-Age:"), "{response:?}");
            deadline.check(response);
        }
    }

    /// Runs the client.
    pub(crate) fn run(&self, arguments: &str, path: &str) -> Response {
        let folder = self.world.folder();
        let _ = std::fs::remove_file(folder.path(PAYLOAD)); // the first time there is none
        let url = format!("coaps://{}{path}", self.world.coaps);
        let all = format!("-v 7 -B 120 -o {PAYLOAD} {} {arguments} {url}", self.options);
        let output = folder.output(self.program, &all);
        let log = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        Response::read(folder, log)
    }
}

impl Response {
    /// Reads the log, in which each message is a line: `v:1 t:ACK c:2.04 i:cb32 {01} [ Content-Format:836 ] …`.
    fn read(folder: Folder<'_>, log: String) -> Self {
        let is_response = |code: &str| code.starts_with(|first: char| first.is_ascii_digit()) && code != "0.00";
        let messages = log.lines().filter_map(|line| line.split_once(" c:"));
        let last = messages.map(|(_, rest)| rest).rfind(|rest| is_response(&rest[..4.min(rest.len())]));
        let (code, options) = match last {
            Some(rest) => {
                let options = rest.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
                (Some(rest[..4].to_owned()), options.map_or(String::new(), |(options, _)| options.to_owned()))
            }
            None => (None, String::new()),
        };
        // Without a body the client writes no file.
        let payload = std::fs::read(folder.path(PAYLOAD)).unwrap_or_default();
        Self { code, options, payload, log }
    }

    /// Checks that this is a success with a content of this format, or without a content.
    #[track_caller]
    pub(crate) fn is(&self, code: &str, content_format: Option<u16>) {
        assert_eq!(self.code.as_deref(), Some(code), "{}", self.log);
        match content_format {
            Some(format) => assert!(self.has(&format!("Content-Format:{format}")), "{}", self.log),
            None => assert!(self.payload.is_empty() && !self.options.contains("Content-Format"), "{}", self.log),
        }
    }

    /// Checks that this is an error, with a text that says `part`.
    #[track_caller]
    pub(crate) fn is_refusal(&self, code: &str, part: &str) {
        assert_eq!(self.code.as_deref(), Some(code), "{}", self.log);
        assert!(self.log.contains(part), "{part:?} is not in {}", self.log);
    }

    /// Whether the last message has this option.
    fn has(&self, option: &str) -> bool {
        self.options.split(',').any(|own| own.trim() == option)
    }

    /// How many blocks of this option, `Block1` or `Block2`, and this size have been sent or received.
    pub(crate) fn blocks(&self, option: &str, size: usize) -> usize {
        let is_block = |word: &&str| {
            let value = word.trim_end_matches(',').strip_prefix(option).and_then(|rest| rest.strip_prefix(':'));
            value.is_some_and(|value| value.ends_with(&format!("/{size}")))
        };
        self.log.lines().filter(|line| line.split_whitespace().any(|word| is_block(&word))).count()
    }
}

/// The file into which the client writes contents.
const PAYLOAD: &str = "payload";
