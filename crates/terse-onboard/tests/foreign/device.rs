//! What a device of constrained BRSKI signs and verifies, by the crates of this project. Programs of others carry it.

use pki_types::pem::PemObject as _;
use pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use terse_aws_lc::PROVIDER;
use terse_brski::certificate::{public_key, subject};
use terse_brski::cose;
use terse_brski::digest::sha256;
use terse_brski::est::UnsignedRequest;
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Assertion, Nonce, Pin, Voucher, VoucherRequest};
use terse_net::OsRng;
use terse_tls::{Expect, Trust};

use super::world::{SERIAL, World, now};

/// The nonce of the device's voucher requests.
const NONCE: [u8; 16] = *b"0123456789abcdef";

impl World {
    /// The certificates in a file.
    pub(crate) fn certificates(&self, name: &str) -> Vec<CertificateDer<'static>> {
        let certificates = CertificateDer::pem_file_iter(self.folder().path(name)).unwrap();
        certificates.map(Result::unwrap).collect()
    }

    fn time() -> UnixTime {
        UnixTime::since_unix_epoch(core::time::Duration::from_secs(now()))
    }

    /// Writes a voucher request that names the registrar's key, as `request.cose`, and the status that says success, of the
    /// voucher and of the enrolment, as `status.cbor`.
    pub(crate) fn write_cose_request(&self) {
        let registrar = public_key(&self.certificates("domain/registrar.pem")[0]).unwrap().to_vec();
        let mut fields = VoucherRequest::new(SERIAL.into());
        fields.created_on = Some(Self::time());
        fields.assertion = Some(Assertion::Proximity);
        fields.nonce = Some(Nonce::of_random_bytes(&NONCE));
        fields.proximity_registrar = vec![Pin::PublicKeySha256(sha256(&PROVIDER, &registrar))];
        let device = format!("devices/{SERIAL}");
        let signer = self.certificates(&format!("{device}.pem")).swap_remove(0);
        let key = PrivateKeyDer::from_pem_file(self.folder().path(&format!("{device}.key"))).unwrap();
        let key = PROVIDER.load_key(&key).unwrap();
        let unsigned = cose::Unsigned::new(&fields.to_cbor(), &signer, &[], key.schemes()[0]).unwrap();
        self.folder().write("request.cose", unsigned.sign(&*key, &mut OsRng).unwrap());
        self.folder().write("status.cbor", Status::new(true, None).to_cbor());
    }

    /// Writes the certification request for a new key, which OpenSSL makes, as `NAME.der` and `NAME.key`.
    pub(crate) fn write_certification_request(&self, name: &str) {
        let folder = self.folder();
        folder.openssl(&format!("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out {name}.key"));
        let key = PrivateKeyDer::from_pem_file(folder.path(&format!("{name}.key"))).unwrap();
        let key = PROVIDER.load_key(&key).unwrap();
        let idevid = self.certificates(&format!("devices/{SERIAL}.pem")).swap_remove(0);
        let unsigned = UnsignedRequest::new(subject(&idevid).unwrap(), &*key, key.schemes()[0], &[]).unwrap();
        folder.write(&format!("{name}.der"), unsigned.sign(&*key, &mut OsRng).unwrap());
    }

    /// Verifies a voucher as the device does, which knows who signs for its manufacturer, and that it is for this device, its
    /// last request, and the domain.
    #[track_caller]
    pub(crate) fn check_voucher(&self, voucher: &[u8]) {
        let signer = self.certificates("masa/voucher.pem");
        let anchors = self.certificates(&format!("devices/{SERIAL}-anchors.pem"));
        let trust = Trust::new(&anchors).unwrap();
        trust.check(&PROVIDER, &signer, Expect::AnyUsage, Some(Self::time())).unwrap();
        let signed = cose::Signed::verify_by(&PROVIDER, voucher, &signer[..1]).unwrap();
        let voucher = Voucher::from_cbor(&signed.content).unwrap();
        assert_eq!((&*voucher.serial_number, voucher.assertion), (SERIAL, Assertion::Proximity));
        assert_eq!(voucher.nonce, Some(Nonce::of_random_bytes(&NONCE)));
        let [Pin::Certificate(pin)] = &*voucher.pins else { panic!("{voucher:?}") };
        let domain = Trust::new(std::slice::from_ref(pin)).unwrap();
        let registrar = self.certificates("domain/registrar.pem");
        domain.check(&PROVIDER, &registrar, Expect::AnyUsage, Some(Self::time())).unwrap();
    }
}
