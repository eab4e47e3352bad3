//! The flags of BoringSSL's shim (`ssl/test/test_config.cc`) that Terse understands.
//!
//! What must always hold: a flag without effect is refused as unimplemented, so that no test passes because its flag
//! was ignored.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use base64ct::{Base64, Encoding as _};
use terse_tls::resume::PskHash;
use terse_tls::{CertificateType, CipherSuite, NamedGroup, ProtocolVersion, SignatureScheme};

/// The options of a run of the shim.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) port: u16,
    pub(crate) ipv6: bool,
    pub(crate) shim_id: u64,
    pub(crate) resume_count: u32,
    /// The path of the note for the report; the test's name is in it.
    pub(crate) notes: Option<PathBuf>,
    /// The options of the first connection.
    pub(crate) initial: Options,
    /// The options of the later connections.
    pub(crate) resume: Options,
    /// The options of a later connection after its early data was rejected.
    pub(crate) retry: Options,
}

/// The reason why the flags cannot be followed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Terse or its shim does not implement this.
    Unimplemented(String),
    /// The runner would not send this.
    Malformed(String),
}

/// The options and expectations of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) server: bool,
    pub(crate) slow: bool,
    pub(crate) dtls: bool,
    /// The length of the longest datagram to send, in bytes.
    pub(crate) mtu: Option<usize>,
    /// The first retransmission timeout, in milliseconds.
    pub(crate) initial_timeout: Option<u64>,
    pub(crate) min_version: Option<u16>,
    pub(crate) max_version: Option<u16>,
    pub(crate) excluded_versions: Vec<u16>,
    pub(crate) curves: Vec<u16>,
    pub(crate) verify_prefs: Vec<u16>,
    pub(crate) trust_cert: Option<PathBuf>,
    pub(crate) accepted_peer_cert_types: Vec<u8>,
    pub(crate) available_client_cert_types: Vec<u8>,
    pub(crate) verify_fail: bool,
    pub(crate) verify_peer: bool,
    pub(crate) require_client_certificate: bool,
    /// The credential of `-cert-file` and similar flags before the first `-new-…-credential`.
    pub(crate) credential: CredentialOptions,
    pub(crate) credentials: Vec<CredentialOptions>,
    pub(crate) host_name: Option<String>,
    pub(crate) advertise_alpn: Option<Vec<u8>>,
    pub(crate) select_alpn: Option<Vec<u8>>,
    pub(crate) decline_alpn: bool,
    pub(crate) max_cert_list: Option<usize>,
    pub(crate) no_ticket: bool,
    pub(crate) enable_early_data: bool,
    pub(crate) resumption_delay: u64,

    pub(crate) shim_writes_first: bool,
    pub(crate) initial_write: Option<Vec<u8>>,
    pub(crate) repeat_initial_write: Option<usize>,
    pub(crate) read_with_unfinished_write: bool,
    pub(crate) write_different_record_sizes: bool,
    pub(crate) read_size: Option<usize>,
    pub(crate) key_update: bool,
    pub(crate) key_update_before_read: bool,
    /// The time that a private key takes over datagrams, in milliseconds.
    pub(crate) private_key_delay: u64,
    pub(crate) shim_shuts_down: bool,
    pub(crate) check_close_notify: bool,
    pub(crate) export_keying_material: usize,
    pub(crate) export_label: Vec<u8>,
    pub(crate) export_context: Vec<u8>,
    pub(crate) use_export_context: bool,
    pub(crate) use_exporter_between_reads: bool,

    pub(crate) expect: Expectations,
}

/// A certificate chain, a raw public key or a pre-shared key.
#[derive(Clone, Debug, Default)]
pub(crate) struct CredentialOptions {
    pub(crate) kind: CredentialKind,
    pub(crate) cert_file: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) signing_prefs: Vec<u16>,
    pub(crate) must_match_issuer: bool,
    pub(crate) psk_key: Vec<u8>,
    pub(crate) psk_identity: Vec<u8>,
    pub(crate) psk_context: Vec<u8>,
    pub(crate) psk_hash: Option<PskHash>,
}

/// The kind of a credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CredentialKind {
    #[default]
    X509,
    RawPublicKey,
    PreSharedKey,
}

