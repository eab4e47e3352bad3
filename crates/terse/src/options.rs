//! The options that `terse client` and `terse server` have in common, and the values that they take.
//!
//! What must always hold: a value that no run could use is refused here, with the possible values.

use core::time::Duration;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use terse_net::Clock;
use terse_net::pki_types::UnixTime;
use terse_tls::crypto::CryptoProvider;
use terse_tls::{CipherSuite, Datagrams, MaxFragmentLength, NamedGroup, ProtocolVersion, SignatureScheme, Stapling};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::failure::Failure;

mod datagrams;
mod identity;
mod psk;

pub(crate) use datagrams::DatagramOptions;
pub(crate) use identity::IdentityOptions;
use psk::PskOptions;

/// The options that both sides of a connection have.
#[derive(Args, Debug)]
pub(crate) struct Shared {
    /// Trace the handshake on standard error: a line per message, with sizes and what was left out and why
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// What may be left out of a handshake because the other side has it from an earlier one
    #[arg(long, value_name = "SCHEME", default_value = "compact", help_heading = "Caching")]
    pub(crate) cache: CacheMode,
    /// Keep the cache in this file (mode 0600); without it, it lasts as long as this program
    #[arg(long, value_name = "FILE", help_heading = "Caching")]
    pub(crate) cache_file: Option<PathBuf>,

    /// Accept only certificates that a CRL in this file covers (PEM or DER; repeatable). It is read again before a
    /// connection if it has changed: what it then revokes is cached no more, and nor are its sessions. If it is damaged
    /// or gone, the CRLs that it had stay in force until their nextUpdate
    #[arg(long = "crl", value_name = "FILE", help_heading = "Certificates")]
    pub(crate) crls: Vec<PathBuf>,
    /// Take only certificate chains that come in order, as the small validator of devices does: no paths are searched, and name
    /// constraints are refused
    #[arg(long, help_heading = "Certificates")]
    pub(crate) no_path_building: bool,
    /// Ask peers to staple an OCSP response to their certificate (RFC 6066); one that comes must be good
    #[arg(long, help_heading = "Certificates")]
    ask_staple: bool,
    /// Ask peers for a staple as --ask-staple does, and refuse peers whose certificate comes without one; in TLS 1.2 no
    /// client can send one
    #[arg(long, help_heading = "Certificates")]
    require_staple: bool,
    /// Staple the OCSP response (DER) in this file to the own certificate that it is about, for peers that ask; it is read
    /// again when it changes (repeatable)
    #[arg(long = "staple", value_name = "FILE", help_heading = "Certificates")]
    pub(crate) staples: Vec<PathBuf>,
    /// The passphrase of an encrypted private key is the first line of this file
    #[arg(long, value_name = "FILE", help_heading = "Certificates")]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Trust peers with a public key in this file, and no certificate: raw public keys (PEM or DER; repeatable)
    #[arg(long = "peer-key", value_name = "FILE", help_heading = "Certificates")]
    pub(crate) peer_keys: Vec<PathBuf>,
    /// Judge certificates as if it were this time: 2026-03-01, 2026-03-01T12:00:00Z or seconds since 1970
    #[arg(long, value_name = "DATE", value_parser = date, help_heading = "Certificates")]
    pub(crate) at: Option<UnixTime>,

    /// Allow only this version of TLS or, with --dtls, of DTLS (repeatable) [default: both]
    #[arg(long, value_name = "VERSION", help_heading = "Protocol")]
    tls: Vec<Version>,
    /// Allow only this cipher suite, of either version (repeatable, preferred first)
    #[arg(long = "suite", value_name = "NAME", value_parser = suite, help_heading = "Protocol")]
    pub(crate) suites: Vec<CipherSuite>,
    /// Allow only this key exchange group (repeatable, preferred first)
    #[arg(long = "group", value_name = "NAME", value_parser = group, help_heading = "Protocol")]
    pub(crate) groups: Vec<NamedGroup>,
    /// Accept only this signature scheme (repeatable, preferred first)
    #[arg(long = "sigalg", value_name = "NAME", value_parser = signature_scheme, help_heading = "Protocol")]
    pub(crate) signature_schemes: Vec<SignatureScheme>,
    /// An application protocol (repeatable, preferred first)
    #[arg(long = "alpn", value_name = "NAME", value_parser = alpn, help_heading = "Protocol")]
    pub(crate) alpn: Vec<String>,
    /// The largest record to receive, in bytes of plaintext
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(64..=16385), help_heading = "Protocol")]
    pub(crate) record_size_limit: Option<u16>,
    /// Ask for records of at most N bytes: 512, 1024, 2048 or 4096 (a server follows its client)
    #[arg(long, value_name = "N", value_parser = max_fragment_length, help_heading = "Protocol")]
    pub(crate) max_fragment_length: Option<MaxFragmentLength>,
    /// Look like TLS 1.2 to middleboxes and old servers: TLS 1.3 compatibility mode (a server follows its client), and the
    /// point format where TLS 1.2 is offered
    #[arg(long, help_heading = "Protocol")]
    pub(crate) compat: bool,
    /// Accept TLS 1.2 peers without extended_master_secret, which cannot tell two handshakes apart (RFC 7627)
    #[arg(long, help_heading = "Protocol")]
    pub(crate) no_extended_master_secret: bool,
    /// Where the cryptography comes from
    #[arg(long, value_name = "PROVIDER", default_value = "aws-lc", help_heading = "Protocol")]
    pub(crate) crypto: Crypto,

    #[command(flatten)]
    pub(crate) datagrams: DatagramOptions,

    #[command(flatten)]
    pub(crate) psk: PskOptions,

    #[command(flatten)]
    pub(crate) identity: IdentityOptions,

    /// Append the secrets to this file, for Wireshark (NSS key log format)
    #[arg(long, value_name = "FILE", help_heading = "Debugging")]
    pub(crate) keylog: Option<PathBuf>,
    /// Print 32 bytes exported under this label (RFC 9846, 7.5), in hexadecimal
    #[arg(long, value_name = "LABEL", help_heading = "Debugging")]
    pub(crate) export: Option<String>,
    /// How long to wait for the peer: for the connection, for the handshake, and for data that is due [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Debugging")]
    timeout: Option<u32>,
}

