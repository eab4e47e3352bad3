//! TLS over a stream, or DTLS over datagrams: the differences in the bytes of handshake messages.

use super::ProtocolVersion;

/// The transport under a connection, which determines the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// TLS over a reliable stream of bytes, such as TCP.
    #[default]
    Stream,
    /// DTLS over datagrams, which may be lost and reordered, such as UDP. A ClientHello has a cookie (RFC 6347, 4.2.1;
    /// RFC 9147, 5.3), and versions are encoded differently.
    Datagram,
}

impl Transport {
    /// Returns the name for reports: `stream` or `datagram`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Datagram => "datagram",
        }
    }

    /// Returns the prefix of the labels of HKDF-Expand-Label (RFC 9846, 7.1; RFC 9147, 5.9).
    pub(crate) const fn label_prefix(self) -> &'static [u8] {
        match self {
            Self::Stream => b"tls13 ",
            Self::Datagram => b"dtls13",
        }
    }

    /// Returns the length of a handshake message's header in bytes (RFC 9846, 4; RFC 6347, 4.2.2).
    pub(crate) const fn message_header_len(self) -> usize {
        match self {
            Self::Stream => 4,
            Self::Datagram => 12,
        }
    }

    /// Returns a message without the fields that only DTLS has in its header: message_seq, and offset and length of the
    /// fragment.
    pub(crate) fn without_sequence(self, message: &[u8]) -> [&[u8]; 2] {
        let (header, rest) = message.split_at(message.len().min(4));
        [header, rest.get(self.message_header_len() - 4..).unwrap_or_default()]
    }

    /// Returns the `legacy_session_id` that a server of version 1.3 echoes, which is empty in DTLS (RFC 9147, 5).
    pub(crate) fn legacy_session_id_echo(self, legacy_session_id: &[u8]) -> &[u8] {
        match self {
            Self::Stream => legacy_session_id,
            Self::Datagram => &[],
        }
    }

    /// Converts a version of TLS to its encoding in this protocol, or back. DTLS encodes the ones' complement of
    /// numbers that begin at 1.0 for TLS 1.1 (RFC 6347, 4.1; RFC 9147, 5.3). So 254.253 is TLS 1.2, lower values are
    /// newer, and higher values are older.
    pub(crate) const fn version(self, version: ProtocolVersion) -> ProtocolVersion {
        ProtocolVersion(match (self, version.0) {
            (Self::Stream, number) => number,
            (Self::Datagram, 0x0302) => 0xfeff, // DTLS 1.0 corresponds to TLS 1.1, and there is no DTLS 1.1
            (Self::Datagram, 0xfeff) => 0x0302,
            (Self::Datagram, 0x0301) => 0xfefe,
            (Self::Datagram, 0xfefe) => 0x0301,
            (Self::Datagram, number) => 0x0201_u16.wrapping_add(!number),
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
            assert_eq!(Transport::Datagram.version(ProtocolVersion(tls)), ProtocolVersion(dtls));
            assert_eq!(Transport::Datagram.version(ProtocolVersion(dtls)), ProtocolVersion(tls));
            assert_eq!(Transport::Stream.version(ProtocolVersion(dtls)), ProtocolVersion(dtls));
        }
    }

    #[test]
    fn every_version_comes_back() {
        for version in (0..=u16::MAX).map(ProtocolVersion) {
            assert_eq!(Transport::Datagram.version(Transport::Datagram.version(version)), version);
        }
    }

    #[test]
    fn versions_of_dtls_count_down() {
        let known = ProtocolVersion::TLS_1_2;
        for (dtls, order) in
            [(0xffff, Less), (0xfeff, Less), (0xfefe, Less), (0xfefc, Greater), (0xfe00, Greater), (0xfdff, Greater)]
        {
            assert_eq!(Transport::Datagram.version(ProtocolVersion(dtls)).cmp(&known), order, "{dtls:x}");
        }
    }
}