/// The expectations of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expectations {
    pub(crate) never_done: bool,
    pub(crate) version: Option<ProtocolVersion>,
    pub(crate) cipher: Option<CipherSuite>,
    pub(crate) curve_id: Option<NamedGroup>,
    pub(crate) alpn: Option<Vec<u8>>,
    pub(crate) server_name: Option<String>,
    pub(crate) no_server_name: bool,
    pub(crate) session_miss: bool,
    pub(crate) no_session: bool,
    pub(crate) hello_retry: Option<bool>,
    pub(crate) peer_signature_algorithm: Option<SignatureScheme>,
    pub(crate) selected_credential: Option<i32>,
    pub(crate) peer_certificate_type: Option<CertificateType>,
    pub(crate) peer_raw_public_key: Option<Vec<u8>>,
    pub(crate) no_peer_certificate: bool,
    pub(crate) extended_master_secret: bool,
    pub(crate) secure_renegotiation: bool,
    pub(crate) ticket_supports_early_data: bool,
    pub(crate) accept_early_data: bool,
    pub(crate) reject_early_data: bool,
    pub(crate) no_offer_early_data: bool,
    pub(crate) early_data_reason: Option<String>,
    pub(crate) ticket_renewal: bool,
    /// Whether the server keeps the session.
    pub(crate) session_id: Option<bool>,
}

type Arguments = std::vec::IntoIter<Vec<u8>>;

impl Run {
    /// Parses the runner's command line.
    pub(crate) fn parse(arguments: impl Iterator<Item = std::ffi::OsString>) -> (Self, Result<(), Refusal>) {
        let arguments: Vec<_> = arguments.map(OsStringExt::into_vec).collect();
        let mut run = Self::default();
        let result = run.take_all(arguments.into_iter());
        (run, result)
    }

    fn take_all(&mut self, mut arguments: Arguments) -> Result<(), Refusal> {
        // The first refused flag is reported; the others are parsed all the same, for the notes.
        let mut result = Ok(());
        while let Some(flag) = arguments.next() {
            let flag = String::from_utf8(flag).map_err(|_| Refusal::Malformed("a flag is not UTF-8".into()))?;
            if let Err(refusal) = self.take(&flag, &mut arguments) {
                result = result.and(Err(refusal));
            }
        }
        result
    }

    fn take(&mut self, flag: &str, arguments: &mut Arguments) -> Result<(), Refusal> {
        match flag {
            "-port" => self.port = number(flag, arguments)?,
            "-ipv6" => self.ipv6 = true,
            "-shim-id" => self.shim_id = number(flag, arguments)?,
            "-resume-count" => self.resume_count = number(flag, arguments)?,
            "-write-settings" => self.notes = Some(path(flag, arguments)?),
            _ => return self.take_option(flag, arguments),
        }
        Ok(())
    }

    /// Parses a flag for the connections that its prefix names, or for all.
    fn take_option(&mut self, flag: &str, arguments: &mut Arguments) -> Result<(), Refusal> {
        let flag = flag.strip_prefix("-on-shim").filter(|rest| rest.starts_with('-')).unwrap_or(flag);
        for (prefix, options) in
            [("-on-initial", &mut self.initial), ("-on-resume", &mut self.resume), ("-on-retry", &mut self.retry)]
        {
            if let Some(rest) = flag.strip_prefix(prefix).filter(|rest| rest.starts_with('-')) {
                return options.take(rest, arguments);
            }
        }
        let start = arguments.clone();
        for options in [&mut self.initial, &mut self.resume, &mut self.retry] {
            *arguments = start.clone();
            options.take(flag, arguments)?;
        }
        Ok(())
    }
}

