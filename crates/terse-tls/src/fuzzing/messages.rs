//! Every parser of the wire, and of what is saved.

use alloc::format;
use core::fmt::Debug;

use crate::cache::Ticket;
use crate::cert::{PeerIdentity, VerifiedPeer};
use crate::wire::*;

/// How many parsers [`message`] knows.
pub const MESSAGES: usize = PARSERS.len();

/// Parses `bytes` with parser number `which`, from 0. Panics if what parses is not encoded as it came. Returns whether
/// it parses.
pub fn message(which: usize, bytes: &[u8]) -> bool {
    PARSERS.get(which).is_some_and(|parse| parse(bytes))
}

macro_rules! parsers {
    ($($type:ty,)*) => {
        &[$(|bytes| encodes_as_it_came::<$type>(bytes)),*]
    };
}

/// By the number that seeds have: add new ones at the end.
const PARSERS: &[fn(&[u8]) -> bool] = parsers![
    ClientHello<'_>,
    ServerHello<'_>,
    EncryptedExtensions<'_>,
    CertificateRequest<'_>,
    CachedCertificateRequest<'_>,
    Certificate<'_>,
    CertificateEntry<'_>,
    CertificateVerify<'_>,
    Finished<'_>,
    KeyUpdate,
    Alert,
    NewSessionTicket<'_>,
    EndOfEarlyData,
    Certificate12<'_>,
    RawPublicKey12<'_>,
    CachedMessage12<'_>,
    CertificateRequest12<'_>,
    ServerKeyExchangeEcdhe<'_>,
    ServerKeyExchangePsk<'_>,
    ServerKeyExchangeEcdhePsk<'_>,
    ClientKeyExchangeEcdhe<'_>,
    ClientKeyExchangePsk<'_>,
    ClientKeyExchangeEcdhePsk<'_>,
    NewSessionTicket12<'_>,
    HelloRequest,
    ServerHelloDone,
    Extensions<'_>,
    SupportedVersions<'_>,
    SelectedVersion,
    Cookie<'_>,
    CipherSuites<'_>,
    SupportedGroups<'_>,
    SignatureAlgorithms<'_>,
    SignatureAlgorithmsCert<'_>,
    CertificateAuthorities<'_>,
    ProtocolNameList<'_>,
    ServerNameList<'_>,
    MaxFragmentLength,
    RecordSizeLimit,
    KeyShareClientHello<'_>,
    KeyShareServerHello<'_>,
    KeyShareHelloRetryRequest,
    CachedInformation<'_>,
    SelectedInformation<'_>,
    ClientCachedInfo<'_>,
    SelectedClientInfo<'_>,
    PreSharedKeyClientHello<'_>,
    PreSharedKeyServerHello,
    PskKeyExchangeModes<'_>,
    EarlyData,
    MaxEarlyDataSize,
    SessionTicket<'_>,
    ClientCertificateTypes<'_>,
    ServerCertificateTypes<'_>,
    ClientCertificateTypeSelected,
    ServerCertificateTypeSelected,
    RenegotiationInfo<'_>,
    EcPointFormats<'_>,
    ExtendedMasterSecret,
    PeerIdentity,
    VerifiedPeer,
    Ticket,
    ReturnRoutabilityCheck,
    Rrc,
    NewConnectionId<'_>,
    RequestConnectionId,
    CertificateStatusRequest<'_>,
    CertificateStatus<'_>,
    StatusRequested,
    IdentityShareClientHello<'_>,
    IdentityShareServerHello<'_>,
    IdentityShareHelloRetryRequest,
];

/// But for a hello without extensions, to which the empty block is added.
fn encodes_as_it_came<'a, T: Parse<'a> + Encode + Debug>(bytes: &'a [u8]) -> bool {
    let Ok(value) = T::parse_all(bytes) else { return false };
    assert!(!format!("{value:?}").is_empty());
    let again = value.to_vec().expect("what was parsed has lengths that fit");
    let (start, rest) = again.split_at(bytes.len().min(again.len()));
    assert!(start == bytes && (rest.is_empty() || rest == [0, 0]), "{bytes:?} became {again:?}");
    let mut reader = Reader::new(bytes);
    assert!(T::parse(&mut reader).is_ok() && reader.is_empty());
    true
}
