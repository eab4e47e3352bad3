//! TLS or DTLS: what differs in the bytes of handshake messages. The link that carries them knows which it is.

use super::ProtocolVersion;

/// Which of the two protocols messages belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// TLS, over a stream.
    #[default]
    Tls,
    /// DTLS, over datagrams: a ClientHello has a cookie (RFC 6347, 4.2.1; RFC 9147, 5.3), versions are written
    /// otherwise.
    Dtls,
}

impl Protocol {
    /// The prefix of the labels that 1.3 derives keys with (RFC 9846, 7.1; RFC 9147, 5.9).
    pub(crate) const fn label_prefix(self) -> &'static [u8] {
        match self {
            Self::Tls => b"tls13 ",
            Self::Dtls => b"dtls13",
        }
    }

    /// The length of the header of a handshake message in bytes (RFC 9846, 4; RFC 6347, 4.2.2).
    pub(crate) const fn message_header_len(self) -> usize {
        match self {
            Self::Tls => 4,
            Self::Dtls => 12,
        }
    }

    /// A message without what its header has beyond that of TLS: number and place of the fragment.
    pub(crate) fn without_sequence(self, message: &[u8]) -> [&[u8]; 2] {
        let (header, rest) = message.split_at(message.len().min(4));
        [header, rest.get(self.message_header_len() - 4..).unwrap_or_default()]
    }

    /// What a server of 1.3 echoes of the client's `legacy_session_id`: nothing in DTLS (RFC 9147, 5).
    pub(crate) fn legacy_session_id_echo(self, legacy_session_id: &[u8]) -> &[u8] {
        match self {
            Self::Tls => legacy_session_id,
            Self::Dtls => &[],
        }
    }

    /// A version of TLS as this protocol writes it, and back: DTLS has the ones' complement, of a count that begins at
    /// 1.1 (RFC 6347, 4.1; RFC 9147, 5.3). So 254.253 is TLS 1.2, all that is less is newer, and all that is more is
    /// older.
    pub(crate) const fn version(self, version: ProtocolVersion) -> ProtocolVersion {
        ProtocolVersion(match (self, version.0) {
            (Self::Tls, number) => number,
            (Self::Dtls, 0x0302) => 0xfeff, // there is no DTLS 1.1: 1.0 is TLS 1.1
            (Self::Dtls, 0xfeff) => 0x0302,
            (Self::Dtls, 0x0301) => 0xfefe,
            (Self::Dtls, 0xfefe) => 0x0301,
            (Self::Dtls, number) => 0x0201_u16.wrapping_add(!number),
        })
    }
}

#[cfg(test)]
mod tests {
    use core::cmp::Ordering::{Greater, Less};

    use super::*;

    #[test]
    fn versions_of_dtls_are_those_of_the_registry() {
        for (tls, dtls) in [(0x0302, 0xfeff), (0x0303, 0xfefd), (0x0304, 0xfefc)] {
            assert_eq!(Protocol::Dtls.version(ProtocolVersion(tls)), ProtocolVersion(dtls));
            assert_eq!(Protocol::Dtls.version(ProtocolVersion(dtls)), ProtocolVersion(tls));
            assert_eq!(Protocol::Tls.version(ProtocolVersion(dtls)), ProtocolVersion(dtls));
        }
    }

    #[test]
    fn every_version_comes_back() {
        for version in (0..=u16::MAX).map(ProtocolVersion) {
            assert_eq!(Protocol::Dtls.version(Protocol::Dtls.version(version)), version);
        }
    }

    #[test]
    fn versions_of_dtls_count_down() {
        let known = ProtocolVersion::TLS_1_2;
        for (dtls, order) in
            [(0xffff, Less), (0xfeff, Less), (0xfefe, Less), (0xfefc, Greater), (0xfe00, Greater), (0xfdff, Greater)]
        {
            assert_eq!(Protocol::Dtls.version(ProtocolVersion(dtls)).cmp(&known), order, "{dtls:x}");
        }
    }
}