impl Options {
    fn take(&mut self, flag: &str, arguments: &mut Arguments) -> Result<(), Refusal> {
        match flag {
            "-server" => self.server = true,
            "-async" => self.slow = true,
            "-dtls" => self.dtls = true,
            "-mtu" => self.mtu = Some(number(flag, arguments)?),
            "-initial-timeout-duration-ms" => self.initial_timeout = Some(number(flag, arguments)?),
            "-min-version" => self.min_version = Some(version(flag, arguments)?.0),
            "-max-version" => self.max_version = Some(version(flag, arguments)?.0),
            "-no-tls13" => self.excluded_versions.push(0x0304),
            "-no-tls12" => self.excluded_versions.push(0x0303),
            "-no-tls11" | "-no-tls1" => {}
            "-curves" => self.curves.push(number(flag, arguments)?),
            "-verify-prefs" => self.verify_prefs.push(number(flag, arguments)?),
            "-trust-cert" => self.trust_cert = Some(path(flag, arguments)?).filter(|path| !path.as_os_str().is_empty()),
            "-accepted-peer-cert-types" => self.accepted_peer_cert_types.push(number(flag, arguments)?),
            "-available-client-cert-types" => self.available_client_cert_types.push(number(flag, arguments)?),
            "-verify-fail" => self.verify_fail = true,
            "-verify-peer" => self.verify_peer = true,
            "-require-any-client-certificate" => self.require_client_certificate = true,
            "-host-name" => self.host_name = Some(text(flag, arguments)?),
            "-advertise-alpn" => self.advertise_alpn = Some(value(flag, arguments)?),
            "-select-alpn" => self.select_alpn = Some(value(flag, arguments)?),
            "-decline-alpn" => self.decline_alpn = true,
            "-max-cert-list" => self.max_cert_list = Some(number(flag, arguments)?),
            "-no-ticket" => self.no_ticket = true,
            "-enable-early-data" => self.enable_early_data = true,
            "-resumption-delay" => self.resumption_delay = number(flag, arguments)?,
            "-shim-writes-first" => self.shim_writes_first = true,
            "-shim-initial-write" => self.initial_write = Some(value(flag, arguments)?),
            "-repeat-shim-initial-write" => self.repeat_initial_write = Some(number(flag, arguments)?),
            "-read-with-unfinished-write" => self.read_with_unfinished_write = true,
            "-write-different-record-sizes" => self.write_different_record_sizes = true,
            "-read-size" => self.read_size = Some(number(flag, arguments)?),
            "-key-update" => self.key_update = true,
            "-key-update-before-read" => self.key_update_before_read = true,
            "-private-key-delay-ms" => self.private_key_delay = number(flag, arguments)?,
            "-shim-shuts-down" => self.shim_shuts_down = true,
            "-check-close-notify" => self.check_close_notify = true,
            "-export-keying-material" => self.export_keying_material = number(flag, arguments)?,
            "-export-label" => self.export_label = value(flag, arguments)?,
            "-export-context" => self.export_context = value(flag, arguments)?,
            "-use-export-context" => self.use_export_context = true,
            "-use-exporter-between-reads" => self.use_exporter_between_reads = true,
            // These flags choose among calls of BoringSSL for which Terse has only one: their effect is tested all the
            // same.
            "-implicit-handshake"
            | "-partial-write"
            | "-use-custom-verify-callback"
            | "-use-old-client-cert-callback"
            | "-use-early-callback" => {}
            // Terse always behaves as these flags say.
            "-no-legacy-server-connect" | "-server-preference" => {}
            _ => return self.take_credential(flag, arguments),
        }
        Ok(())
    }

    fn take_credential(&mut self, flag: &str, arguments: &mut Arguments) -> Result<(), Refusal> {
        let of_kind = |kind| CredentialOptions { kind, ..CredentialOptions::default() };
        match flag {
            "-new-x509-credential" => self.credentials.push(of_kind(CredentialKind::X509)),
            "-new-rpk-credential" => self.credentials.push(of_kind(CredentialKind::RawPublicKey)),
            "-new-psk-credential" => self.credentials.push(of_kind(CredentialKind::PreSharedKey)),
            _ => {
                let credential = self.credentials.last_mut().unwrap_or(&mut self.credential);
                if !credential.take(flag, arguments)? {
                    return self.expect.take(flag, arguments);
                }
            }
        }
        Ok(())
    }

    /// Returns the versions that the flags leave, newest first.
    pub(crate) fn versions(&self) -> Result<Vec<ProtocolVersion>, Refusal> {
        let (min, max) = (self.min_version.unwrap_or(0), self.max_version.unwrap_or(u16::MAX));
        let there_are = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];
        let is_left = |version: &ProtocolVersion| {
            (min..=max).contains(&version.0) && !self.excluded_versions.contains(&version.0)
        };
        let left: Vec<_> = there_are.into_iter().filter(is_left).collect();
        match (left.is_empty(), self.dtls) {
            (false, _) => Ok(left),
            (true, false) => Err(Refusal::Unimplemented("TLS 1.0 and 1.1".into())),
            (true, true) => Err(Refusal::Unimplemented("DTLS 1.0".into())),
        }
    }
}

