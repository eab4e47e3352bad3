use terse_tls::{CertificateType, Trust};

use super::*;

#[test]
fn a_pledge_offers_one_version_and_the_suites_of_constrained_devices() {
    for (version, offered, suites) in
        [(DtlsVersion::Dtls12, ProtocolVersion::TLS_1_2, 1), (DtlsVersion::Dtls13, ProtocolVersion::TLS_1_3, 3)]
    {
        let settings = CoapsSettings { version, ..CoapsSettings::default() };
        let mut config = ClientConfig::builder(&terse_aws_lc::PROVIDER);
        config.trust(Trust::unverified(&[CertificateType::X509]).unwrap());
        let config = settings.apply(&mut config).build().unwrap();
        let common = config.common();
        assert_eq!(common.versions(), [offered]);
        assert_eq!(common.suites().len(), suites);
        let datagrams = common.datagrams().unwrap();
        assert_eq!((datagrams.max_datagram, datagrams.connection_id), (976, Some(0)));
    }
}