impl Shared {
    /// With `--dtls`, refuses the first option that has no meaning over datagrams, with its reason. `own` are the
    /// options of the subcommand, which are checked before the common ones.
    pub(crate) fn check_datagrams(&self, own: &[(bool, &str, &str)]) -> Result<(), Failure> {
        self.datagrams.refuse(own)?;
        self.datagrams.refuse(&[(
            self.compat,
            "--compat",
            "hides TLS 1.3 from middleboxes, which leave datagrams alone; leave it out",
        )])
    }

    /// Returns the configuration of datagrams, or `None` over a stream.
    pub(crate) fn datagrams(&self, address: core::net::IpAddr) -> Option<Datagrams> {
        // Whoever names a suite with short tags has other safeguards (RFC 9147, 4.5.3).
        let short_tags = self.suites.contains(&CipherSuite::TLS_AES_128_CCM_8_SHA256);
        let datagrams = self.datagrams.datagrams(address, self.timeout())?;
        Some(datagrams.short_tags(short_tags))
    }

    /// Returns the clock of all connections.
    pub(crate) fn clock(&self) -> Clock {
        self.at.map_or_else(Clock::new, Clock::starting_at)
    }

    /// Returns the versions to allow, preferred first. A version that was chosen must have a suite.
    pub(crate) fn versions(&self) -> Result<Vec<ProtocolVersion>, Failure> {
        let all = [Version::Tls13, Version::Tls12].into_iter();
        let versions: Vec<_> = all.filter(|version| self.tls.is_empty() || self.tls.contains(version)).collect();
        let lacks_suite =
            |version: &&Version| !self.suites.is_empty() && !self.suites.iter().any(|id| version.has(*id));
        if self.psk.is_imported() && !versions.contains(&Version::Tls13) {
            return Err(Failure::Usage(
                "--psk-import is for TLS 1.3; allow that with --tls 1.3, or leave it out".into(),
            ));
        }
        if self.identity.is_given() {
            let advice = if self.psk.is_given() {
                Some("goes with no pre-shared key; leave --psk-identity out")
            } else if !versions.contains(&Version::Tls13) {
                Some("is for TLS 1.3 and DTLS 1.3; allow that with --tls 1.3")
            } else {
                None
            };
            if let Some(advice) = advice {
                return Err(Failure::Usage(format!("--identity-key {advice}")));
            }
        }
        match versions.iter().find(lacks_suite) {
            Some(version) if !self.tls.is_empty() => Err(Failure::Usage(format!(
                "no --suite is one of {}; add one, such as {}, or leave --tls out",
                version.code_point(),
                version.example()
            ))),
            _ => Ok(versions.into_iter().map(Version::code_point).collect()),
        }
    }

    /// Returns whether peers are asked for a staple, or must send one.
    pub(crate) const fn stapling(&self) -> Stapling {
        match (self.require_staple, self.ask_staple) {
            (true, _) => Stapling::Require,
            (false, true) => Stapling::Ask,
            (false, false) => Stapling::Off,
        }
    }

    /// Returns how long to wait for the peer.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout.unwrap_or_else(|| self.datagrams.default_timeout()).into())
    }
}

/// A protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Version {
    /// TLS 1.2 (RFC 5246)
    #[value(name = "1.2")]
    Tls12,
    /// TLS 1.3 (RFC 9846)
    #[value(name = "1.3")]
    Tls13,
}