impl CredentialOptions {
    /// Parses a flag about credentials. Returns false for any other flag.
    fn take(&mut self, flag: &str, arguments: &mut Arguments) -> Result<bool, Refusal> {
        match flag {
            "-cert-file" => self.cert_file = Some(path(flag, arguments)?),
            "-key-file" => self.key_file = Some(path(flag, arguments)?),
            "-must-match-issuer" => self.must_match_issuer = true,
            "-signing-prefs" => self.signing_prefs.push(number(flag, arguments)?),
            "-psk-importer-key" => self.psk_key = base64(flag, arguments)?,
            "-psk-importer-identity" => self.psk_identity = base64(flag, arguments)?,
            "-psk-importer-context" => self.psk_context = base64(flag, arguments)?,
            "-psk-importer-sha256" => self.psk_hash = Some(PskHash::Sha256),
            "-psk-importer-sha384" => self.psk_hash = Some(PskHash::Sha384),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Expectations {
    fn take(&mut self, flag: &str, arguments: &mut Arguments) -> Result<(), Refusal> {
        match flag {
            "-handshake-never-done" => self.never_done = true,
            "-expect-version" => self.version = Some(version(flag, arguments)?),
            "-expect-cipher" => self.cipher = Some(CipherSuite(number(flag, arguments)?)),
            "-expect-curve-id" => self.curve_id = Some(NamedGroup(number(flag, arguments)?)),
            "-expect-alpn" => self.alpn = Some(value(flag, arguments)?),
            "-expect-server-name" => self.server_name = Some(text(flag, arguments)?),
            "-expect-no-server-name" => self.no_server_name = true,
            "-expect-session-miss" => self.session_miss = true,
            "-expect-no-session" => self.no_session = true,
            "-expect-hrr" => self.hello_retry = Some(true),
            "-expect-no-hrr" => self.hello_retry = Some(false),
            "-expect-peer-signature-algorithm" => {
                self.peer_signature_algorithm = Some(SignatureScheme(number(flag, arguments)?));
            }
            "-expect-selected-credential" => self.selected_credential = Some(number(flag, arguments)?),
            "-expect-peer-certificate-type" => {
                self.peer_certificate_type = Some(CertificateType(number(flag, arguments)?));
            }
            "-expect-peer-rpk-sha256" => self.peer_raw_public_key = Some(base64(flag, arguments)?),
            "-expect-no-peer-cert" => self.no_peer_certificate = true,
            "-expect-extended-master-secret" => self.extended_master_secret = true,
            "-expect-secure-renegotiation" => self.secure_renegotiation = true,
            "-expect-ticket-supports-early-data" => self.ticket_supports_early_data = true,
            "-expect-accept-early-data" => self.accept_early_data = true,
            "-expect-reject-early-data" => self.reject_early_data = true,
            "-expect-no-offer-early-data" => self.no_offer_early_data = true,
            "-expect-early-data-reason" => self.early_data_reason = Some(text(flag, arguments)?),
            "-expect-ticket-renewal" => self.ticket_renewal = true,
            "-expect-session-id" => self.session_id = Some(true),
            "-expect-no-session-id" => self.session_id = Some(false),
            // A handshake whose chain was not accepted fails, so that nothing is left to check.
            "-expect-verify-result" => {}
            _ => return Err(Refusal::Unimplemented(flag.into())),
        }
        Ok(())
    }
}

fn value(flag: &str, arguments: &mut Arguments) -> Result<Vec<u8>, Refusal> {
    arguments.next().ok_or_else(|| Refusal::Malformed(format!("{flag} has no value")))
}

fn text(flag: &str, arguments: &mut Arguments) -> Result<String, Refusal> {
    String::from_utf8(value(flag, arguments)?).map_err(|_| Refusal::Malformed(format!("the value of {flag}")))
}

fn path(flag: &str, arguments: &mut Arguments) -> Result<PathBuf, Refusal> {
    Ok(std::ffi::OsString::from_vec(value(flag, arguments)?).into())
}

fn number<T: std::str::FromStr>(flag: &str, arguments: &mut Arguments) -> Result<T, Refusal> {
    text(flag, arguments)?.parse().map_err(|_| Refusal::Malformed(format!("the value of {flag} is no number")))
}

/// Parses a version. A version of DTLS, whose numbers count down (RFC 6347, 4.1), becomes the version of TLS that it is
/// made from.
fn version(flag: &str, arguments: &mut Arguments) -> Result<ProtocolVersion, Refusal> {
    let number: u16 = number(flag, arguments)?;
    Ok(ProtocolVersion(if number >= 0xfe00 { 0x0201 + !number } else { number }))
}

fn base64(flag: &str, arguments: &mut Arguments) -> Result<Vec<u8>, Refusal> {
    Base64::decode_vec(&text(flag, arguments)?)
        .map_err(|_| Refusal::Malformed(format!("the value of {flag} is no base64")))
}