impl Version {
    const fn code_point(self) -> ProtocolVersion {
        match self {
            Self::Tls12 => ProtocolVersion::TLS_1_2,
            Self::Tls13 => ProtocolVersion::TLS_1_3,
        }
    }

    fn has(self, suite: CipherSuite) -> bool {
        match self {
            Self::Tls12 => terse_aws_lc::PROVIDER.tls12_suite(suite).is_some(),
            Self::Tls13 => terse_aws_lc::PROVIDER.tls13_suite(suite).is_some(),
        }
    }

    /// Returns the suite that a peer of this version is most likely to have.
    const fn example(self) -> CipherSuite {
        match self {
            Self::Tls12 => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            Self::Tls13 => CipherSuite::TLS_AES_128_GCM_SHA256,
        }
    }
}

/// The caching schemes that this side takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CacheMode {
    /// Nothing
    Off,
    /// The server's Certificate and CertificateRequest (RFC 7924)
    Rfc7924,
    /// What rfc7924 leaves out, and the client's Certificate (BiTHaC), falling back to what the peer supports
    Bithac,
    /// What bithac leaves out, with fewer bytes: one ticket for all three; falling back to what the peer supports
    Compact,
}

/// The source of cryptography.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Crypto {
    /// RustCrypto and dalek: what devices use; does not sign with RSA keys
    Rustcrypto,
    /// AWS-LC: what servers use
    AwsLc,
}

impl Crypto {
    /// Returns the provider.
    pub(crate) const fn provider(self) -> &'static CryptoProvider {
        match self {
            Self::Rustcrypto => &terse_rustcrypto::PROVIDER,
            Self::AwsLc => &terse_aws_lc::PROVIDER,
        }
    }
}

/// A host and a port, as in `broker.plant.example:8883` or `[::1]:8883`.
#[derive(Clone, Debug)]
pub(crate) struct HostPort {
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl core::str::FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write HOST:PORT, as in broker.plant.example:8883 or [::1]:8883".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        match bare.unwrap_or(host) {
            host if host.is_empty() || (bare.is_none() && host.contains(':')) => Err(wrong()),
            host => Ok(Self { host: host.into(), port }),
        }
    }
}

/// Parses the name of a cipher suite.
pub(crate) fn suite(name: &str) -> Result<CipherSuite, String> {
    let tls13 = terse_aws_lc::PROVIDER.tls13_suites.iter().map(|suite| suite.id);
    let tls12 = terse_aws_lc::PROVIDER.tls12_suites.iter().map(|suite| suite.id);
    named(name, CipherSuite::from_name(name), tls13.chain(tls12))
}

/// Parses the name of a key exchange group.
pub(crate) fn group(name: &str) -> Result<NamedGroup, String> {
    named(name, NamedGroup::from_name(name), terse_aws_lc::PROVIDER.groups.iter().map(|group| group.name()))
}

/// Parses the name of a signature scheme.
pub(crate) fn signature_scheme(name: &str) -> Result<SignatureScheme, String> {
    let known = terse_aws_lc::PROVIDER.signatures.by_scheme.iter().map(|(scheme, _)| *scheme);
    named(name, SignatureScheme::from_name(name), known)
}

/// Returns the code point of `name`, if it is among `known`.
fn named<T: PartialEq + ToString>(
    name: &str,
    value: Option<T>,
    known: impl Iterator<Item = T> + Clone,
) -> Result<T, String> {
    value.filter(|value| known.clone().any(|known| known == *value)).ok_or_else(|| {
        let names: Vec<_> = known.map(|known| known.to_string()).collect();
        format!("{name} is not known here; use one of {}", names.join(", "))
    })
}

fn max_fragment_length(text: &str) -> Result<MaxFragmentLength, String> {
    let bytes = text.parse().ok().and_then(MaxFragmentLength::from_bytes);
    bytes.ok_or_else(|| "use 512, 1024, 2048 or 4096".into())
}

fn alpn(name: &str) -> Result<String, String> {
    match name.len() {
        1..=255 => Ok(name.into()),
        _ => Err("the name of a protocol has 1 to 255 bytes".into()),
    }
}

/// Parses a date, a date with time and offset (RFC 3339), or seconds since 1970.
fn date(text: &str) -> Result<UnixTime, String> {
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => Some(seconds),
        Err(_) => OffsetDateTime::parse(text, &Rfc3339)
            .or_else(|_| OffsetDateTime::parse(&format!("{text}T00:00:00Z"), &Rfc3339))
            .ok()
            .and_then(|date| date.unix_timestamp().try_into().ok()),
    };
    seconds
        .map(|seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
        .ok_or_else(|| "write 2026-03-01, 2026-03-01T12:00:00Z or seconds since 1970".into())
}

#[cfg(test)]
mod tests;
